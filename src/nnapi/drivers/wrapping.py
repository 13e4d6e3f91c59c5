"""A prepared model around another one: what it does not change, it forwards. Written once, for drivers and runtime."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.drivers.base import Bound, Inference, Outcome, Prepared, Request, Sessions
from nnapi.model.operand import Shape


class Wrapping:
    """Forwards every method of a Prepared to ``inner``; wrappers override those that they change."""

    def __init__(self, inner: Prepared) -> None:
        self.inner = inner

    def wrap(self, session: Prepared) -> Prepared:
        """Return the same wrapper around a session of ``inner``."""
        return session

    def execute(self, request: Request) -> Outcome:
        return self.inner.execute(request)

    def session(self) -> Prepared:
        """Return a Prepared for one caller's runs, one at a time."""
        return self.wrap(open_session(self.inner))

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        return find_direct(self.inner, shapes, borrow)

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        return find_bound(self.inner, shapes)

    def close(self) -> None:
        self.inner.close()


class Borrowed(Wrapping):
    """A Prepared that somebody else closes; its memory for inputs is everybody's, so none is bound."""

    def bind(self, shapes: Sequence[Shape]) -> None:
        return None

    def close(self) -> None:
        """Leave it open for its owner."""


def open_session(prepared: Prepared) -> Prepared:
    """Return a session that its caller closes: one of the Prepared's own, else what everybody uses, borrowed."""
    return prepared.session() if isinstance(prepared, Sessions) else Borrowed(prepared)


def find_direct(prepared: Prepared, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
    """Return the fast path for inputs of these shapes, where there is one."""
    direct = getattr(prepared, "direct", None)  # isinstance of a protocol takes longer than some models
    return None if direct is None else direct(shapes, borrow)


def find_bound(prepared: Prepared, shapes: Sequence[Shape]) -> Bound | None:
    """Return the device's memory for inputs, where it has any."""
    bind = getattr(prepared, "bind", None)
    return None if bind is None else bind(shapes)
