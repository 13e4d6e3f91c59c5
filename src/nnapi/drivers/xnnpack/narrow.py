"""Filters that do not fit into signed bytes: how operators with unsigned filters are computed exactly and fast.

The engine is two to three times faster with signed filters, and nearly every number of an unsigned one, less its zero
point, is within ±127; one or two numbers of a filter are not. Such a number is written as a sum of two that are: the
second applies to a copy of its input channel. A copy comes from the operators that make the channel, which make it
twice (:mod:`channels`), or is sliced off and appended where the filter is. Depthwise filters cannot sum over channels:
they are computed in float32, which costs hardly more, between conversions that are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.drivers.xnnpack import estimates
from nnapi.drivers.xnnpack.graph import Graph, Operator, Tensor, constant
from nnapi.model.operand import Array

REACH = 127
"""Signed filters leave -128 out, so that sums of pairs of products fit 16 bits on every processor."""
MOST_SLICES = 3
"""Copies appended one by one at a filter; the engine joins at most five tensors."""


@dataclass(frozen=True)
class Split:
    """A filter as ``main`` plus, for copies of input channels, ``rest``: (channel, int8 [units, height, width])."""

    main: Array
    rest: list[tuple[int, Array]]

    @property
    def channels(self) -> list[int]:
        """The input channel behind each copy."""
        return [channel for channel, _ in self.rest]

    def joined(self, copies: Sequence[int]) -> Array:
        """The filter for an input to which copies of those channels are appended."""
        extra = np.zeros((*self.main.shape[:3], len(copies)), np.int8)
        free = list(enumerate(copies))
        for channel, numbers in self.rest:
            slot = next(slot for slot in free if slot[1] == channel)
            free.remove(slot)
            extra[..., slot[0]] = numbers
        return np.concatenate([self.main, extra], 3)


def split(filter: Tensor) -> Split:
    """An unsigned filter [units, height, width, channels] as a sum of signed ones."""
    assert filter.data is not None
    codes, zero = filter.data, filter.zero_point
    low, high = max(zero - REACH, 0), min(zero + REACH, 255)
    main = np.subtract(np.clip(codes, low, high), np.uint8(zero)).view(np.int8)
    outside = np.flatnonzero((codes < low) | (codes > high))
    rest = []
    for channel in np.unique(outside % codes.shape[3]).tolist():
        left = codes[..., channel].astype(np.int16) - zero - main[..., channel]
        while left.any():
            part = np.clip(left, -REACH, REACH)
            rest.append((channel, part.astype(np.int8)))
            left -= part
    return Split(main, rest)


def narrowed(graph: Graph) -> Graph:
    """The same graph without unsigned filters."""
    if not any(_filter(operator) for operator in graph.operators):
        return graph
    from nnapi.drivers.xnnpack.channels import copied

    splits = {operator: split(_four(operator)) for operator in graph.operators if _is_dense(operator)}
    copies = copied(graph, splits)
    rewriting = _Rewriting(splits, copies)
    for operator in graph.operators:
        rewriting.rewrite(operator)
    return Graph(rewriting.operators, graph.inputs, graph.outputs)


def _filter(operator: Operator) -> Tensor | None:
    """The unsigned filter of an operator that has one."""
    filter = operator.inputs[1] if len(operator.inputs) > 1 else None
    return filter if filter is not None and filter.type == "u8" and filter.data is not None else None


def _is_dense(operator: Operator) -> bool:
    """Whether an operator with an unsigned filter sums over all channels of its input."""
    filter = _filter(operator)
    if filter is None or operator.kind not in ("CONV_2D", "FULLY_CONNECTED"):
        return False
    input = operator.inputs[0]
    return input is not None and filter.shape[-1] == input.shape[-1]


def _four(operator: Operator) -> Tensor:
    """The filter with four axes."""
    filter = _filter(operator)
    assert filter is not None
    assert filter.data is not None
    shape = filter.shape if len(filter.shape) == 4 else (filter.shape[0], 1, 1, filter.shape[1])
    return filter.like(shape=shape, data=filter.data.reshape(shape))


class _Rewriting:
    """The operators as they become. ``copies`` are the channels of which some tensors carry copies at their end."""

    def __init__(self, splits: dict[Operator, Split], copies: dict[Tensor, list[int]]) -> None:
        self.splits, self.copies = splits, copies
        self.operators: list[Operator] = []
        self._longer: dict[Tensor, Tensor] = {}
        self._reals: dict[Tensor, Tensor] = {}

    def rewrite(self, operator: Operator) -> None:
        filter = _filter(operator)
        if operator in self.splits:
            self._dense(operator, self.splits[operator])
        elif filter is not None:
            self._in_float(operator, filter)
        else:
            self._emit(operator.kind, self._with_copies(operator), operator)

    def _emit(self, kind: str, inputs: list[Tensor | None], like: Operator) -> None:
        self.operators.append(Operator(kind, inputs, [self._long(tensor) for tensor in like.outputs], like.options))

    def _long(self, tensor: Tensor) -> Tensor:
        """The tensor with the copies that it carries."""
        if not self.copies.get(tensor):
            return tensor
        if tensor not in self._longer:
            shape = (*tensor.shape[:3], tensor.shape[3] + len(self.copies[tensor]))
            self._longer[tensor] = tensor.like(shape=shape)
        return self._longer[tensor]

    def _with_copies(self, operator: Operator) -> list[Tensor | None]:
        """The inputs, those that are filters made to read and to write copies."""
        inputs = [tensor if tensor is None else self._long(tensor) for tensor in operator.inputs]
        if operator.kind == "CONV_2D":
            read, written = self._copies(operator.inputs[0]), self._copies(operator.outputs[0])
            filter, bias = operator.inputs[1:3]
            assert filter is not None
            assert filter.data is not None
            if read:
                data = np.pad(filter.data, [(0, 0)] * 3 + [(0, len(read))])
                filter = filter.like(shape=data.shape, data=data)
            inputs[1:3] = _repeated(filter, 0, written), _repeated(bias, 0, written)
        elif operator.kind == "DEPTHWISE_CONV_2D":
            written = self._copies(operator.outputs[0])
            inputs[1:3] = _repeated(operator.inputs[1], 3, written), _repeated(operator.inputs[2], 0, written)
        return inputs

    def _copies(self, tensor: Tensor | None) -> list[int]:
        return self.copies.get(tensor, []) if tensor is not None else []

    def _dense(self, operator: Operator, parts: Split) -> None:
        """As a sum of signed filters, the second on copies of channels; in float32 where that is faster."""
        x, filter, bias = operator.inputs
        assert x is not None
        assert filter is not None
        assert bias is not None
        copies, long = self._copies(x), self._long(x)
        written = self._copies(operator.outputs[0])
        if not _covers(copies, parts.channels):
            way = cheapest(operator, parts, len(written))
            if way == "float":
                self._in_float(operator, filter)
                return
            more = parts.channels if way == "appended" else list(range(x.shape[-1]))
            long, copies = self._appended(long, more), copies + more
        units = filter.shape[0]
        data = parts.joined(copies)
        scales = np.full(units, filter.scale, np.float32)
        signed = Tensor("i8", data.shape, scales, axis=0, data=data, name=filter.name)
        if len(filter.shape) == 2:
            signed = signed.like(shape=(units, data.shape[3]), data=data.reshape(units, -1))
        per_channel = bias.like(scale=np.full(units, bias.scale, np.float32), data=bias.data)
        inputs: list[Tensor | None] = [long, _repeated(signed, 0, written), _repeated(per_channel, 0, written)]
        self._emit(operator.kind, inputs, operator)

    def _appended(self, x: Tensor, channels: Sequence[int]) -> Tensor:
        """The tensor with copies of some or of all channels behind its own."""
        if list(channels) == list(range(x.shape[-1])):
            parts = [x, x]
        else:
            parts = [x, *(self._channel(x, channel) for channel in channels)]
        joined = x.like(shape=(*x.shape[:-1], x.shape[-1] + len(channels)))
        self.operators.append(Operator("CONCATENATION", list(parts), [joined], {"axis": len(x.shape) - 1}))
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
        written = self._copies(y)
        if not depthwise and self._copies(x):
            numbers = np.pad(numbers, [(0, 0)] * 3 + [(0, len(self._copies(x)))])
            weights = weights.like(shape=numbers.shape, data=numbers)
        inputs = list(operator.inputs)
        inputs[at] = self._real(self._long(x))
        inputs[1] = _repeated(weights, 3 if depthwise else 0, written)
        inputs[-1] = _repeated(offsets, 0, written)
        real = self._long(y).like(type="f32", scale=0.0, zero_point=0)
        self.operators.append(Operator(operator.kind, inputs, [real], operator.options))
        self.operators.append(Operator("QUANTIZE", [real], [self._long(y)]))

    def _real(self, tensor: Tensor) -> Tensor:
        if tensor not in self._reals:
            self._reals[tensor] = tensor.like(type="f32", scale=0.0, zero_point=0)
            self.operators.append(Operator("DEQUANTIZE", [tensor], [self._reals[tensor]]))
        return self._reals[tensor]


def cheapest(operator: Operator, parts: Split, written: int) -> str:
    """How an operator is best computed whose input carries no copies: "appended", "doubled" or "float"."""
    count = len(parts.rest)
    seconds = {"float": estimates.in_float(operator, written), "doubled": estimates.doubled(operator)}
    if len(set(parts.channels)) < count:
        del seconds["doubled"]
    if count <= MOST_SLICES:
        seconds["appended"] = estimates.appended(operator, count)
    return min(seconds, key=lambda way: seconds[way])


def _repeated(tensor: Tensor | None, axis: int, copies: Sequence[int]) -> Tensor | None:
    """A constant with copies of some of its slices along ``axis`` at the end."""
    if tensor is None or not copies:
        return tensor
    assert tensor.data is not None
    order = [*range(tensor.data.shape[axis]), *copies]
    data = np.ascontiguousarray(tensor.data.take(order, axis))
    scale = tensor.scale if isinstance(tensor.scale, float) else tensor.scale[order]
    return tensor.like(shape=data.shape, scale=scale, data=data)


def _covers(copies: Sequence[int], wanted: Sequence[int]) -> bool:
    return all(copies.count(channel) >= wanted.count(channel) for channel in wanted)
