"""The connections of this process, to whose processes its end and its forks make a difference."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Protocol


class Live(Protocol):
    """A connection, as far as it is told here."""

    @property
    def is_alive(self) -> bool:
        """Return whether its process has not ended."""

    def forget(self) -> None:
        """Leave the process to the one that this was forked from."""

    def leave(self) -> None:
        """Let the process end when this one has."""


connections: weakref.WeakSet[Live] = weakref.WeakSet()


def _forget_all() -> None:
    for connection in list(connections):
        if connection.is_alive:
            connection.forget()


def _leave_all() -> None:
    for connection in list(connections):
        connection.leave()


atexit.register(_leave_all)
os.register_at_fork(after_in_child=_forget_all)
