"""A sealed memory file with the inputs and outputs of a run. The application and the driver's process map it."""

import math
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nnapi.drivers.isolated.descriptors import need_shared, shared_file
from nnapi.errors import BadDataError, need
from nnapi.model.memory import view_bytes
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape

KEPT = 1 << 20
"""Maximum size in bytes of an arena that a channel keeps for its next message."""
ALIGNED = 64

Location = tuple[int, Shape]
"""Offset in bytes and shape of an array in an arena."""


def round_up(nbytes: int) -> int:
    return nbytes + -nbytes % ALIGNED


class Arena:
    """A mapping of an arena by one side. The caller may close the descriptor."""

    def __init__(self, descriptor: int, size: int) -> None:
        need(size > 0, f"an arena of {size} bytes", BadDataError)
        need_shared(descriptor, size)
        self.size = size
        self._bytes = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)

    def view(self, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return an array in the arena; raise BadDataError if it is not inside."""
        shape = tuple(map(int, shape))
        length = math.prod(shape) * dtype.itemsize
        inside = min(shape, default=0) >= 0 and 0 <= offset <= self.size - length and not offset % ALIGNED
        need(inside, f"{shape} at {offset} is not in an arena of {self.size} bytes", BadDataError)
        return self._bytes[offset : offset + length].view(dtype).reshape(shape)

    def views(
        self, model: Model, inputs: Sequence[Location], outputs: Sequence[Location]
    ) -> tuple[list[Array], list[Array]]:
        made = []
        for indices, locations in ((model.inputs, inputs), (model.outputs, outputs)):
            types = [model.operands[index].type for index in indices]
            made.append([self.view(*location, type.dtype) for location, type in zip(locations, types, strict=True)])
        return made[0], made[1]


@contextmanager
def new_arena(size: int) -> Iterator[tuple[Arena, int]]:
    """Make an arena; yield it with its descriptor for the other side, which is closed after the block."""
    descriptor = shared_file(size, "nnapi-arena")
    try:
        yield Arena(descriptor, size), descriptor
    finally:
        os.close(descriptor)


def copy_in(arena: Arena | None, arrays: Sequence[Array | None], free: int) -> tuple[list[Location | None] | None, int]:
    """Copy arrays into an arena, from offset ``free`` on. Return the arrays' locations and the end of the last. If the
    arena is too small or None, copy nothing and return None as the locations."""
    locations: list[Location | None] = []
    at = free
    for array in arrays:
        locations.append(None if array is None else (at, array.shape))
        at += 0 if array is None else round_up(array.nbytes)
    if arena is None or at > arena.size:
        return None, at
    for array, location in zip(arrays, locations, strict=True):
        if array is not None and location is not None:
            data = view_bytes(array)
            arena.view(location[0], data.shape, data.dtype)[...] = data
    return locations, at
