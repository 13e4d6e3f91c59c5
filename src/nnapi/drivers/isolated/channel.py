"""A channel: what one run at a time takes from an application to the process of a driver and back.

It has a socket for messages, and a page of memory with numbers that both sides see. A run that needs no message is a
number in the page that changes; who waits for that looks at it for some microseconds, and then sleeps until the other
side rings its bell. The other side's end wakes it too.
"""

from __future__ import annotations

import mmap
import os
import platform
import select
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from nnapi.drivers.isolated.adaptive_spin import AdaptiveSpin

SIZE = mmap.PAGESIZE
REQUEST, BINDING = 0, 1
"""What the application writes: the number of the run, and what is to be run."""
ANSWER, STATUS, NANOSECONDS = 8, 9, 10
"""What the driver's process writes: the number of the run that has ended, how, and how long it took there."""
ASLEEP = {"application": 16, "driver": 24}
"""Whether that side sleeps, so that the other must ring. Each group of numbers has a cache line of its own."""
DONE, FAILED = 0, 1

SPIN = 20_000
"""Nanoseconds that a side looks at the page before it sleeps, where there is a second processor to change it."""
WAKING = 20_000
"""Nanoseconds more where the other side slept, and needs a processor first."""
LONG_SPIN = 100_000
"""The same within a burst."""
LOOKS = 64
"""Looks at the page between two at the clock: two microseconds."""

LONGEST = 1e9
"""Milliseconds that the system can be asked to wait for: eleven days, which nobody does."""

IS_WEAK = platform.machine() not in ("x86_64", "AMD64", "i686")
"""Whether this processor lets writes to memory overtake one another, and reads."""
ALONE = len(os.sched_getaffinity(0)) < 2


class Channel:
    """One side of a channel; ``side`` is the key of :data:`ASLEEP`. It takes over the descriptors."""

    def __init__(self, side: str, connection: socket.socket, page: int, bell: int, other_bell: int) -> None:
        """``bell`` is the one that this side hears; ``page`` is closed, being mapped."""
        self.socket = connection
        try:
            self._page = mmap.mmap(page, SIZE)
        finally:
            os.close(page)
        self.words = memoryview(self._page).cast("Q")
        self._bell, self._other_bell = bell, other_bell
        self._asleep = ASLEEP[side]
        (self._other_asleep,) = (place for name, place in ASLEEP.items() if name != side)
        self._poll = select.poll()
        for descriptor in (bell, connection.fileno()):
            self._poll.register(descriptor, select.POLLIN)
        fence = threading.Lock()
        fence.acquire()
        self._release, self._acquire = fence.release, fence.acquire
        self._spin_for_awake, self._spin_for_woken = AdaptiveSpin(), AdaptiveSpin()
        """For waits after the other side was told something: who slept has to get a processor first."""
        self._spin = self._spin_for_awake
        self._is_closed = False

    def watch(self, descriptor: int) -> None:
        """Wake up for that descriptor too."""
        self._poll.register(descriptor, select.POLLIN)

    def tell(self, place: int, value: int) -> None:
        """Change a number of the page when everything written before can be seen, and wake the other side."""
        words, release, acquire = self.words, self._release, self._acquire
        if IS_WEAK:
            release()
            acquire()
        words[place] = value
        release()
        acquire()
        if words[self._other_asleep]:
            self._spin = self._spin_for_woken
            os.eventfd_write(self._other_bell, 1)
        else:
            self._spin = self._spin_for_awake

    def _fence(self) -> None:
        """Let no access to memory cross this line. A lock that is given back and taken again is the barrier that
        Python has."""
        self._release()
        self._acquire()

    def wait(self, place: int, old: int, spin: int = SPIN, end: float | None = None) -> Sequence[int] | None:
        """Return when the number is no longer the ``old`` one: nothing. Else the descriptors that are ready, or None at
        the ``end`` (seconds of the monotonic clock)."""
        if self.words[place] == old and not (spin and not ALONE and self._look(place, old, spin)):
            return self._sleep(place, old, end)
        if IS_WEAK:
            self._fence()
        return ()

    def _look(self, place: int, old: int, spin: int) -> bool:
        """Whether the number changes within so many nanoseconds, as far as it is worth looking."""
        if not self._spin.is_due():
            return False
        words, clock = self.words, time.monotonic_ns
        end = clock() + spin + (WAKING if self._spin is self._spin_for_woken else 0)
        while True:
            for _ in range(LOOKS):
                if words[place] != old:
                    self._spin.note(True)
                    return True
            # Polling also lets other threads of this process run.
            if clock() >= end or (spin > SPIN and self._poll.poll(0)):
                self._spin.note(False)
                return False

    def _sleep(self, place: int, old: int, end: float | None) -> Sequence[int] | None:
        words = self.words
        words[self._asleep] = 1
        self._fence()
        try:
            while words[place] == old:
                ready = self._poll.poll(milliseconds(end))
                if not ready:
                    return None
                others = self._others(ready)
                if others and words[place] == old:
                    return others
            self._fence()
            return ()
        finally:
            words[self._asleep] = 0

    def wait_for_message(self, end: float | None = None) -> Sequence[int] | None:
        """The descriptors that are ready, the bell aside; None at the ``end``."""
        while ready := self._poll.poll(milliseconds(end)):
            if others := self._others(ready):
                return others
        return None

    def _others(self, ready: list[tuple[int, int]]) -> list[int]:
        """The descriptors but the bell, which is silenced."""
        others = [descriptor for descriptor, _ in ready]
        if self._bell in others:
            others.remove(self._bell)
            with suppress(BlockingIOError):
                os.eventfd_read(self._bell)
        return others

    def close(self) -> None:
        """Close the descriptors; the page goes with the last reference."""
        if not self._is_closed:
            self._is_closed = True
            self.socket.close()
            os.close(self._bell)
            os.close(self._other_bell)


def milliseconds(end: float | None) -> float | None:
    """How long :func:`select.poll` has to wait for that end."""
    return None if end is None else min(max(0.0, end - time.monotonic()) * 1e3, LONGEST)


def bell() -> int:
    """An eventfd that is silent."""
    return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
