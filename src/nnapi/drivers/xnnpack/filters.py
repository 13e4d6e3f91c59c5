"""Filters of sums of products: which fit into signed bytes, and how those that do not are written as sums of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nnapi.drivers.xnnpack.graph import Operator, Tensor
from nnapi.model.operand import Array

REACH = 127
"""Signed filters leave -128 out, so that sums of pairs of products fit 16 bits on every processor."""


@dataclass(frozen=True)
class Split:
    """An unsigned filter [units, height, width, channels] as a sum of two signed ones.

    The first is ``filter`` less its zero point, with the numbers at ``outside`` cut to ±127; ``rest`` is what that
    leaves, each part for another copy of an input channel: (channel, int8 [units, height, width]).
    """

    filter: Tensor
    outside: Array = field(repr=False)
    rest: list[tuple[int, Array]]

    @property
    def channels(self) -> list[int]:
        """The input channel behind each copy."""
        return [channel for channel, _ in self.rest]

    def joined(self, order: Sequence[int] | None = None) -> Array:
        """The signed filter for an input of which each channel holds the one of the original that ``order`` names.

        The first place of a channel has its numbers, later ones have the rests that there are.
        """
        codes = _codes(self.filter)
        depth = codes.shape[3]
        order = range(depth) if order is None else order
        is_plain = list(order[:depth]) == list(range(depth))
        source, known = (codes, depth) if is_plain else (_arranged(codes, order), 0)
        result = np.empty((*codes.shape[:3], len(order)), np.int8)
        first, further = result[..., : source.shape[3]], result[..., source.shape[3] :]
        np.subtract(source, np.uint8(self.filter.zero_point), out=first.view(np.uint8))
        further.fill(0)
        rest, seen = list(self.rest), set(range(known))
        for place, channel in enumerate(order[known:], known):
            if channel in seen:
                result[..., place] = _popped(rest, channel)
            seen.add(channel)
        cut = np.where(codes.reshape(-1)[self.outside] > self.filter.zero_point, REACH, -REACH)
        *places, channels = (axis.tolist() for axis in np.unravel_index(self.outside, codes.shape))
        for *at, channel, number in zip(*places, channels, cut, strict=True):
            if channel in seen:
                result[(*at, channel if is_plain else order.index(channel))] = number
        assert not rest, "every rest has a copy of its channel"
        return result


def _popped(rest: list[tuple[int, Array]], channel: int) -> Array | int:
    """Take the first part of that channel; 0 where there is none left."""
    for at, (number, part) in enumerate(rest):
        if number == channel:
            del rest[at]
            return part
    return 0


def split(filter: Tensor, places: Array) -> Split:
    """An unsigned filter [units, height, width, channels], of which numbers at those places do not fit, as a sum."""
    codes = _codes(filter)
    rest: list[tuple[int, Array]] = []
    for channel in sorted(set((places % codes.shape[3]).tolist())):
        numbers = codes[..., channel].astype(np.int16) - filter.zero_point
        left = numbers - np.clip(numbers, -REACH, REACH)
        while left.any():
            part = np.clip(left, -REACH, REACH)
            rest.append((channel, part.astype(np.int8)))
            left -= part
    return Split(filter, places, rest)


class Outside(dict[Tensor, Array]):
    """Where in unsigned filters, as one row, the numbers are that do not fit: found out when first asked."""

    def __missing__(self, filter: Tensor) -> Array:
        codes, low, high = _codes(filter), filter.zero_point - REACH, filter.zero_point + REACH
        below = np.flatnonzero(codes < low) if low > 0 else np.empty(0, np.intp)
        places = np.concatenate([below, np.flatnonzero(codes > high)]) if high < 255 else below
        self[filter] = places
        return places

    def slices(self, operator: Operator, axis: int) -> list[int]:
        """The slices of the operator's filter along an axis that have such numbers; none where it is signed."""
        filter = unsigned(operator)
        places = self[filter] if filter is not None else ()
        if filter is None or not len(places):
            return []
        return sorted(set(np.unravel_index(places, filter.shape)[axis].tolist()))


def signed(filter: Tensor, codes: Array) -> Tensor:
    """An unsigned filter with those signed codes instead, each channel with a scale of its own."""
    scales = np.full(codes.shape[filter.axis], filter.scale, np.float32)
    return filter.like(type="i8", shape=codes.shape, scale=scales, zero_point=0, data=codes)


def fitting(filter: Tensor) -> Tensor:
    """An unsigned filter whose numbers all fit, as a signed one."""
    return signed(filter, np.subtract(_codes(filter), np.uint8(filter.zero_point)).view(np.int8))


def per_channel(bias: Tensor) -> Tensor:
    """A bias for a signed filter."""
    return bias.like(scale=np.full(bias.shape[0], bias.scale, np.float32), data=bias.data)


def taken(tensor: Tensor, order: Sequence[int] | Array, axis: int) -> Tensor:
    """A constant with other slices along ``axis``: those of its own that ``order`` names."""
    assert tensor.data is not None
    data = tensor.data.take(order, axis) if axis < 3 else _arranged(tensor.data, order)
    is_per_slice = not isinstance(tensor.scale, float) and axis == tensor.axis
    scale = tensor.scale[np.asarray(order)] if is_per_slice else tensor.scale  # type: ignore[index]
    return tensor.like(shape=data.shape, scale=scale, data=data)


def _arranged(data: Array, order: Sequence[int] | Array) -> Array:
    """Other places of the last axis, of which most are expected to stay where they are."""
    places = np.asarray(order, np.intp)
    depth = min(data.shape[-1], len(places))
    moved = np.flatnonzero(places != np.arange(len(places)))
    result = np.empty((*data.shape[:-1], len(places)), data.dtype)
    result[..., :depth] = data[..., :depth]
    result[..., moved] = data[..., places[moved]]
    result[..., depth:] = data[..., places[depth:]]
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
