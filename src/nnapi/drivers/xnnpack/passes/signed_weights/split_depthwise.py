"""Compute the few channels of depthwise filters that have outliers separately in float32."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_map import estimate_alone
from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order, gather
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor


def split_depthwise(graph: Graph, outliers: Outliers) -> Graph:
    """Return the graph with such operators split where that is faster."""
    apart = _choose(graph, outliers)
    if not apart:
        return graph
    branching = _Branching(apart, outliers)
    for operator in graph.operators:
        branching.rewrite(operator)
    return graph.with_operators(branching.operators)


def _choose(graph: Graph, outliers: Outliers) -> dict[Tensor, list[int]]:
    """Return the channels computed in float32, by the inputs of depthwise operators to split."""
    writers = {tensor: operator for operator in graph.operators for tensor in operator.outputs}
    readers: dict[Tensor, list[Operator]] = defaultdict(list)
    for operator in graph.operators:
        for tensor in filter(None, operator.inputs):
            readers[tensor].append(operator)
    ends = {*graph.inputs_and_outputs}
    chosen: dict[Tensor, list[int]] = {}
    for operator in graph.operators:
        conv = Conv(operator)
        if not conv.is_constant_depthwise or {conv.input, conv.output} & ends or not outliers.find_slices(operator, 3):
            continue
        x, y = conv.input, conv.output
        if x in writers and _is_dense(writers[x]) and readers[x] == [operator] and all(map(_is_dense, readers[y])):
            channels = _choose_channels(operator, writers[x], readers[y], outliers)
            if channels:
                chosen[x] = channels
    return chosen


def _is_dense(operator: Operator) -> bool:
    return Conv(operator).is_constant_dense


def _choose_channels(
    operator: Operator, writer: Operator, readers: Sequence[Operator], outliers: Outliers
) -> list[int]:
    """Return the channels computed in float32; none where splitting is slower.

    They are those with outliers in the filter, the filter before and those after, up to a tile, then others to fill it.
    """
    depth = operator.output.shape[3]
    bad, units = outliers.find_slices(operator, 3), outliers.find_slices(writer, 0)
    if len(bad) > cost_model.TILE or depth <= cost_model.TILE:
        return []
    room = (depth - 1) % cost_model.TILE + 1
    room = room if len(bad) <= room else cost_model.TILE
    wanted = {reader: outliers.find_slices(reader, 3) for reader in readers}
    copied = [channel for channels in wanted.values() for channel in channels]
    first = list(dict.fromkeys([*bad, *units, *copied]))[:room]
    filling = (channel for channel in range(depth - 1, -1, -1) if channel not in first)
    apart = sorted([*first, *islice(filling, room - len(first))])
    copies = outliers.find_slices(writer, 3)
    made = estimate_alone(writer, copies)
    whole = cost_model.estimate_float(operator) + made
    if {*units} <= {*apart}:
        part = writer.output.like(shape=(*writer.output.shape[:3], room))
        made = estimate_alone(writer.like(writer.inputs, [part]), copies)
    parts = cost_model.estimate_branches(operator, room) + made
    for reader, channels in wanted.items():
        before = estimate_alone(reader, channels)
        is_joined = channels and {*channels} <= {*apart} and len(readers) == 1
        whole += before
        parts += min(before, cost_model.estimate_rejoining(reader, room)) if is_joined else before
    return apart if parts < whole else []


class _Branching:
    """The new operators. ``apart`` are the channels of tensors computed in float32."""

    def __init__(self, apart: dict[Tensor, list[int]], outliers: Outliers) -> None:
        self.operators: list[Operator] = []
        self._outliers = outliers
        self._cuts = {tensor: _cut(tensor.shape[3], slow) for tensor, slow in apart.items()}
        self._parts: dict[Tensor, list[Tensor]] = {}
        self._joined: dict[Tensor, tuple[Tensor, Order]] = {}

    def rewrite(self, operator: Operator) -> None:
        x, y = operator.inputs[0], operator.output
        if x is not None and x in self._joined:
            joined, order = self._joined[x]
            inputs = [joined, self._outliers.gather(operator.input(1), order, 3), *operator.inputs[2:]]
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

    def _emit_part(self, operator: Operator, axis: int, order: Order, x: Tensor | None) -> Tensor:
        """Compute the results of an operator that ``order`` names, along an axis of its filter."""
        conv = Conv(operator)
        part = conv.output.like(shape=(*conv.output.shape[:3], len(order)))
        inputs = [x, self._outliers.gather(conv.filter, order, axis), gather(conv.bias, order, 0)]
        self.operators.append(operator.like(inputs, [part]))
        return part


def _cut(depth: int, slow: Sequence[int]) -> tuple[Order, Order, Order]:
    """Return the fast channels, the slow ones, and all with the slow ones swapped to the end."""
    begin = depth - len(slow)
    early, late = [c for c in slow if c < begin], sorted({*range(begin, depth)} - {*slow})
    fast, others = dict(zip(early, late, strict=True)), dict(zip(late, early, strict=True))
    return (
        Order(range(begin), fast),
        Order(range(begin, depth), {index - begin: channel for index, channel in others.items()}),
        Order(range(depth), fast | others),
    )
