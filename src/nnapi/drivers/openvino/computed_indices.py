"""Computed indices: the engine returns their minimum and maximum, which each run checks, as the engine does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.sizes import integers
from nnapi.drivers.openvino.value import Node
from nnapi.model.operand import Array
from nnapi.ops.index_checks import BadIndexError

FAR = 2**30
"""More than each index. The engine reduces integers as float32, which holds this number exactly."""


class ComputedIndices(NamedTuple):
    """Indices of an operation that must be in ``least..limit - 1``; the limit may be a size."""

    node: Node
    name: str
    limit: int
    least: int

    def clamp(self) -> Node:
        """Return the indices in range: the engine may read and write anywhere.

        The limit gets the rank of the indices: the engine takes a constant index for the bound of a clamp, and the
        limit for what it clamps.
        """
        output = self.node if isinstance(self.node, ov.Output) else self.node.output(0)
        ones = integers([1] * len(output.get_partial_shape()))
        last = op.reshape(_as_int32(integers(self.limit - 1)), ones, False)
        return op.maximum(op.minimum(self.node, last), op.constant(np.int32(self.least)))


class CheckedIndices(NamedTuple):
    """The check of a run."""

    name: str
    least: int

    def check(self, extremes: Array) -> None:
        """Raise BadIndexError unless the minimum and the maximum are in range. The third number is the limit."""
        low, high, limit = map(int, extremes)
        if low <= high and (low < self.least or high >= limit):
            raise BadIndexError(self.name, low, high, limit, self.least)


def list_checks(computed: Sequence[ComputedIndices]) -> list[CheckedIndices]:
    """Return the checks of runs, in the order of the rows of :func:`list_extremes`."""
    return [CheckedIndices(each.name, each.least) for each in computed]


def check_all(checks: Sequence[CheckedIndices], extremes: Array) -> None:
    for check, each in zip(checks, extremes.reshape(-1, 3), strict=True):
        check.check(each)


def list_extremes(computed: Sequence[ComputedIndices]) -> Any:
    """Return a node with minimum, maximum and limit of all indices; without indices, the minimum is the larger one."""
    rows = []
    for each in computed:
        flat = op.reshape(each.node, integers([-1]), False)
        for reduce, end in ((op.reduce_min, FAR), (op.reduce_max, -FAR)):
            padded = op.concat([flat, op.constant(np.array([end], np.int32))], 0)
            rows.append(reduce(padded, integers([0]), True))
        rows.append(op.reshape(_as_int32(integers(each.limit)), integers([1]), False))
    copies = [op.maximum(each, each) for each in rows]  # the engine would compute them in the memory of the result
    return op.concat(copies, 0)


def count_from_start(at: Node, limit: int) -> Node:
    """Make negative indices, which count from the end, positive."""
    return op.select(op.less(at, op.constant(np.int32(0))), op.add(at, _as_int32(integers(limit))), at)


def _as_int32(node: Node) -> Node:
    return op.convert(node, "i32")
