"""A channel: what one run at a time takes from an application to the process of a driver and back.

It has a socket for messages, and a page of memory with numbers that both sides see. A run that needs no message is a
number in the page that changes; who waits for that looks at it for some microseconds, and then sleeps until the other
side rings its bell. The other side's end wakes it too.
"""

from __future__ import annotations

import ctypes
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
"""Words that the application writes: the number of the run, and of the binding to run."""
ANSWER, STATUS = 8, 9
"""Words that the driver's process writes: the number of the run that has ended, and its status."""
ASLEEP = {"application": 16, "driver": 24}
"""Words that say that a side sleeps, so that the other must ring. Each group has a cache line of its own."""
PROCESSOR = {"application": 2, "driver": 10}
"""The number of the processor that a side rang from."""
DONE, FAILED = 0, 1

SPIN = 20_000
"""Nanoseconds that a side looks at the page at least before it sleeps, where a second processor may change it."""
BURST_SPIN = 100_000
"""The same within a burst."""
LOOKS = 64
"""Looks at the page between two at the clock: two microseconds."""

BETWEEN_MOVES = 10_000_000
"""Nanoseconds between two changes of the processor at least, as each takes as long as some wake-ups."""

LONGEST = 1e9
"""Milliseconds that the system can be asked to wait for: eleven days, which nobody does."""

IS_WEAK = platform.machine() not in ("x86_64", "AMD64", "i686")
"""Processors that reorder reads and writes of memory need more fences."""
ALONE = len(os.sched_getaffinity(0)) < 2

_sched_getcpu = ctypes.CDLL(None).sched_getcpu


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
        (other,) = (name for name in ASLEEP if name != side)
        self._asleep, self._other_asleep = ASLEEP[side], ASLEEP[other]
        self._processor, self._other_processor = PROCESSOR[side], PROCESSOR[other]
        self._moves = side == "driver" and not ALONE
        self._moved = 0
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
            words[self._processor] = current_processor()
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
        the ``end`` (seconds of the monotonic clock). 0 for ``spin`` is to sleep at once."""
        if self.words[place] == old:
            begin = time.monotonic_ns()
            if not (spin and not ALONE and self._look(place, old, begin, spin)):
                found = self._sleep(place, old, end)
                self._spin.note_sleep(time.monotonic_ns() - begin)
                return found
        if IS_WEAK:
            self._fence()
        return ()

    def _look(self, place: int, old: int, begin: int, least: int) -> bool:
        """Return whether the number changes while looking is worth it."""
        words, clock, spin = self.words, time.monotonic_ns, self._spin
        now, end = begin, begin + spin.budget(least)
        while now < end:
            for _ in range(LOOKS):
                if words[place] != old:
                    spin.note_hit(now - begin)
                    return True
            now = clock()
            # Polling also lets other threads of this process run.
            if now - begin > SPIN and self._poll.poll(0):
                break
        if end > begin:
            spin.note_miss()
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
            if self._moves and words[self._other_processor] == (processor := current_processor()):
                self._leave(processor)
            return ()
        finally:
            words[self._asleep] = 0

    def _leave(self, processor: int) -> None:
        """Go on on another processor than the one that the other side looks from, in vain for as long as both share
        it. Where processors are virtual, Linux wakes up on the same one who could have another that is idle."""
        now = time.monotonic_ns()
        if now < self._moved + BETWEEN_MOVES:
            return
        self._moved = now
        allowed = os.sched_getaffinity(0)
        if others := allowed - {processor}:
            with suppress(OSError):  # they may have been switched off
                os.sched_setaffinity(0, others)
                os.sched_setaffinity(0, allowed)

    def wait_for_message(self, end: float | None = None) -> Sequence[int] | None:
        """Return the descriptors that are ready, the bell aside; None at the ``end``."""
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
    """Return the milliseconds for :func:`select.poll` until that end."""
    return None if end is None else min(max(0.0, end - time.monotonic()) * 1e3, LONGEST)


def current_processor() -> int:
    """The number of the processor that this thread is on."""
    return max(0, int(_sched_getcpu()))


def bell() -> int:
    """An eventfd that is silent."""
    return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
