"""Pauses of long background work: it rests between its steps, if runs of the program need the processors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_rest: ContextVar[Callable[[], None] | None] = ContextVar("rest", default=None)


def pause() -> None:
    """Let the background work that calls this rest, if it should. Other work goes on at once."""
    if rest := _rest.get():
        rest()


@contextmanager
def resting_by(rest: Callable[[], None] | None) -> Iterator[None]:
    """Call ``rest`` at each pause within; with None, work within has no pauses."""
    token = _rest.set(rest)
    try:
        yield
    finally:
        _rest.reset(token)
