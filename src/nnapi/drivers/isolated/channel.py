"""A channel between an application and a driver's process, for one run at a time: a socket for messages, and a shared
page. A run without a message changes a word of the page. The other side spins on that word, then sleeps until its
eventfd (the bell) wakes it."""

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
from typing import Any, NamedTuple

from nnapi.drivers.isolated.adaptive_spin import AdaptiveSpin
from nnapi.drivers.isolated.arena import Arena
from nnapi.drivers.isolated.descriptors import shared_file
from nnapi.drivers.isolated.protocol import send
from nnapi.model.operand import Array

SIZE = mmap.PAGESIZE
REQUEST, BINDING = 0, 1
"""Words that the application writes: number of the run, number of the binding to run."""
ANSWER, STATUS = 8, 9
"""Words that the driver's process writes: number of the finished run, its status."""
ASLEEP = {"application": 16, "driver": 24}
"""The word that a side sets while it sleeps, so that the other rings its bell. Each side has a cache line for it."""
PROCESSOR = {"application": 2, "driver": 10}
DONE, FAILED = 0, 1

SPIN = 20_000
"""Minimum nanoseconds of a spin, if there is a second processor that can change the page."""
BURST_SPIN = 100_000
READS = 64
"""Reads of a word between two reads of the clock; they take about 2 µs."""

BETWEEN_MOVES = 10_000_000
"""Minimum nanoseconds between two changes of the processor, each of which costs as much as some wake-ups."""

LONGEST = 1e9
"""Maximum milliseconds of a call of poll: eleven days."""

IS_WEAK = platform.machine() not in ("x86_64", "AMD64", "i686")
"""Whether the processor may reorder accesses to memory, so that more fences are needed."""
ALONE = len(os.sched_getaffinity(0)) < 2

_sched_getcpu = ctypes.CDLL(None).sched_getcpu


class Channel:
    """One side of a channel: ``side`` is "application" or "driver". It owns the descriptors."""

    def __init__(self, side: str, connection: socket.socket, page: int, bell: int, other_bell: int) -> None:
        """``bell`` wakes this side, ``other_bell`` the other; ``page`` is mapped, and its descriptor closed."""
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
        """Spins by the other side's state at the last message: a side that slept takes longer to answer."""
        self._spin = self._spin_for_awake
        self._is_closed = False

    def watch(self, descriptor: int) -> None:
        """Let waits also end if ``descriptor`` becomes readable."""
        self._poll.register(descriptor, select.POLLIN)

    def tell(self, word: int, value: int) -> None:
        """Write a word of the page, after everything written before, and wake the other side if it sleeps."""
        words, release, acquire = self.words, self._release, self._acquire
        if IS_WEAK:
            release()
            acquire()
        words[word] = value
        release()
        acquire()
        if words[self._other_asleep]:
            self._spin = self._spin_for_woken
            words[self._processor] = current_processor()
            os.eventfd_write(self._other_bell, 1)
        else:
            self._spin = self._spin_for_awake

    def _fence(self) -> None:
        """Order memory accesses. In Python, releasing and acquiring a lock acts as a barrier."""
        self._release()
        self._acquire()

    def wait(self, word: int, old: int, spin: int = SPIN, end: float | None = None) -> Sequence[int] | None:
        """Wait until a word differs from ``old``; then return an empty sequence. Return other readable descriptors if
        there are any, or None at ``end`` (seconds of the monotonic clock). With ``spin`` 0, sleep at once."""
        if self.words[word] == old:
            begin = time.monotonic_ns()
            if not (spin and not ALONE and self._spin_until_changed(word, old, begin, spin)):
                found = self._sleep(word, old, end)
                self._spin.note_sleep(time.monotonic_ns() - begin)
                return found
        if IS_WEAK:
            self._fence()
        return ()

    def _spin_until_changed(self, word: int, old: int, begin: int, least: int) -> bool:
        words, clock, spin = self.words, time.monotonic_ns, self._spin
        now, end = begin, begin + spin.budget(least)
        while now < end:
            for _ in range(READS):
                if words[word] != old:
                    spin.note_hit(now - begin)
                    return True
            now = clock()
            # Polling also lets other threads of this process run.
            if now - begin > SPIN and self._poll.poll(0):
                break
        if end > begin:
            spin.note_miss()
        return False

    def _sleep(self, word: int, old: int, end: float | None) -> Sequence[int] | None:
        words = self.words
        words[self._asleep] = 1
        self._fence()
        try:
            while words[word] == old:
                ready = self._poll.poll(milliseconds(end))
                if not ready:
                    return None
                others = self._others(ready)
                if others and words[word] == old:
                    return others
            self._fence()
            if self._moves and words[self._other_processor] == (processor := current_processor()):
                self._leave(processor)
            return ()
        finally:
            words[self._asleep] = 0

    def _leave(self, processor: int) -> None:
        """Move to another processor than the other side's. While both share one, spinning is useless. On virtual
        machines, Linux may wake both on the same processor although another is idle."""
        now = time.monotonic_ns()
        if now < self._moved + BETWEEN_MOVES:
            return
        self._moved = now
        allowed = os.sched_getaffinity(0)
        if others := allowed - {processor}:
            with suppress(OSError):  # the others may be offline
                os.sched_setaffinity(0, others)
                os.sched_setaffinity(0, allowed)

    def wait_for_message(self, end: float | None = None) -> Sequence[int] | None:
        """Return the readable descriptors except the bell; None at ``end``."""
        while ready := self._poll.poll(milliseconds(end)):
            if others := self._others(ready):
                return others
        return None

    def _others(self, ready: list[tuple[int, int]]) -> list[int]:
        """Reset the bell; return the other descriptors."""
        others = [descriptor for descriptor, _ in ready]
        if self._bell in others:
            others.remove(self._bell)
            with suppress(BlockingIOError):
                os.eventfd_read(self._bell)
        return others

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.socket.close()
            os.close(self._bell)
            os.close(self._other_bell)


