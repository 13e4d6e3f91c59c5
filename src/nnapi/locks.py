"""Locks and turns that are free in a forked child, and numbers that several threads draw."""

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


class Numbers:
    """Numbers in sequence, each given once; ``itertools.count`` gives some twice in Pythons without a GIL."""

    def __init__(self, first: int = 1, step: int = 1) -> None:
        self._next, self._step = first, step
        self._lock = make_lock()

    def __next__(self) -> int:
        with self._lock:
            number = self._next
            self._next += self._step
            return number


def _release_all() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]
    for turn in list(_turns):
        turn.reset()


os.register_at_fork(after_in_child=_release_all)
