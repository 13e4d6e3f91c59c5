"""A client's memory that holds constants of models until the client revokes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import numpy as np

from nnapi.garbage_collection import pause_collecting
from nnapi.locks import make_lock
from nnapi.model.graph import Graph
from nnapi.model.pickling import build, describe


class RevokedError(Exception):
    """Raised in a background thread that would read constants after their client has revoked the memory."""


class BorrowedMemory:
    """Memory that models may read until :meth:`revoke`. Thread-safe. Background threads read it in :func:`reading`."""

    def __init__(self) -> None:
        self.lock = make_lock()
        self.is_valid = True

    def revoke(self) -> None:
        """End all access; wait until no background thread reads the memory."""
        self.is_valid = False
        with self.lock:
            pass


class Borrower(Graph, Protocol):
    borrowed: BorrowedMemory | None


B = TypeVar("B", bound=Borrower)


@contextmanager
def reading(model: Borrower) -> Iterator[None]:
    """Let a background thread read a model's constants: :meth:`BorrowedMemory.revoke` waits for the end of the ``with``
    block. RevokedError after it.

    Garbage is not collected meanwhile: the owner of the memory may be garbage, and this thread would wait for itself.
    """
    if model.borrowed is None:
        yield
        return
    with pause_collecting(), model.borrowed.lock:
        if not model.borrowed.is_valid:
            raise RevokedError("the client has freed the model's constants")
        yield


def hold(model: B) -> B | None:
    """Return the model, or a copy if its constants are in borrowed memory; None after :meth:`BorrowedMemory.revoke`."""
    if model.borrowed is None:
        return model
    try:
        with reading(model):
            descriptions = [
                each._replace(operands=[(*operand[:-1], _copy(operand[-1])) for operand in each.operands])
                for each in describe(model)
            ]
    except RevokedError:
        return None
    return build(type(model), descriptions)


def _copy(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else value
