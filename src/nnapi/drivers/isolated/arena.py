"""The memory that a run's inputs and outputs pass through between application and driver: a memory file that both have
mapped, sealed so that neither can change its size under the other."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nnapi.drivers.isolated.descriptors import need_shared, shared_file
from nnapi.drivers.isolated.plain_values import of_bytes
from nnapi.errors import BadDataError, need
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape

KEPT = 1 << 20
"""Bytes up to which a channel keeps an arena for its next message."""
ALIGNED = 64
"""Bytes to which everything in an arena is aligned."""

Place = tuple[int, Shape]
"""The offset of an array, and its shape."""


def round_up(nbytes: int) -> int:
    """The number of bytes rounded up, so that what follows is aligned."""
    return nbytes + -nbytes % ALIGNED


class Arena:
    """One side's mapping. The descriptor stays the caller's and may be closed."""

    def __init__(self, descriptor: int, size: int) -> None:
        need(size > 0, f"an arena of {size} bytes", BadDataError)
        need_shared(descriptor, size)
        self.size = size
        self._bytes = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)

    def view(self, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """An array of the arena; BadDataError where it has no such place."""
        shape = tuple(map(int, shape))
        length = math.prod(shape) * dtype.itemsize
        inside = min(shape, default=0) >= 0 and 0 <= offset <= self.size - length and not offset % ALIGNED
        need(inside, f"{shape} at {offset} is not in an arena of {self.size} bytes", BadDataError)
        return self._bytes[offset : offset + length].view(dtype).reshape(shape)

    def views(self, model: Model, inputs: Sequence[Place], outputs: Sequence[Place]) -> tuple[list[Array], list[Array]]:
        """The inputs and the outputs of a model at those places."""
        made = []
        for indices, places in ((model.inputs, inputs), (model.outputs, outputs)):
            types = [model.operands[index].type for index in indices]
            made.append([self.view(*place, type.dtype) for place, type in zip(places, types, strict=True)])
        return made[0], made[1]


@contextmanager
def new_arena(size: int) -> Iterator[tuple[Arena, int]]:
    """An arena, and its descriptor for the other side while the ``with`` block goes on."""
    descriptor = shared_file(size, "nnapi-arena")
    try:
        yield Arena(descriptor, size), descriptor
    finally:
        os.close(descriptor)


def copy_in(arena: Arena | None, arrays: Sequence[Array | None], free: int) -> tuple[list[Place | None] | None, int]:
    """Copy arrays into the arena, one behind the other from ``free`` on. Return their places and where the last one
    ends; None for the places, and copies nothing, where the arena is smaller."""
    places: list[Place | None] = []
    at = free
    for array in arrays:
        places.append(None if array is None else (at, array.shape))
        at += 0 if array is None else round_up(array.nbytes)
    if arena is None or at > arena.size:
        return None, at
    for array, place in zip(arrays, places, strict=True):
        if array is not None and place is not None:
            data = of_bytes(array)
            arena.view(place[0], data.shape, data.dtype)[...] = data
    return places, at
