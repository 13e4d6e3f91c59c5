"""Split the filters of sums of products that do not fit into signed bytes into sums of two."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights.channel_order import Order, gather
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.model.operand import Array

REACH = 127
"""Signed filters omit -128, so that sums of pairs of products fit 16 bits on every processor."""
FEW = 32
UNCOVERED = "a number that does not fit has too few copies of its channel"
ROW = 16384
"""Values whose minimum or maximum is found at a time."""
Offsets = list[int] | Array
"""Offsets in a flattened filter: a list of few, an array of many."""
found: WeakKeyDictionary[Tensor, Offsets] = WeakKeyDictionary()
"""The offsets of values that do not fit, of filters that a lowering rule has scanned: a scan reads the whole filter."""


@dataclass(frozen=True)
class Split:
    """An unsigned filter [..., channels] as a sum of two signed ones.

    The first is ``filter`` minus its zero point, clamped to ±127 at ``outliers``. The remainders apply to copies of the
    input channels ``channels``.
    """

    filter: Tensor
    outliers: Offsets = field(repr=False)
    channels: list[int]

    def join(self, order: Order, units: Order | None = None) -> Tensor:
        """Return the signed filter for an input with the channels of ``order`` and an output with those of ``units``.

        The first index of a channel has its clamped weights, later ones the remainders. The filter is computed when it
        is written.
        """
        filter = self.filter
        count = len(units) if units else filter.shape[0]
        scales = _repeat(filter.unit, count)
        numbers = filter.like(type="i8", shape=(count, *filter.shape[1:-1], len(order)), scale=scales, zero_point=0)
        numbers.write = partial(self._write, order, units)
        return numbers

    def _write(self, order: Order, units: Order | None, result: Array) -> None:
        own = result[: self.filter.shape[0]]
        self._write_rows(own, order)
        departures = units.departures() if units else []
        if departures:
            indices, held = zip(*departures, strict=True)
            result[list(indices)] = own[list(held)]

    def _write_rows(self, result: Array, order: Order) -> None:
        values, zero_point = self.filter.value, np.uint8(self.filter.zero_point)
        span, depth = order.span, len(order.span)
        np.subtract(values[..., span.start : span.stop], zero_point, out=result[..., :depth].view(np.uint8))
        result[..., depth:].fill(0)
        if order.instead or depth < values.shape[-1]:
            self._move(result, order)
        self._share_out(result.reshape(-1, len(order)), order)

    def _move(self, result: Array, order: Order) -> None:
        for channel, (first, *again) in order.find_displaced().items():
            if first in order.instead or first >= len(order.span):
                numbers = np.subtract(self.filter.value[..., channel], np.uint8(self.filter.zero_point))
                result[..., first] = numbers.view(np.int8)
            result[..., again] = 0

    def _share_out(self, rows: Array, order: Order) -> None:
        """Distribute the values that do not fit over the indices of their channels."""
        if not isinstance(self.outliers, list):
            self._share_out_columns(rows, order)
            return
        values = self.filter.value.reshape(-1)
        for offset in self.outliers:
            row, channel = divmod(offset, self.filter.shape[-1])
            number, targets = int(values[offset]) - self.filter.zero_point, order.find_indices(channel)
            for target in targets:
                rows[row, target] = part = max(-REACH, min(number, REACH))
                number -= part
            assert not (targets and number), UNCOVERED

    def _share_out_columns(self, rows: Array, order: Order) -> None:
        values = self.filter.value.reshape(len(rows), -1)
        for channel in dict.fromkeys(self.channels):
            numbers, targets = values[:, channel].astype(np.int16) - self.filter.zero_point, order.find_indices(channel)
            for target in targets:
                rows[:, target] = part = numbers.clip(-REACH, REACH)
                numbers -= part
            assert not (targets and numbers.any()), UNCOVERED


def split(filter: Tensor, offsets: Offsets) -> Split:
    """Split an unsigned filter whose values at those offsets do not fit."""
    values, depth = filter.value.reshape(-1), filter.shape[-1]
    if isinstance(offsets, list):
        once = {offset % depth for offset in offsets}
        twice = {offset % depth for offset in offsets if abs(int(values[offset]) - filter.zero_point) > 2 * REACH}
    else:
        is_far = abs(values[offsets].astype(np.int16) - filter.zero_point) > 2 * REACH
        once, twice = (set(np.unique(each % depth).tolist()) for each in (offsets, offsets[is_far]))
    return Split(filter, offsets, sorted([*once, *twice]))


def find_outliers(values: Array, zero_point: int) -> Offsets:
    """Return the offsets of the bytes that differ too much from the zero point.

    They are on one side only and few: rows without one are scanned at memory speed.
    """
    values, lowest = values.reshape(-1), 0 if values.dtype == np.uint8 else -128
    is_low = zero_point - REACH > lowest
    bound = values.dtype.type(zero_point - REACH if is_low else zero_point + REACH)
    compare = np.less if is_low else np.greater
    whole = values.size // ROW * ROW
    rows = values[:whole].reshape(-1, ROW)
    extremes = np.minimum.reduce(rows, 1) if is_low else np.maximum.reduce(rows, 1)
    suspects = compare(extremes, bound).nonzero()[0]
    if len(suspects) > FEW:
        return _few(compare(values, bound).nonzero()[0])
    offsets: list[int] = []
    for start in (*(suspects * ROW).tolist(), whole):
        offsets += (compare(values[start : start + ROW], bound).nonzero()[0] + start).tolist()
    return offsets if len(offsets) <= FEW else np.array(offsets)


def _few(offsets: Array) -> Offsets:
    return offsets.tolist() if len(offsets) <= FEW else offsets


class Outliers(dict[Tensor, Offsets]):
    """The offsets of values that do not fit in unsigned filters, found at first use. Only this uses ``own`` filters."""

    def __init__(self) -> None:
        self.own: set[Tensor] = set()

    def __missing__(self, filter: Tensor) -> Offsets:
        offsets = found.get(filter)
        self[filter] = offsets = find_outliers(filter.value, filter.zero_point) if offsets is None else offsets
        return offsets

    def find_slices(self, operator: Operator, axis: int) -> list[int]:
        """Return the slices of the operator's unsigned filter along an axis that have such values."""
        filter = Conv(operator).unsigned_filter
        if filter is None:
            return []
        dimension, within = filter.shape[axis], math.prod(filter.shape[axis + 1 :])
        offsets = self[filter]
        if isinstance(offsets, list):
            return sorted({offset // within % dimension for offset in offsets})
        slices: list[int] = np.unique(offsets // within % dimension).tolist()
        return slices

    def gather(self, filter: Tensor, order: Order, axis: int) -> Tensor:
        """Return the filter with the slices along an axis that ``order`` names, and track its outliers."""
        result = gather(filter, order, axis)
        if filter.type != "u8":
            return result
        self.own.update([result] if order.departures() else [])
        offsets = self[filter]
        if isinstance(offsets, list):
            dimension, within = filter.shape[axis], math.prod(filter.shape[axis + 1 :])
            self[result] = [
                (outer * len(order) + new) * within + inner
                for offset in offsets
                for outer, inner in [(offset // (within * dimension), offset % within)]
                for new in order.find_indices(offset // within % dimension)
            ]
        return result


def replace_values(filter: Tensor, values: Array) -> Tensor:
    """Return an unsigned filter with those signed values instead, each channel with its own scale."""
    scales = _repeat(filter.unit, values.shape[filter.axis])
    return filter.like(type="i8", shape=values.shape, scale=scales, zero_point=0, data=values)


def make_signed(filter: Tensor, is_own: bool = False) -> Tensor:
    """Return an unsigned filter without outliers as a signed one; ``is_own`` converts it in place."""
    values = filter.value
    return replace_values(
        filter, np.subtract(values, np.uint8(filter.zero_point), out=values if is_own else None).view(np.int8)
    )


def repeat_scale(bias: Tensor) -> Tensor:
    """Return a bias for a signed filter."""
    return bias.like(scale=_repeat(bias.scale, bias.shape[0]), data=bias.value)


def _repeat(scale: float | Array, count: int) -> Array:
    result = np.empty(count, np.float32)
    result[:] = scale
    return result
