"""Filters of single channels that do not all fit into signed bytes: a few channels take a way of their own.

A depthwise filter cannot sum over copies of a channel. In float32 it is exact, and hardly slower; what costs time are
the conversions of all channels before and after. So the convolution that makes the channels is cut in two: one part
makes those that fit, the other a handful with those that do not, which alone go through float32. The results are joined
in that order, so that copies of the handful (:mod:`channels`) can be had for little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_map import alone
from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order, taken
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outside, is_each_channel, is_plain
from nnapi.formats.tflite.graph import Graph, Operator, Tensor


def branched(graph: Graph, outside: Outside) -> Graph:
    """The same graph with such operators in two parts, where that is faster."""
    apart = _chosen(graph, outside)
    if not apart:
        return graph
    branching = _Branching(apart, outside)
    for operator in graph.operators:
        branching.rewrite(operator)
    return Graph(branching.operators, graph.inputs, graph.outputs)


def _chosen(graph: Graph, outside: Outside) -> dict[Tensor, list[int]]:
    """For inputs of depthwise operators that should be cut in two: the channels that take the slow way."""
    writers = {tensor: operator for operator in graph.operators for tensor in operator.outputs}
    readers: dict[Tensor, list[Operator]] = defaultdict(list)
    for operator in graph.operators:
        for tensor in filter(None, operator.inputs):
            readers[tensor].append(operator)
    ends = {*graph.inputs, *graph.outputs}
    chosen: dict[Tensor, list[int]] = {}
    for operator in graph.operators:
        x, y = operator.inputs[0], operator.outputs[0]
        if x is None or not is_each_channel(operator) or {x, y} & ends or not outside.slices(operator, 3):
            continue
        if x in writers and is_plain(writers[x]) and readers[x] == [operator] and all(map(is_plain, readers[y])):
            channels = _worth_it(operator, writers[x], readers[y], outside)
            if channels:
                chosen[x] = channels
    return chosen


def _worth_it(operator: Operator, writer: Operator, readers: Sequence[Operator], outside: Outside) -> list[int]:
    """The channels that should go through float32 alone; none where all may as well.

    Those are the ones with numbers that do not fit in the filter, in the filter before and in those after, as far as a
    tile has room for them, and then any, to fill the tile.
    """
    depth = operator.outputs[0].shape[3]
    bad, units = outside.slices(operator, 3), outside.slices(writer, 0)
    if len(bad) > cost_model.TILE or depth <= cost_model.TILE:
        return []
    room = (depth - 1) % cost_model.TILE + 1
    room = room if len(bad) <= room else cost_model.TILE
    wanted = {reader: outside.slices(reader, 3) for reader in readers}
    copied = [channel for channels in wanted.values() for channel in channels]
    first = list(dict.fromkeys([*bad, *units, *copied]))[:room]
    filling = (channel for channel in range(depth - 1, -1, -1) if channel not in first)
    apart = sorted([*first, *islice(filling, room - len(first))])
    copies = outside.slices(writer, 3)
    made = alone(writer, copies)
    whole = cost_model.in_float(operator) + made
    if {*units} <= {*apart}:
        part = writer.outputs[0].like(shape=(*writer.outputs[0].shape[:3], room))
        made = alone(Operator(writer.kind, writer.inputs, [part], writer.options), copies)
    parts = cost_model.in_branches(operator, room) + made
    for reader, channels in wanted.items():
        before = alone(reader, channels)
        is_joined = channels and {*channels} <= {*apart} and len(readers) == 1
        whole += before
        parts += min(before, cost_model.joined_again(reader, room)) if is_joined else before
    return apart if parts < whole else []


class _Branching:
    """The operators as they become. ``apart`` are the channels of tensors that take the slow way."""

    def __init__(self, apart: dict[Tensor, list[int]], outside: Outside) -> None:
        self.operators: list[Operator] = []
        self._outside = outside
        self._cuts = {tensor: _cut(tensor.shape[3], slow) for tensor, slow in apart.items()}
        self._parts: dict[Tensor, list[Tensor]] = {}
        self._joined: dict[Tensor, tuple[Tensor, Order]] = {}

    def rewrite(self, operator: Operator) -> None:
        x, y = operator.inputs[0], operator.outputs[0]
        if x in self._joined:
            assert x is not None
            joined, order = self._joined[x]
            operator = self._selected(operator, 3, order, [joined, *operator.inputs[1:]], y)
        if y in self._cuts:
            self._parts[y] = [self._part(operator, 0, order, operator.inputs[0]) for order in self._cuts[y][:2]]
        elif x in self._parts:
            assert x is not None
            *orders, whole = self._cuts[x]
            ways = zip(orders, self._parts[x], strict=True)
            parts: list[Tensor | None] = [self._part(operator, 3, order, part) for order, part in ways]
            self._joined[y] = y.like(), whole
            self.operators.append(Operator("CONCATENATION", parts, [self._joined[y][0]], {"axis": 3}))
        else:
            self.operators.append(operator)

    def _part(self, operator: Operator, axis: int, order: Order, x: Tensor | None) -> Tensor:
        """Some of an operator's results, those along an axis of its filter that ``order`` names."""
        y = operator.outputs[0]
        bias = operator.inputs[2]
        assert bias is not None
        part = y.like(shape=(*y.shape[:3], len(order)))
        inputs = [x, operator.inputs[1], taken(bias, order, 0)]
        self.operators.append(self._selected(operator, axis, order, inputs, part))
        return part

    def _selected(
        self, operator: Operator, axis: int, order: Order, inputs: Sequence[Tensor | None], output: Tensor
    ) -> Operator:
        """The operator with those inputs and some slices of its filter."""
        x, filter, bias = inputs
        assert filter is not None
        inputs = [x, self._outside.taken(filter, order, axis), bias]
        return Operator(operator.kind, inputs, [output], operator.options)


def _cut(depth: int, slow: Sequence[int]) -> tuple[Order, Order, Order]:
    """Which channels take the fast way, which the slow one: the last ones, but for a few that change places; and all of
    them, those of the fast way first."""
    begin = depth - len(slow)
    early, late = [c for c in slow if c < begin], sorted({*range(begin, depth)} - {*slow})
    fast, others = dict(zip(early, late, strict=True)), dict(zip(late, early, strict=True))
    return (
        Order(range(begin), fast),
        Order(range(begin, depth), {place - begin: channel for place, channel in others.items()}),
        Order(range(depth), fast | others),
    )
