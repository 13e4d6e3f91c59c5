"""Filters that do not fit into signed bytes: how operators with unsigned filters are computed exactly and fast.

The engine is two to three times faster with signed filters, and nearly every number of an unsigned one, less its zero
point, is within ±127; one or two numbers of a filter are not. Some have no effect (:mod:`silent`). The others are
written as sums of two that fit: the second applies to a copy of the input channel. A copy comes from the operators that
make the channel, which make it twice (:mod:`channels`), or is sliced off and appended where the filter is; images get
theirs in rows (:mod:`pairs`). Depthwise filters cannot sum over copies: they are computed in float32, between
conversions that are exact, if need be for a few of the channels only (:mod:`branches`). A large filter that sums over a
single row stays as it is: what counts there are its bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from nnapi.drivers.xnnpack.context import SHIFT
from nnapi.drivers.xnnpack.passes.signed_weights.channel_map import MOST_SLICES, ordered, ways
from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order, taken
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import (
    Outside,
    Split,
    fitting,
    per_channel,
    split,
    unsigned,
)
from nnapi.drivers.xnnpack.passes.signed_weights.dead_channels import silent, without_effect
from nnapi.drivers.xnnpack.passes.signed_weights.space_to_depth import paired
from nnapi.drivers.xnnpack.passes.signed_weights.split_depthwise import branched
from nnapi.drivers.xnnpack.passes.signed_weights.width_to_depth import thickened
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant


def narrowed(graph: Graph) -> Graph:
    """The same graph without unsigned filters, where these are slower."""
    if not any(map(unsigned, graph.operators)):
        return thickened(paired(graph))
    silence, outside = silent(graph), Outside()
    graph = branched(paired(without_effect(graph, silence, outside)), outside)
    filters = {operator: filter for operator in graph.operators if (filter := _dense_filter(operator))}
    splits = {operator: split(filter, outside[filter]) for operator, filter in filters.items()}
    rewriting = _Rewriting(graph, splits, ordered(graph, splits, silence, outside), outside)
    for operator in graph.operators:
        rewriting.rewrite(operator)
    return thickened(Graph(rewriting.operators, graph.inputs, graph.outputs))


def _dense_filter(operator: Operator) -> Tensor | None:
    """The unsigned filter of an operator that sums over all channels of its input."""
    filter = unsigned(operator)
    if filter is None or operator.kind not in ("CONV_2D", "FULLY_CONNECTED"):
        return None
    input = operator.inputs[0]
    return filter if input is not None and filter.shape[-1] == input.shape[-1] else None


class _Rewriting:
    """The operators as they become. ``orders`` are the channels that tensors hold which carry copies."""

    def __init__(
        self, graph: Graph, splits: dict[Operator, Split], orders: dict[Tensor, Order], outside: Outside
    ) -> None:
        self.splits, self.orders, self._outside = splits, orders, outside
        self.operators: list[Operator] = []
        self._longer: dict[Tensor, Tensor] = {}
        self._reals: dict[Tensor, Tensor] = {}
        self._reads = Counter(tensor for operator in graph.operators for tensor in operator.inputs if tensor)
        self._reads.update(graph.outputs)
        self._joins: dict[Tensor, Operator] = {}

    def rewrite(self, operator: Operator) -> None:
        filter = unsigned(operator)
        if operator in self.splits:
            self._dense(operator, self.splits[operator])
        elif filter is None:
            self._unchanged(operator)
        elif len(self._outside[filter]):
            self._in_float(operator, filter)
        else:
            inputs = [
                *operator.inputs[:1],
                fitting(filter, filter in self._outside.own),
                *operator.inputs[2:-1],
                _signed_bias(operator),
            ]
            self._unchanged(Operator(operator.kind, inputs, operator.outputs, operator.options))

    def _unchanged(self, operator: Operator) -> None:
        """With what it computes left as it is, made to read and to write copies."""
        if any(tensor in self.orders for tensor in (*operator.inputs, *operator.outputs)):
            inputs, outputs = self._with_copies(operator), [self._long(tensor) for tensor in operator.outputs]
            operator = Operator(operator.kind, inputs, outputs, operator.options, operator.intermediates)
        if operator.kind == "CONCATENATION" and operator.options["axis"] == len(operator.outputs[0].shape) - 1:
            self._joins[operator.outputs[0]] = operator
        self.operators.append(operator)

    def _long(self, tensor: Tensor) -> Tensor:
        """The tensor with the copies that it carries."""
        if tensor not in self.orders:
            return tensor
        if tensor not in self._longer:
            self._longer[tensor] = tensor.like(shape=(*tensor.shape[:3], len(self.orders[tensor])))
        return self._longer[tensor]

    def _with_copies(self, operator: Operator) -> list[Tensor | None]:
        """The inputs, those that are filters made to read and to write copies."""
        inputs = [tensor if tensor is None else self._long(tensor) for tensor in operator.inputs]
        if operator.kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            is_dense = operator.kind == "CONV_2D"
            filter, bias = operator.inputs[1:3]
            if is_dense and operator.inputs[0] in self.orders:
                filter = self._read_once(filter, self.orders[operator.inputs[0]])
            inputs[1:3] = self._written(operator, filter, 0 if is_dense else 3), self._written(operator, bias, 0)
        return inputs

    def _read_once(self, filter: Tensor | None, order: Order) -> Tensor:
        """The filter for an input of which each channel holds the one that ``order`` names; copies have no effect."""
        assert filter is not None
        result = taken(filter, order, 3)
        assert result.data is not None
        for _, *again in order.departed().values():
            result.data[..., again] = result.zero_point
        return result

    def _written(self, operator: Operator, tensor: Tensor | None, axis: int) -> Tensor | None:
        """A filter or bias that makes the copies which the operator's output carries."""
        order = self.orders.get(operator.outputs[0])
        return tensor if tensor is None or order is None else taken(tensor, order, axis)

    def _dense(self, operator: Operator, parts: Split) -> None:
        """As a sum of signed filters, the second on copies of channels; in float32 where that is faster."""
        x, filter, bias = operator.inputs
        assert x is not None
        assert filter is not None
        assert bias is not None
        order, long = self.orders.get(x, Order(range(x.shape[-1]))), self._long(x)
        if not _covers(order, parts.channels):
            part = self._part_with(x, parts.channels)
            seconds = ways(operator, parts.channels, self._copies(operator.outputs[0]), len(part[1]) if part else 0)
            way = min(seconds, key=lambda way: seconds[way])
            if way == "float":
                self._in_float(operator, filter)
                return
            if way == "unsigned":
                self._as_it_is(operator, x, filter, bias)
                return
            long, more = self._more(way, x, order, parts.channels)
            order = order.longer(more)
        numbers = parts.joined(order, self.orders.get(operator.outputs[0]))
        inputs = [long, numbers, self._written(operator, per_channel(bias), 0)]
        outputs = [self._long(tensor) for tensor in operator.outputs]
        self.operators.append(Operator(operator.kind, inputs, outputs, operator.options))

    def _copies(self, tensor: Tensor) -> int:
        """How many channels the tensor holds more than it did."""
        return self._long(tensor).shape[-1] - tensor.shape[-1]

    def _more(self, way: str, x: Tensor, order: Order, channels: Sequence[int]) -> tuple[Tensor, Sequence[int]]:
        """The tensor with more channels behind its own, and the channels which these are copies of."""
        long, part = self._long(x), self._part_with(x, channels)
        if way == "joined" and part is not None:
            join = self._joins.pop(x)
            self.operators.remove(join)
            tensors: list[Tensor | None] = [*join.inputs, join.inputs[part[0]]]
            return self._concatenated(long, tensors), part[1]
        if way == "doubled":
            return self._concatenated(long, [long, long]), list(order)
        slices = [self._channel(long, order.places(channel)[0]) for channel in channels]
        return self._concatenated(long, [long, *slices]), list(channels)

    def _part_with(self, x: Tensor, channels: Sequence[int]) -> tuple[int, range] | None:
        """Which of the tensors that are joined as ``x``, for one reader only, holds those channels; all it holds."""
        join = self._joins.get(x)
        if join is None or self._reads[x] > 1 or len(set(channels)) < len(channels):
            return None
        begin = 0
        for number, tensor in enumerate(join.inputs):
            assert tensor is not None
            here = range(begin, begin := begin + tensor.shape[-1])
            if all(channel in here for channel in channels):
                return (number, here) if len(join.inputs) <= MOST_SLICES else None
        return None

    def _concatenated(self, like: Tensor, tensors: list[Tensor | None]) -> Tensor:
        depth = sum(tensor.shape[-1] for tensor in tensors if tensor is not None)
        joined = like.like(shape=(*like.shape[:-1], depth))
        self.operators.append(Operator("CONCATENATION", tensors, [joined], {"axis": len(like.shape) - 1}))
        return joined

    def _channel(self, x: Tensor, channel: int) -> Tensor:
        part = x.like(shape=(*x.shape[:-1], 1))
        begin = [0] * (len(x.shape) - 1) + [channel]
        self.operators.append(Operator("SLICE", [x, constant(begin), constant(part.shape)], [part]))
        return part

    def _in_float(self, operator: Operator, filter: Tensor) -> None:
        """On the numbers behind the codes; every result is rounded to a code, as the operation has it."""
        at = 2 if operator.kind == "TRANSPOSE_CONV" else 0
        x, bias, y = operator.inputs[at], operator.inputs[-1], operator.outputs[0]
        assert x is not None
        assert bias is not None
        assert bias.data is not None
        assert filter.data is not None
        numbers = (filter.data.astype(np.float32) - np.float32(filter.zero_point)) * np.float32(filter.unit)
        weights = Tensor("f32", filter.shape, data=numbers, name=filter.name)
        offsets = Tensor("f32", bias.shape, data=(bias.data * np.float64(bias.unit)).astype(np.float32), name=bias.name)
        depthwise = operator.kind == "DEPTHWISE_CONV_2D"
        if not depthwise and x in self.orders:
            weights = self._read_once(weights, self.orders[x])
        inputs = list(operator.inputs)
        inputs[at] = self._real(self._long(x))
        inputs[1] = self._written(operator, weights, 3 if depthwise else 0)
        inputs[-1] = self._written(operator, offsets, 0)
        real = self._long(y).like(type="f32", scale=0.0, zero_point=0)
        self.operators.append(Operator(operator.kind, inputs, [real], operator.options))
        self.operators.append(Operator("QUANTIZE", [real], [self._long(y)]))

    def _as_it_is(self, operator: Operator, x: Tensor, filter: Tensor, bias: Tensor) -> None:
        """On unsigned codes, with the filter that it has."""
        x, y = (self._long(end) for end in (x, operator.outputs[0]))
        if operator.inputs[0] in self.orders:
            filter = self._read_once(filter, self.orders[operator.inputs[0]])
        above, below = (end.like(type="u8", zero_point=end.zero_point + SHIFT) for end in (x, y))
        inputs = [above, self._written(operator, filter, 0), self._written(operator, bias, 0)]
        self.operators.append(Operator("QUANTIZE", [x], [above]))
        self.operators.append(Operator(operator.kind, inputs, [below], operator.options))
        self.operators.append(Operator("QUANTIZE", [below], [y]))

    def _real(self, tensor: Tensor) -> Tensor:
        if tensor not in self._reals:
            self._reals[tensor] = tensor.like(type="f32", scale=0.0, zero_point=0)
            self.operators.append(Operator("DEQUANTIZE", [tensor], [self._reals[tensor]]))
        return self._reals[tensor]


def _signed_bias(operator: Operator) -> Tensor:
    bias = operator.inputs[-1]
    assert bias is not None
    return per_channel(bias)


def _covers(order: Order, wanted: Sequence[int]) -> bool:
    return all(len(order.places(channel)) > wanted.count(channel) for channel in wanted)
