"""Compute the channels of depthwise filters with outliers separately, in float32, if they are few."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers, gather
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import Array
from nnapi.rewriting.dataflow import find_makers, find_readers


def split_depthwise(graph: Graph, outliers: Outliers) -> Graph:
    """Return the graph with depthwise operators split, if that is faster."""
    apart = _choose(graph, outliers)
    if not apart:
        return graph
    branching = _Branching(apart)
    for operator in graph.operators:
        branching.rewrite(operator)
    return graph.with_operators(branching.operators)


def _choose(graph: Graph, outliers: Outliers) -> dict[Tensor, list[int]]:
    """Return the channels to compute in float32, by the input of each depthwise operator to split."""
    writers, readers = find_makers(graph.operators), find_readers(graph.operators)
    ends = {*graph.inputs_and_outputs}
    chosen: dict[Tensor, list[int]] = {}
    for operator in graph.operators:
        conv = Conv(operator)
        if not conv.is_constant_depthwise or {conv.input, conv.output} & ends or not outliers.find_slices(operator, 3):
            continue
        x, y = conv.input, conv.output
        if x in writers and _is_dense(writers[x]) and readers[x] == [operator] and all(map(_is_dense, readers[y])):
            channels = _choose_channels(operator, writers[x], outliers)
            if channels:
                chosen[x] = channels
    return chosen


def _is_dense(operator: Operator) -> bool:
    return Conv(operator).is_constant_dense


def _choose_channels(operator: Operator, writer: Operator, outliers: Outliers) -> list[int]:
    """Return the channels to compute in float32; none if splitting is slower.

    These are channels with outliers in this filter and the one before, up to a tile, and others to fill the tile.
    """
    depth = operator.output.shape[3]
    bad, units = outliers.find_slices(operator, 3), outliers.find_slices(writer, 0)
    if len(bad) > cost_model.TILE or depth <= cost_model.TILE:
        return []
    count = (depth - 1) % cost_model.TILE + 1
    count = count if len(bad) <= count else cost_model.TILE
    first = list(dict.fromkeys([*bad, *units]))[:count]
    filling = (channel for channel in range(depth - 1, -1, -1) if channel not in first)
    apart = sorted([*first, *islice(filling, count - len(first))])
    copies = outliers.find_slices(writer, 3)
    whole = parts = cost_model.estimate_copies(writer, copies)
    if {*units} <= {*apart}:
        part = writer.output.like(shape=(*writer.output.shape[:3], count))
        parts = cost_model.estimate_copies(writer.like(writer.inputs, [part]), copies)
    gained = whole + cost_model.estimate_float(operator) - parts - cost_model.estimate_branches(operator, count)
    return apart if gained > 0 else []


class _Branching:
    """The rewritten operators. ``apart`` has the channels of each tensor that are computed in float32."""

    def __init__(self, apart: dict[Tensor, list[int]]) -> None:
        self.operators: list[Operator] = []
        self._cuts = {tensor: _cut(tensor.shape[3], slow) for tensor, slow in apart.items()}
        self._parts: dict[Tensor, list[Tensor]] = {}
        self._joined: dict[Tensor, tuple[Tensor, Array]] = {}

    def rewrite(self, operator: Operator) -> None:
        x, y = operator.inputs[0], operator.output
        if x is not None and x in self._joined:
            joined, order = self._joined[x]
            inputs = [joined, gather(operator.input(1), order, 3), *operator.inputs[2:]]
            operator = operator.like(inputs)
        if y in self._cuts:
            self._parts[y] = [self._emit_part(operator, 0, order, operator.inputs[0]) for order in self._cuts[y][:2]]
        elif x is not None and x in self._parts:
            *orders, whole = self._cuts[x]
            ways = zip(orders, self._parts[x], strict=True)
            parts: list[Tensor | None] = [self._emit_part(operator, 3, order, part) for order, part in ways]
            self._joined[y] = y.like(), whole
            self.operators.append(Operator("CONCATENATION", parts, [self._joined[y][0]], {"axis": 3}))
        else:
            self.operators.append(operator)

    def _emit_part(self, operator: Operator, axis: int, channels: Array, x: Tensor | None) -> Tensor:
        """Emit an operator for some output channels, which are along ``axis`` of its filter."""
        conv = Conv(operator)
        part = conv.output.like(shape=(*conv.output.shape[:3], len(channels)))
        inputs = [x, gather(conv.filter, channels, axis), gather(conv.bias, channels, 0)]
        self.operators.append(operator.like(inputs, [part]))
        return part


def _cut(depth: int, slow: Sequence[int]) -> tuple[Array, Array, Array]:
    """Return the fast channels, the slow ones, and the order of all that moves the slow ones to the end."""
    begin, order = depth - len(slow), np.arange(depth)
    early, late = [channel for channel in slow if channel < begin], sorted({*range(begin, depth)} - {*slow})
    order[early], order[late] = late, early
    return order[:begin], order[begin:], order
