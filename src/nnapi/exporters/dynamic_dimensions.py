"""Dynamic dimensions in files: a graph that is written with 1 for each must hold for other sizes too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from nnapi.errors import BadDataError
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape

OTHER = 2
"""The size of each dynamic dimension in the second lowering, which is compared with the first."""
REST = -1
"""The value by which RESHAPE infers a dimension from the others and SLICE takes all remaining elements."""


class Constant(Protocol):
    """A tensor of a format."""

    data: Array | None
    name: str

    def like(self, *, data: Array | None = None) -> Any: ...


class Written(Protocol):
    """An operator of a format."""

    kind: str
    inputs: list[Any]


def is_dynamic(model: Model) -> bool:
    """Whether a model leaves dimensions of its inputs open."""
    return not all(model.operands[index].type.is_known for index in model.inputs)


def other_shapes(model: Model) -> list[Shape]:
    """Shapes of the inputs with something else than 1 for what is open."""
    return [tuple(size or OTHER for size in model.operands[index].type.dimensions) for index in model.inputs]


def generalize(
    first: Sequence[Written],
    second: Sequence[Written],
    parameters: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    format: str,
) -> None:
    """Write into the first operators what holds for the dimensions of both, and refuse what does not say it."""
    if len(first) != len(second):
        raise BadDataError(f"it cannot be written as {format}: its operations depend on dynamic dimensions")
    for a, b, (ours, theirs) in zip(first, second, parameters, strict=True):
        if a.kind != b.kind or ours != theirs:
            raise _refusal(a, format)
        for index, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=True)):
            if x is None or x.data is None or x.data is y.data or np.array_equal(x.data, y.data):
                continue
            data = _common(a.kind, index, x.data, y.data)
            if data is None:
                raise _refusal(a, format)
            a.inputs[index] = x.like(data=data)


def _common(kind: str, index: int, ones: Array, others: Array) -> Array | None:
    """A constant that means the same as both, None where there is none."""
    if ones.shape != others.shape or ones.ndim != 1:
        return None
    differing = ones != others
    is_rest = (kind.upper() == "RESHAPE" and index == 1 and differing.sum() == 1) or (kind == "SLICE" and index == 2)
    return np.where(differing, ones.dtype.type(REST), ones) if is_rest else None


def _refusal(operator: Written, format: str) -> BadDataError:
    return BadDataError(
        f"it cannot be written as {format}: a constant of {operator.kind} depends on dynamic dimensions; load or "
        "build the model with shapes that are known"
    )
