"""Forks wait for kernels: OpenBLAS ends its threads before a fork, and a product that they compute then never ends."""

import os
import threading
import time

from nnapi.forks import surround

PATIENCE = 1.0
"""Seconds that a fork waits for one kernel."""
TICK = 0.0005


class Kernels:
    """The threads that run a kernel, each in a ``with`` block."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        """Adding and removing are atomic."""
        self._is_held = False
        self._released = threading.Event()

    def __enter__(self) -> None:
        running, thread = self._running, threading.get_ident()
        running.add(thread)
        while self._is_held:
            running.discard(thread)
            self._released.wait()
            running.add(thread)

    def __exit__(self, *_: object) -> None:
        self._running.discard(threading.get_ident())

    def hold(self) -> None:
        """Keep kernels from beginning, and wait until those of other threads have ended."""
        self._released.clear()
        self._is_held = True
        others, end = self._running - {threading.get_ident()}, time.monotonic() + PATIENCE
        while others & self._running and time.monotonic() < end:
            time.sleep(TICK)

    def release(self) -> None:
        self._is_held = False
        self._released.set()

    def forget(self) -> None:
        """Start anew in a forked child, which has no other threads."""
        self.__init__()  # type: ignore[misc]


kernels = Kernels()
surround(kernels.hold, kernels.release)
os.register_at_fork(after_in_child=kernels.forget)
