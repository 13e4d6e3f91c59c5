"""Turns on a device: as many executions at a time as it has room for, by priority, then by arrival."""

from __future__ import annotations

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

T = TypeVar("T")


class Turnstile:
    """Lets ``room`` executions in at once; of those that wait, the one of the highest priority first.

    A free place is taken and given back without the lock: taking from a list and appending to it are atomic.
    """

    def __init__(self, room: int) -> None:
        self._free: list[None] = [None] * room
        self._lock = make_lock()
        self._waiting: list[tuple[int, int, threading.Event]] = []
        self._arrivals = itertools.count()
        self._room = room
        _turnstiles.add(self)

    def enter(self, priority: PriorityCode, deadline: int | None = None) -> None:
        """Take a place. MissedDeadlinePersistentError when none was free before the deadline (monotonic ns)."""
        if self._waiting:
            self._wait(priority, deadline)
            return
        try:
            self._free.pop()
        except IndexError:
            self._wait(priority, deadline)

    def leave(self) -> None:
        """Give the place back."""
        self._free.append(None)
        if self._waiting:  # whoever begins to wait from now on sees the free place
            with self._lock:
                self._call()

    def in_turn(self, run: Callable[[], T], priority: PriorityCode) -> Callable[[], T]:
        """A function that runs when a place is free, without the calls of the others, for what takes microseconds."""
        pop, append, waiting = self._free.pop, self._free.append, self._waiting

        def wait_and_run() -> T:
            try:
                if waiting:
                    self._wait(priority, None)
                else:
                    pop()
            except IndexError:
                self._wait(priority, None)
            try:
                return run()
            finally:
                append(None)
                if waiting:
                    with self._lock:
                        self._call()

        return wait_and_run

    def _wait(self, priority: PriorityCode, deadline: int | None) -> None:
        called = threading.Event()
        ticket = (-priority, next(self._arrivals), called)
        with self._lock:
            self._waiting.append(ticket)
            self._call()
        if not called.wait(None if deadline is None else max(0.0, (deadline - time.monotonic_ns()) / 1e9)):
            self._give_up(ticket)

    def _call(self) -> None:
        """Give free places to those who wait; the lock is held."""
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
            if ticket[2].is_set():  # called in the last moment: the place is ours
                return
            self._waiting.remove(ticket)
        raise MissedDeadlinePersistentError("the time limit passed while others were computing")

    def reset(self) -> None:
        """Let everybody in again: those who held a place or waited for one do not exist in a forked child."""
        self._free[:] = [None] * self._room
        self._waiting.clear()


_turnstiles: WeakSet[Turnstile] = WeakSet()


def _reset_all() -> None:
    for turnstile in list(_turnstiles):
        turnstile.reset()


os.register_at_fork(after_in_child=_reset_all)
