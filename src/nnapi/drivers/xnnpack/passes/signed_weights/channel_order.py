"""Channels in an order that is mostly their own, stored by its differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nnapi.formats.tflite.graph import Tensor
from nnapi.model.operand import Array

FEW = 8
"""Slices that are copied faster one by one than all at once."""


@dataclass(frozen=True)
class Order:
    """The original channel at each index: those of ``span``, or of ``instead`` at its indices; then of ``behind``."""

    span: range
    instead: Mapping[int, int] = field(default_factory=dict)
    behind: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.span) + len(self.behind)

    def __iter__(self) -> Iterator[int]:
        for index, channel in enumerate(self.span):
            yield self.instead.get(index, channel)
        yield from self.behind

    def departures(self) -> list[tuple[int, int]]:
        """Return index and channel wherever the order differs from ``span``."""
        return [*self.instead.items(), *enumerate(self.behind, len(self.span))]

    def find_displaced(self) -> dict[int, list[int]]:
        """Return all indices of each displaced channel, ascending."""
        found: dict[int, list[int]] = {}
        for index, channel in self.departures():
            found.setdefault(channel, self._home(channel)).append(index)
        return {channel: sorted(indices) for channel, indices in found.items()}

    def find_indices(self, channel: int) -> list[int]:
        """Return the indices of a channel, ascending."""
        indices = self._home(channel)
        if self.instead and channel in self.instead.values():
            indices = sorted(indices + [index for index, held in self.instead.items() if held == channel])
        count = self.behind.count(channel) if self.behind else 0
        if count == 1:  # mostly, and there may be as many behind as there are channels
            indices.append(len(self.span) + self.behind.index(channel))
        elif count:
            indices += [index for index, held in enumerate(self.behind, len(self.span)) if held == channel]
        return indices

    def _home(self, channel: int) -> list[int]:
        """Return the channel's index in ``span``, unless another replaces it there."""
        index = channel - self.span.start
        return [index] if channel in self.span and index not in self.instead else []

    def extend(self, channels: Sequence[int]) -> Order:
        return Order(self.span, self.instead, [*self.behind, *channels])


def gather(tensor: Tensor, order: Order, axis: int) -> Tensor:
    """Return a constant with the slices along ``axis`` that ``order`` names."""
    data, scale = _gather(tensor.value, order, axis), tensor.scale
    if not isinstance(scale, float) and axis == tensor.axis:
        scale = _gather(scale, order, 0)
    return tensor.like(shape=data.shape, scale=scale, data=data)


def _gather(data: Array, order: Order, axis: int) -> Array:
    before: tuple[slice | int, ...] = (slice(None),) * axis
    span, depth = data[(*before, slice(order.span.start, order.span.stop))], len(order.span)
    if not order.instead and not order.behind:
        return span
    result: Array = np.empty((*data.shape[:axis], len(order), *data.shape[axis + 1 :]), data.dtype)
    result[(*before, slice(depth))] = span
    departures = order.departures()
    if len(departures) < FEW:
        for index, channel in departures:
            result[(*before, index)] = data[(*before, channel)]
    else:
        indices, channels = zip(*departures, strict=True)
        result[(*before, list(indices))] = data[(*before, list(channels))]
    return result
