"""A client's memory that holds constants of models until the client revokes it."""

from typing import Protocol, TypeVar

import numpy as np

from nnapi.locks import make_lock
from nnapi.model.graph import Graph
from nnapi.model.pickling import Description, build, describe


class BorrowedMemory:
    """Memory that models may read until :meth:`revoke`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = make_lock()
        self._is_valid = True

    def revoke(self) -> None:
        """End all access; wait until no thread copies from the memory."""
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
    borrowed: BorrowedMemory | None


B = TypeVar("B", bound=Borrower)


def hold(model: B) -> B | None:
    """Return the model, or a copy if its constants are in borrowed memory; None after :meth:`BorrowedMemory.revoke`."""
    if model.borrowed is None:
        return model
    descriptions = model.borrowed.copy(model)
    return None if descriptions is None else build(type(model), descriptions)


def _copy(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else value
