"""Filters of sums of products: which fit into signed bytes, and how those that do not are written as sums of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from nnapi.drivers.xnnpack.graph import Operator, Tensor
from nnapi.drivers.xnnpack.orders import Order, taken
from nnapi.model.operand import Array

REACH = 127
"""Signed filters leave -128 out, so that sums of pairs of products fit 16 bits on every processor."""
FEW = 32
"""Numbers that are dealt with faster one by one than all at once."""
UNCOVERED = "a number that does not fit has too few copies of its channel"


Places = list[int] | Array
"""Of numbers in a filter as one row: a list of few, an array of many."""


@dataclass(frozen=True)
class Split:
    """An unsigned filter [..., channels] as a sum of two signed ones.

    The first is ``filter`` less its zero point, with the numbers at ``outside`` cut to ±127; what that leaves is for
    copies of input channels: ``channels`` are those behind each copy.
    """

    filter: Tensor
    outside: Places = field(repr=False)
    channels: list[int]

    def joined(self, order: Order | None = None) -> Array:
        """The signed filter for an input of which each channel holds the one of the original that ``order`` names.

        The first place of a channel has its numbers, later ones have the rests that there are.
        """
        codes, zero_point = _codes(self.filter), np.uint8(self.filter.zero_point)
        order = Order(range(codes.shape[-1])) if order is None else order
        span, depth = order.span, len(order.span)
        result = np.empty((*codes.shape[:-1], len(order)), np.int8)
        np.subtract(codes[..., span.start : span.stop], zero_point, out=result[..., :depth].view(np.uint8))
        result[..., depth:].fill(0)
        if order.instead or depth < codes.shape[-1]:
            self._move(result, order)
        self._settle(result.reshape(-1, len(order)), order)
        return result

    def _move(self, result: Array, order: Order) -> None:
        """Let the first places of channels have their numbers where those are not at home, and no others."""
        for channel, (first, *again) in order.departed().items():
            if first in order.instead or first >= len(order.span):
                numbers = np.subtract(_codes(self.filter)[..., channel], np.uint8(self.filter.zero_point))
                result[..., first] = numbers.view(np.int8)
            result[..., again] = 0

    def _settle(self, rows: Array, order: Order) -> None:
        """Share out the numbers that do not fit among the places of their channels."""
        if not isinstance(self.outside, list):
            self._settle_columns(rows, order)
            return
        codes = _codes(self.filter).reshape(-1)
        for place in self.outside:
            row, channel = divmod(place, self.filter.shape[-1])
            number, targets = int(codes[place]) - self.filter.zero_point, order.places(channel)
            for target in targets:
                rows[row, target] = part = max(-REACH, min(number, REACH))
                number -= part
            assert not (targets and number), UNCOVERED

    def _settle_columns(self, rows: Array, order: Order) -> None:
        codes = _codes(self.filter).reshape(len(rows), -1)
        for channel in dict.fromkeys(self.channels):
            numbers, targets = codes[:, channel].astype(np.int16) - self.filter.zero_point, order.places(channel)
            for target in targets:
                rows[:, target] = part = numbers.clip(-REACH, REACH)
                numbers -= part
            assert not (targets and numbers.any()), UNCOVERED


def split(filter: Tensor, places: Places) -> Split:
    """An unsigned filter, of which numbers at those places do not fit, as a sum."""
    codes, depth = _codes(filter).reshape(-1), filter.shape[-1]
    if isinstance(places, list):
        once = {place % depth for place in places}
        twice = {place % depth for place in places if abs(int(codes[place]) - filter.zero_point) > 2 * REACH}
    else:
        is_far = abs(codes[places].astype(np.int16) - filter.zero_point) > 2 * REACH
        once, twice = (set(np.unique(each % depth).tolist()) for each in (places, places[is_far]))
    return Split(filter, places, sorted([*once, *twice]))


def _true(row: Array) -> Places:
    """Where booleans are true, of which mostly one or two are."""
    count = int(np.count_nonzero(row))
    if count > FEW:
        return row.nonzero()[0]
    places: list[int] = []
    for _ in range(count):
        begin = places[-1] + 1 if places else 0
        places.append(begin + int(row[begin:].argmax()))
    return places


class Outside(dict[Tensor, Places]):
    """Where in unsigned filters, as one row, the numbers are that do not fit: found out when first asked.

    ``own`` are filters whose codes were put together here, so that nobody else reads them.
    """

    def __init__(self) -> None:
        self.own: set[Tensor] = set()

    def __missing__(self, filter: Tensor) -> Places:
        codes, low, high = _codes(filter).reshape(-1), filter.zero_point - REACH, filter.zero_point + REACH
        self[filter] = places = _true(codes < low if low > 0 else codes > high)  # only one of both is ever possible
        return places

    def slices(self, operator: Operator, axis: int) -> list[int]:
        """The slices of the operator's filter along an axis that have such numbers; none where it is signed."""
        filter = unsigned(operator)
        if filter is None:
            return []
        extent, within = filter.shape[axis], math.prod(filter.shape[axis + 1 :])
        places = self[filter]
        if isinstance(places, list):
            return sorted({place // within % extent for place in places})
        slices: list[int] = np.unique(places // within % extent).tolist()
        return slices

    def taken(self, filter: Tensor, order: Order, axis: int) -> Tensor:
        """The filter with other slices along an axis, and where the numbers are in those."""
        result = taken(filter, order, axis)
        if filter.type != "u8":
            return result
        self.own.update([result] if order.departures() else [])
        places = self[filter]
        if isinstance(places, list):
            extent, within = filter.shape[axis], math.prod(filter.shape[axis + 1 :])
            self[result] = [
                (outer * len(order) + new) * within + inner
                for place in places
                for outer, inner in [(place // (within * extent), place % within)]
                for new in order.places(place // within % extent)
            ]
        return result


def signed(filter: Tensor, codes: Array) -> Tensor:
    """An unsigned filter with those signed codes instead, each channel with a scale of its own."""
    scales = _repeated(filter.unit, codes.shape[filter.axis])
    return filter.like(type="i8", shape=codes.shape, scale=scales, zero_point=0, data=codes)


def fitting(filter: Tensor, is_own: bool = False) -> Tensor:
    """An unsigned filter whose numbers all fit, as a signed one; in the place of the former where that is our own."""
    codes = _codes(filter)
    return signed(filter, np.subtract(codes, np.uint8(filter.zero_point), out=codes if is_own else None).view(np.int8))


def per_channel(bias: Tensor) -> Tensor:
    """A bias for a signed filter."""
    return bias.like(scale=_repeated(bias.scale, bias.shape[0]), data=bias.data)


def _repeated(scale: float | Array, count: int) -> Array:
    result = np.empty(count, np.float32)
    result[:] = scale
    return result


def unsigned(operator: Operator) -> Tensor | None:
    """The unsigned filter of an operator that has one."""
    filter = operator.inputs[1] if len(operator.inputs) > 1 else None
    return filter if filter is not None and filter.type == "u8" and filter.data is not None else None


def is_plain(operator: Operator) -> bool:
    """Whether an operator is a convolution of one group with constant filter and bias."""
    if operator.kind != "CONV_2D":
        return False
    x, filter, bias = operator.inputs
    if x is None or filter is None or bias is None or filter.data is None or bias.data is None:
        return False
    return filter.shape[3] == x.shape[3]


def is_each_channel(operator: Operator) -> bool:
    """Whether an operator is a convolution of each channel with a constant filter of its own."""
    if operator.kind != "DEPTHWISE_CONV_2D":
        return False
    x, filter, bias = operator.inputs
    if x is None or filter is None or bias is None or filter.data is None or bias.data is None:
        return False
    return x.shape[3] == operator.outputs[0].shape[3]


def _codes(filter: Tensor) -> Array:
    assert filter.data is not None
    return filter.data
