"""Locks and turns that are free in a forked child."""

import os
import threading
from weakref import WeakSet

_locks: WeakSet[threading.Lock] = WeakSet()


def make_lock() -> threading.Lock:
    """Make a lock that is free in a forked child, even if another thread held it at the fork."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


class Turn:
    """Exclusive use, for which nobody waits; free in a forked child.

    ``take`` raises IndexError if another thread has the turn; ``give(None)`` gives it back. They are methods of a list,
    which are atomic and three times faster than those of a lock.
    """

    def __init__(self) -> None:
        self._free: list[None] = [None]
        self.take, self.give = self._free.pop, self._free.append
        _turns.add(self)

    def reset(self) -> None:
        self._free[:] = [None]


_turns: WeakSet[Turn] = WeakSet()


def _release_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]
    for turn in list(_turns):
        turn.reset()


os.register_at_fork(after_in_child=_release_all)
