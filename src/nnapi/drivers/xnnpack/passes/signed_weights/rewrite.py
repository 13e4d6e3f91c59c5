"""Compute operators with unsigned filters exactly by signed filters, which are two to three times faster.

A value minus its zero point is within ±127, except for a few. Some of these have no effect (:mod:`dead_channels`). The
others become sums of two: the second applies to a copy of the input channel, which its writers write too
(:mod:`channel_map`) or which is sliced off and appended. Images have copies in rows (:mod:`space_to_depth`). Depthwise
filters cannot sum over copies: they are computed in float32, if possible for few channels (:mod:`split_depthwise`). A
large filter for a single row stays unsigned: reading it dominates the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from nnapi.drivers.xnnpack.passes.dynamic_range import dequantize_bias, dequantize_constant
from nnapi.drivers.xnnpack.passes.signed_weights.channel_map import MOST_SLICES, estimate_ways, map_channels
from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order, gather
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import (
    Outliers,
    Split,
    make_signed,
    repeat_scale,
    split,
)
from nnapi.drivers.xnnpack.passes.signed_weights.dead_channels import clear_weights, find_dead_channels
from nnapi.drivers.xnnpack.passes.signed_weights.front import keep_front_unsigned
from nnapi.drivers.xnnpack.passes.signed_weights.space_to_depth import move_space_to_depth
from nnapi.drivers.xnnpack.passes.signed_weights.split_depthwise import split_depthwise
from nnapi.drivers.xnnpack.passes.unsigned_values import flip_signedness
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.lowering.tflite.context import SHIFT
from nnapi.model.operand import Array


def sign_weights(graph: Graph) -> Graph:
    """Return the graph with signed filters where they are faster."""
    if not any(Conv(operator).unsigned_filter for operator in graph.operators):
        return move_space_to_depth(graph)
    outliers = Outliers()
    graph = keep_front_unsigned(graph, outliers)
    dead = find_dead_channels(graph)
    graph = clear_weights(graph, dead, outliers)
    graph = move_space_to_depth(graph)
    graph = split_depthwise(graph, outliers)
    return split_channels(graph, dead, outliers)


def split_channels(graph: Graph, dead: Mapping[Tensor, Array], outliers: Outliers) -> Graph:
    """Return the graph with filters that do not fit as sums of two, or in float32."""
    filters = {operator: filter for operator in graph.operators if (filter := _find_dense_filter(operator))}
    splits = {operator: split(filter, outliers[filter]) for operator, filter in filters.items()}
    rewriting = _Rewriting(graph, splits, map_channels(graph, splits, dead, outliers), outliers)
    for operator in graph.operators:
        rewriting.rewrite(operator)
    return graph.with_operators(rewriting.operators)


def _find_dense_filter(operator: Operator) -> Tensor | None:
    """Return the unsigned filter of an operator that sums over all input channels."""
    conv = Conv(operator)
    filter = conv.unsigned_filter
    is_dense = operator.kind in ("CONV_2D", "FULLY_CONNECTED")
    return filter if filter is not None and is_dense and filter.shape[-1] == conv.input.shape[-1] else None


class _Rewriting:
    """The new operators. ``orders`` are the channels of tensors that carry copies."""

    def __init__(
        self, graph: Graph, splits: dict[Operator, Split], orders: dict[Tensor, Order], outliers: Outliers
    ) -> None:
        self.splits, self.orders, self._outliers = splits, orders, outliers
        self.operators: list[Operator] = []
        self._longer: dict[Tensor, Tensor] = {}
        self._reals: dict[Tensor, Tensor] = {}
        self._reads = Counter(tensor for operator in graph.operators for tensor in operator.inputs if tensor)
        self._reads.update(graph.outputs)
        self._joins: dict[Tensor, Operator] = {}

    def rewrite(self, operator: Operator) -> None:
        conv = Conv(operator)
        filter = conv.unsigned_filter
        if operator in self.splits:
            self._sum(conv, self.splits[operator])
        elif filter is None:
            self._pass_on(operator)
        elif len(self._outliers[filter]):
            self._compute_in_float(conv)
        else:
            signed = make_signed(filter, filter in self._outliers.own)
            inputs = [*operator.inputs[:1], signed, *operator.inputs[2:-1], repeat_scale(conv.bias)]
            self._pass_on(operator.like(inputs))

    def _pass_on(self, operator: Operator) -> None:
        if any(tensor in self.orders for tensor in operator.tensors):
            outputs = [self._lengthen(tensor) for tensor in operator.outputs]
            operator = operator.like(self._add_copies(operator), outputs)
        if operator.kind == "CONCATENATION" and operator.options["axis"] == len(operator.output.shape) - 1:
            self._joins[operator.output] = operator
        self.operators.append(operator)

    def _lengthen(self, tensor: Tensor) -> Tensor:
        """Return the tensor with the copies that it carries."""
        if tensor not in self.orders:
            return tensor
        if tensor not in self._longer:
            self._longer[tensor] = tensor.like(shape=(*tensor.shape[:3], len(self.orders[tensor])))
        return self._longer[tensor]

    def _add_copies(self, operator: Operator) -> list[Tensor | None]:
        """Return the inputs, with filters that read and write copies."""
        inputs = [tensor if tensor is None else self._lengthen(tensor) for tensor in operator.inputs]
        if operator.kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            conv = Conv(operator)
            filter = conv.filter if conv.is_depthwise else self._read_once(conv.filter, conv.input)
            inputs[1:3] = (
                self._write_copies(conv, filter, 3 if conv.is_depthwise else 0),
                self._write_copies(conv, conv.bias),
            )
        return inputs

    def _read_once(self, filter: Tensor, input: Tensor) -> Tensor:
        """Return the filter with zeros for the copies in its input."""
        order = self.orders.get(input)
        if order is None:
            return filter
        result = gather(filter, order, 3)
        for _, *again in order.find_displaced().values():
            result.value[..., again] = result.zero_point
        return result

    def _write_copies(self, conv: Conv, tensor: Tensor, axis: int = 0) -> Tensor:
        """Return a filter or bias that also computes the output's copies."""
        order = self.orders.get(conv.output)
        return tensor if order is None else gather(tensor, order, axis)

    def _sum(self, conv: Conv, parts: Split) -> None:
        """Compute a sum of signed filters, the second on copies, or in another faster way."""
        x, operator = conv.input, conv.operator
        order, long = self.orders.get(x, Order(range(x.shape[-1]))), self._lengthen(x)
        if not _covers(order, parts.channels):
            part = self._find_part(x, parts.channels)
            copies = self._count_copies(conv.output)
            seconds = estimate_ways(operator, parts.channels, copies, len(part[1]) if part else 0)
            way = min(seconds, key=lambda way: seconds[way])
            if way == "float":
                self._compute_in_float(conv)
                return
            if way == "unsigned":
                self._compute_unsigned(conv)
                return
            long, more = self._append(way, x, order, parts.channels)
            order = order.extend(more)
        filter = parts.join(order, self.orders.get(conv.output))
        inputs = [long, filter, self._write_copies(conv, repeat_scale(conv.bias))]
        self.operators.append(operator.like(inputs, [self._lengthen(conv.output)]))

    def _count_copies(self, tensor: Tensor) -> int:
        return self._lengthen(tensor).shape[-1] - tensor.shape[-1]

    def _append(self, way: str, x: Tensor, order: Order, channels: Sequence[int]) -> tuple[Tensor, Sequence[int]]:
        """Return the tensor with channels appended, and the originals of these."""
        long, part = self._lengthen(x), self._find_part(x, channels)
        if way == "joined" and part is not None:
            join = self._joins.pop(x)
            self.operators.remove(join)
            tensors: list[Tensor | None] = [*join.inputs, join.inputs[part[0]]]
            return self._concatenate(long, tensors), part[1]
        if way == "doubled":
            return self._concatenate(long, [long, long]), list(order)
        slices = [self._slice_channel(long, order.find_indices(channel)[0]) for channel in channels]
        return self._concatenate(long, [long, *slices]), list(channels)

    def _find_part(self, x: Tensor, channels: Sequence[int]) -> tuple[int, range] | None:
        """Return index and channels of the tensor with those channels, among those concatenated as ``x``."""
        join = self._joins.get(x)
        if join is None or self._reads[x] > 1 or len(set(channels)) < len(channels):
            return None
        begin = 0
        for number in range(len(join.inputs)):
            tensor = join.input(number)
            here = range(begin, begin := begin + tensor.shape[-1])
            if all(channel in here for channel in channels):
                return (number, here) if len(join.inputs) <= MOST_SLICES else None
        return None

    def _concatenate(self, like: Tensor, tensors: list[Tensor | None]) -> Tensor:
        depth = sum(tensor.shape[-1] for tensor in tensors if tensor is not None)
        joined = like.like(shape=(*like.shape[:-1], depth))
        self.operators.append(Operator("CONCATENATION", tensors, [joined], {"axis": len(like.shape) - 1}))
        return joined

    def _slice_channel(self, x: Tensor, channel: int) -> Tensor:
        part = x.like(shape=(*x.shape[:-1], 1))
        begin = [0] * (len(x.shape) - 1) + [channel]
        self.operators.append(Operator("SLICE", [x, constant(begin), constant(part.shape)], [part]))
        return part

    def _compute_in_float(self, conv: Conv) -> None:
        x, filter, bias, y = conv.input, conv.filter, conv.bias, self._lengthen(conv.output)
        weights, offsets = dequantize_constant(filter), dequantize_bias(bias)
        if not conv.is_depthwise:
            weights = self._read_once(weights, x)
        inputs = list(conv.operator.inputs)
        inputs[conv.position] = self._dequantize(self._lengthen(x))
        inputs[1] = self._write_copies(conv, weights, 3 if conv.is_depthwise else 0)
        inputs[-1] = self._write_copies(conv, offsets)
        real = y.like(type="f32", scale=0.0, zero_point=0)
        self.operators.append(conv.operator.like(inputs, [real]))
        self.operators.append(Operator("QUANTIZE", [real], [y]))

    def _compute_unsigned(self, conv: Conv) -> None:
        x, y = (self._lengthen(end) for end in (conv.input, conv.output))
        filter = self._write_copies(conv, self._read_once(conv.filter, conv.input))
        above, below = (end.like(type="u8", zero_point=end.zero_point + SHIFT) for end in (x, y))
        inputs = [above, filter, self._write_copies(conv, conv.bias)]
        self.operators += flip_signedness(x, above)
        self.operators.append(conv.operator.like(inputs, [below]))
        self.operators += flip_signedness(below, y)

    def _dequantize(self, tensor: Tensor) -> Tensor:
        if tensor not in self._reals:
            self._reals[tensor] = tensor.like(type="f32", scale=0.0, zero_point=0)
            self.operators.append(Operator("DEQUANTIZE", [tensor], [self._reals[tensor]]))
        return self._reals[tensor]


def _covers(order: Order, wanted: Sequence[int]) -> bool:
    return all(len(order.find_indices(channel)) > wanted.count(channel) for channel in wanted)
