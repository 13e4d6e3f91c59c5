"""Results of a run that are inputs of the next."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import numpy as np

from nnapi.model.operand import Array
from nnapi.restarting import copy_to

Pairs: TypeAlias = tuple[tuple[memoryview, memoryview], ...]
WHOLE = slice(None)


def bind_copies_in_python(pairs: Pairs) -> Callable[[], None]:
    """Return a function that copies to the first memoryview of each pair the bytes of the second."""
    return partial(_copy_pairs, pairs)


def _copy_pairs(pairs: Pairs) -> None:
    for target, source in pairs:
        target[WHOLE] = source


BindCopies: TypeAlias = Callable[[Pairs], Callable[[], None]]
bind_copies: BindCopies = bind_copies_in_python
with suppress(ImportError):  # pip found no C compiler
    from nnapi.runtime._copies import bind_copies as bind_copies_in_c

    bind_copies = bind_copies_in_c


class Feedback:
    """Copies the last results of each run to ``targets``, inputs of the next run.

    Most devices return the same list again, with the same arrays. Callers then inline :meth:`take`: if the results are
    ``seen``, they call ``copy`` and return ``others``.
    """

    __slots__ = ("copy", "others", "seen", "targets")

    def __init__(self, targets: Sequence[Array]) -> None:
        self.targets = targets
        self.seen: list[Array] | None = None
        """The results that ``copy`` copies; ``others`` are those before."""
        self.others: list[Array] = []
        self.copy: Callable[[], None] = bind_copies(())

    def take(self, results: list[Array]) -> list[Array]:
        """Copy the last results. Return those before."""
        if results is self.seen:
            self.copy()
            return self.others
        count = len(results) - len(self.targets)
        new = results[count:]
        copy_to(self.targets, new)
        if all(array.flags.c_contiguous for array in (*self.targets, *new)):
            self.seen, self.others = results, results[:count]
            self.copy = bind_copies(tuple(zip(map(_bytes, self.targets), map(_bytes, new), strict=True)))
        return results[:count]


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
