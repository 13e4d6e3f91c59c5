"""Earlier forms of :class:`~nnapi.contract.driver.Opens`, which drivers outside of the package may still implement."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from nnapi.contract.driver import Bound, Inference, Prepared
from nnapi.model.operand import Shape


@runtime_checkable
class Sessions(Protocol):
    """An earlier form of :class:`Opens` for exclusive handles; :mod:`nnapi.contract.handles` adapts it."""

    def session(self) -> Prepared:
        """Return a Prepared for one run at a time. Closing it does not close this Prepared."""
        ...


@runtime_checkable
class Direct(Protocol):
    """An earlier form of :attr:`Handle.call`."""

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        """Return the fast path for inputs of these shapes, or None; ``borrow`` is as in a Request."""
        ...


@runtime_checkable
class Binds(Protocol):
    """An earlier form of :attr:`Handle.inputs`, for a session."""

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        """Return memory for inputs of these shapes, in their storage types, none omitted; or None."""
        ...
