"""A prepared model that wraps another one."""

from collections.abc import Sequence

from nnapi.contract.driver import Bound, Inference, Outcome, Prepared, Request, Sessions
from nnapi.model.operand import Shape


class Wrapping:
    """Forwards every method of a Prepared to ``inner``; subclasses override some of them."""

    def __init__(self, inner: Prepared) -> None:
        self.inner = inner

    def wrap(self, session: Prepared) -> Prepared:
        return session

    def execute(self, request: Request) -> Outcome:
        return self.inner.execute(request)

    def session(self) -> Prepared:
        return self.wrap(open_session(self.inner))

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        return find_direct(self.inner, shapes, borrow)

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        return find_bound(self.inner, shapes)

    def close(self) -> None:
        self.inner.close()


class Borrowed(Wrapping):
    """A Prepared that another owner closes. It binds no memory for inputs, because that is shared."""

    def bind(self, shapes: Sequence[Shape]) -> None:
        return None

    def close(self) -> None:
        pass


def open_session(prepared: Prepared) -> Prepared:
    """Return a session for its caller to close: one that the Prepared opens, or else a Borrowed."""
    return prepared.session() if isinstance(prepared, Sessions) else Borrowed(prepared)


def find_direct(prepared: Prepared, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
    """Return the fast path for inputs of these shapes, or None."""
    direct = getattr(prepared, "direct", None)  # isinstance of a protocol takes longer than some models
    return None if direct is None else direct(shapes, borrow)


def find_bound(prepared: Prepared, shapes: Sequence[Shape]) -> Bound | None:
    """Return the device's memory for inputs of these shapes, with a function that runs on it, or None."""
    bind = getattr(prepared, "bind", None)
    return None if bind is None else bind(shapes)
