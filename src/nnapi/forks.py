"""Functions that surround a fork, also one in a C program."""

import os
from collections.abc import Callable

Hook = Callable[[], None]

_before: list[Hook] = []
_after: list[Hook] = []


def surround(before: Hook, after: Hook) -> None:
    """Call ``before`` before each fork of the process, then ``after`` in it. Python's forks call them twice if the C
    library has started Python."""
    _before.append(before)
    _after.append(after)
    os.register_at_fork(before=before, after_in_parent=after)


def before_fork() -> None:
    """Do what a fork of the C program needs first."""
    for call in reversed(_before):
        call()


def after_fork() -> None:
    """End what :func:`before_fork` began."""
    for call in _after:
        call()
