"""Work on a thread of its own that ends before the process does."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from contextvars import copy_context

from nnapi.drivers.base import Prepared
from nnapi.runtime.planning.plan import Run

LOOK, LONGEST = 0.25, 4.0
"""Seconds in which the process is watched, and for how long at most where it was busy again and again."""
IDLE = 0.1
"""Share of a processor's time that a process takes at most that counts as idle."""


class StoppedError(Exception):
    """Nobody wants the work any more."""


class Background:
    """What :func:`do` does, begun at once; it is to look at this object from time to time."""

    def __init__(self, do: Callable[[Background], None], name: str) -> None:
        self._stopped = threading.Event()
        target = copy_context().run
        self._thread = threading.Thread(target=target, args=(self._work, do), name=name, daemon=True)
        running.add(self)
        self._thread.start()

    def stop(self) -> None:
        """Let it end after the step that it is at."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended, after that many seconds at most."""
        self._thread.join(timeout)
        return not self.is_alive

    def sleep(self, seconds: float) -> None:
        """Let time go by; StoppedError where the work is stopped."""
        if self._stopped.wait(seconds):
            raise StoppedError

    def sleep_until_idle(self) -> None:
        """Let time go by until the process has left its processors alone for a moment; StoppedError where the work is
        stopped."""
        moment = LOOK
        while True:
            before = time.process_time()
            self.sleep(moment)
            if time.process_time() - before < IDLE * moment:
                return
            moment = min(2 * moment, LONGEST)

    def guard(self, run: Run, prepared: Prepared) -> Prepared:
        """What is shown each part of a plan that is made ready: StoppedError where the work is stopped."""
        if self.is_stopped:
            prepared.close()
            raise StoppedError
        return prepared

    def _work(self, do: Callable[[Background], None]) -> None:
        try:
            do(self)
        except StoppedError:
            return


running: weakref.WeakSet[Background] = weakref.WeakSet()


def _end() -> None:
    """Leave no thread in an engine while the process ends."""
    for each in list(running):
        each.stop()
    for each in list(running):
        each.wait()


atexit.register(_end)