class Binding(NamedTuple):
    """A prepared run without messages: its number, and views of the arena with its inputs and outputs."""

    number: int
    inputs: list[Array]
    outputs: list[Array]


class ClientChannel(Channel):
    """The application's side of a channel, with the bindings that the driver's process knows."""

    def __init__(self, connection: socket.socket, page: int, bell: int, other_bell: int) -> None:
        super().__init__("application", connection, page, bell, other_bell)
        self.bindings: dict[Any, Binding | None] = {}
        """By number of the prepared model and input shapes; None if the driver has no fast path."""
        self.arena: Arena | None = None
        self.runs = 0
        self.is_lost = False
        """Whether the channel is unusable, maybe until a late answer has been read."""


def open_channel(connection: socket.socket, end: float | None = None) -> ClientChannel:
    """Open a channel and send it to the driver's process. ConnectionError if the process has ended; TimeoutError if it
    does not read until ``end`` (seconds of the monotonic clock)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    page = shared_file(SIZE, "nnapi-channel")
    bells = bell(), bell()
    try:
        while True:
            try:
                send(connection, {"kind": "channel"}, [theirs.fileno(), page, *bells])
                break
            except BlockingIOError:
                _wait_until_writable(connection, end)
    except OSError as error:
        ours.close()
        for descriptor in (page, *bells):
            os.close(descriptor)
        raise error if isinstance(error, TimeoutError) else ConnectionError(str(error)) from None
    finally:
        theirs.close()
    return ClientChannel(ours, page, bells[1], bells[0])


def _wait_until_writable(connection: socket.socket, end: float | None) -> None:
    poll = select.poll()
    poll.register(connection, select.POLLOUT)
    if not poll.poll(milliseconds(end)):
        raise TimeoutError("the other side reads no messages")


def milliseconds(end: float | None) -> float | None:
    return None if end is None else min(max(0.0, end - time.monotonic()) * 1e3, LONGEST)


def current_processor() -> int:
    return max(0, int(_sched_getcpu()))


def bell() -> int:
    return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
