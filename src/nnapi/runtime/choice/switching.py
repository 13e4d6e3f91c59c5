"""Turns of threads in the interpreter while the tuner works beside runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH = 2e-4
"""Seconds that a run waits at most for the interpreter while the tuner works. Python's default is 5 ms, many times the
length of a short run."""


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
