"""Locks that are free in a forked child."""

import os
import threading
from weakref import WeakSet

_locks: WeakSet[threading.Lock] = WeakSet()


def make_lock() -> threading.Lock:
    """Make a lock that is free in a forked child, even if another thread held it at the fork."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _release_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_release_all)
