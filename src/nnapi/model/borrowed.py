"""Memory of a client that constants of models lie in, and that the client takes back."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from nnapi.locks import make_lock
from nnapi.model.parts import Graph
from nnapi.model.pickling import Description, build, describe


class BorrowedMemory:
    """Memory that models may read until :meth:`revoke`. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = make_lock()
        self._is_valid = True

    def revoke(self) -> None:
        """Return when nothing copies from the memory; from then on nothing does. The client may free it."""
        with self._lock:
            self._is_valid = False

    def copy(self, model: Graph) -> list[Description] | None:
        """Describe a finished model, with copies of its constants; None after :meth:`revoke`."""
        with self._lock:
            if not self._is_valid:
                return None
            return [
                each._replace(operands=[(*operand[:-1], _copy(operand[-1])) for operand in each.operands])
                for each in describe(model)
            ]


class Borrower(Graph, Protocol):
    """A model, whose constants may lie in borrowed memory."""

    borrowed: BorrowedMemory | None


B = TypeVar("B", bound=Borrower)


def hold(model: B) -> B | None:
    """Return a model that a thread may read for as long as it likes: the given one, or a copy if its constants lie in
    borrowed memory. None if the client has taken that back."""
    if model.borrowed is None:
        return model
    descriptions = model.borrowed.copy(model)
    return None if descriptions is None else build(type(model), descriptions)


def _copy(value: object) -> object:
    """Copy the array of a constant; other values stay as they are."""
    return value.copy() if isinstance(value, np.ndarray) else value
