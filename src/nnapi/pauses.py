"""Pauses of long background work: it rests between its steps, if runs of the program need the processors, and leaves
them the interpreter."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SWITCH = 2e-4
"""Seconds that a run waits at most for the interpreter while background work goes on. Python's default is 5 ms, many
times the length of a short run."""

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


@contextmanager
def switch_often() -> Iterator[None]:
    """Let other threads have the interpreter soon, unless the program has set the interval."""
    before = sys.getswitchinterval()
    if before <= SWITCH:
        yield
        return
    sys.setswitchinterval(SWITCH)
    during = sys.getswitchinterval()
    try:
        yield
    finally:
        if sys.getswitchinterval() == during:
            sys.setswitchinterval(before + 5e-7)  # Python cuts it to microseconds
