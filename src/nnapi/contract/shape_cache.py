"""A cache of compilations of one model for many input shapes, bounded by their estimated size."""

import math
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable
from typing import Generic, TypeVar

from nnapi.model.lazy_model import LazyModel
from nnapi.model.model import Model, constants
from nnapi.model.operand import Shape

MOST_BYTES, OVERHEAD = 1 << 30, 1 << 20
"""The maximum size of one cache, and the size of a compilation without constants and values."""
LEAST_SHAPES = 4
"""Number of objects, the most recently used, that are cached whatever their size."""
VALUES = 16
"""The assumed bytes of the values inside a model for each element of its inputs: four times as much as floats take."""

K = TypeVar("K")
T = TypeVar("T")


def estimate_size(model: Model, shapes: Iterable[Shape | None]) -> int:
    """Return the estimated bytes of a compilation for input shapes.

    Engines have copies of constants. Those of a model from a cache, which is not described, are as large as its file.
    """
    size = OVERHEAD + VALUES * sum(math.prod(shape) for shape in shapes if shape is not None)
    if isinstance(model, LazyModel) and not model.is_described:
        return size + (0 if model.origin is None else model.origin.file_size)
    return size + sum(array.nbytes for array in constants(model))


class ShapeCache(Generic[K, T]):
    """Objects by key; the most recently used is last. One thread may use it at a time."""

    def __init__(self, size_of: Callable[[K, T], int], most_bytes: int | None = None) -> None:
        """``most_bytes`` is the maximum size, by default MOST_BYTES."""
        self._size_of, self._most_bytes = size_of, most_bytes
        self._made: OrderedDict[K, T] = OrderedDict()
        self._sizes: dict[K, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._made)

    def __contains__(self, key: K) -> bool:
        return key in self._made

    def items(self) -> ItemsView[K, T]:
        return self._made.items()

    def values(self) -> list[T]:
        return list(self._made.values())

    def get(self, key: K) -> T | None:
        """Return an object, which becomes the most recently used; None if it is missing."""
        if key not in self._made:
            return None
        self._made.move_to_end(key)
        return self._made[key]

    def keep(self, key: K, made: T) -> list[T]:
        """Add an object, or replace that of the key. Return the dropped objects, if the cache was too large."""
        self._size -= self._sizes.get(key, 0)
        self._made[key] = made
        self._made.move_to_end(key)
        self._sizes[key] = self._size_of(key, made)
        self._size += self._sizes[key]
        dropped = []
        while self._size > (self._most_bytes or MOST_BYTES) and len(self._made) > LEAST_SHAPES:
            oldest, old = self._made.popitem(last=False)
            self._size -= self._sizes.pop(oldest)
            dropped.append(old)
        return dropped

    def clear(self) -> list[T]:
        """Remove all objects, and return them."""
        made = self.values()
        self._made.clear()
        self._sizes.clear()
        self._size = 0
        return made
