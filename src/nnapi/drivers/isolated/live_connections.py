"""The connections of this process, which its exit and its forks must release."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any

connections: weakref.WeakSet[Any] = weakref.WeakSet()


def _forget_all() -> None:
    for connection in list(connections):
        if connection.is_alive:
            connection.forget()


def _leave_all() -> None:
    for connection in list(connections):
        connection.leave()


atexit.register(_leave_all)
os.register_at_fork(after_in_child=_forget_all)
