"""Work on a thread of its own that ends before the process does."""

from __future__ import annotations

import atexit
import ctypes
import sys
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
INTERVAL = 0.02
"""Seconds between attempts to interrupt a thread: one that is cleaning up is not interrupted again at once."""


class StoppedError(BaseException):
    """Nobody wants the work any more. Not an Exception: who handles what a driver raises must let it pass."""


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

    def interrupt(self) -> None:
        """End it wherever it is: StoppedError is raised in its thread. A call of an engine is waited for, because the
        engine's library is unloaded when the process ends."""
        self.stop()
        while not self.wait(INTERVAL):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(StoppedError)
            )

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
    threads = list(running)
    if threads:
        sys.unraisablehook = _report_unraisable
    for each in threads:
        each.stop()
    for each in threads:
        each.interrupt()


def _report_unraisable(unraisable: sys.UnraisableHookArgs, /) -> None:
    """Report what a finalizer raised, but for an interruption that met the thread in one."""
    if not isinstance(unraisable.exc_value, StoppedError):
        sys.__unraisablehook__(unraisable)


atexit.register(_end)
