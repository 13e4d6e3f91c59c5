"""The queue of a device: a limit of concurrent executions. Others wait, ordered by priority, then arrival."""

import itertools
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakSet

from nnapi.codes import PriorityCode
from nnapi.errors import MissedDeadlinePersistentError
from nnapi.locks import make_lock

A = TypeVar("A")
T = TypeVar("T")


class DeviceQueue:
    """A queue with ``slots``. Free slots need no lock, because a list's pop and append are atomic."""

    def __init__(self, slots: int) -> None:
        self._free: list[None] = [None] * slots
        self._lock = make_lock()
        self._waiting: list[tuple[int, int, threading.Event]] = []
        self._arrivals = itertools.count()
        self._slots = slots
        _queues.add(self)

    def enter(self, priority: PriorityCode, deadline: int | None = None) -> None:
        """Take a slot; raise MissedDeadlinePersistentError if none is free before ``deadline``, in monotonic ns."""
        if self._waiting:
            self._wait(priority, deadline)
            return
        try:
            self._free.pop()
        except IndexError:
            self._wait(priority, deadline)

    def leave(self) -> None:
        self._free.append(None)
        if self._waiting:  # a thread that comes later sees the free slot
            with self._lock:
                self._call()

    def in_turn(self, call: Callable[[A], T], priority: PriorityCode, check: Callable[[T], bool]) -> Callable[[A], T]:
        """Return a function that calls ``call`` in a slot; :meth:`enter` and :meth:`leave` are inlined for speed.

        ``check`` is called with each result until it returns true.
        """
        pop, append, waiting = self._free.pop, self._free.append, self._waiting
        is_checked = False

        def wait_and_call(given: A) -> T:
            nonlocal is_checked
            try:
                if waiting:
                    self._wait(priority, None)
                else:
                    pop()
            except IndexError:
                self._wait(priority, None)
            try:
                result = call(given)
                if not is_checked:
                    is_checked = check(result)
                return result
            finally:
                append(None)
                if waiting:
                    with self._lock:
                        self._call()

        return wait_and_call

    def _wait(self, priority: PriorityCode, deadline: int | None) -> None:
        called = threading.Event()
        ticket = (-priority, next(self._arrivals), called)
        with self._lock:
            self._waiting.append(ticket)
            self._call()
        if not called.wait(None if deadline is None else max(0.0, (deadline - time.monotonic_ns()) / 1e9)):
            self._give_up(ticket)

    def _call(self) -> None:
        """Give free slots to waiting executions. The caller holds the lock."""
        while self._waiting:
            try:
                self._free.pop()
            except IndexError:
                return
            first = min(self._waiting)
            self._waiting.remove(first)
            first[2].set()

    def _give_up(self, ticket: tuple[int, int, threading.Event]) -> None:
        with self._lock:
            if ticket[2].is_set():  # it got a slot just in time
                return
            self._waiting.remove(ticket)
        raise MissedDeadlinePersistentError("the time limit passed while others were computing")

    def reset(self) -> None:
        """Free all slots in a forked child, where the threads that held them or waited do not exist."""
        self._free[:] = [None] * self._slots
        self._waiting.clear()


_queues: WeakSet[DeviceQueue] = WeakSet()


def _reset_all() -> None:
    for queue in list(_queues):
        queue.reset()


os.register_at_fork(after_in_child=_reset_all)
