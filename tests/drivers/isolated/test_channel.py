"""A channel: what one side changes the other sees, awake or asleep, and the other side's end wakes it."""

import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

import pytest

from nnapi.drivers.isolated import channel as channel_module
from nnapi.drivers.isolated.adaptive_spin import MISSES, AdaptiveSpin
from nnapi.drivers.isolated.channel import ANSWER, ASLEEP, REQUEST, SIZE, Channel, bell, open_channel
from nnapi.drivers.isolated.descriptors import shared_file
from nnapi.drivers.isolated.protocol import Body, receive, send
from tests.waiting import count_descriptors

Channels = tuple[Channel, Channel]


@pytest.fixture
def channels() -> Iterator[Channels]:
    """The application's side and the driver's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    page = shared_file(SIZE, "test")
    bells = bell(), bell()
    application = Channel("application", ours, os.dup(page), bells[1], bells[0])
    driver = Channel("driver", theirs, page, os.dup(bells[0]), os.dup(bells[1]))
    yield application, driver
    application.close()
    driver.close()


@pytest.mark.parametrize("spin", [0, channel_module.SPIN, channel_module.BURST_SPIN])
def test_numbers_go_to_and_fro(channels: Channels, spin: int) -> None:
    """Many times, so that each side is met awake and asleep, and on its way between the two."""
    application, driver = channels

    def serve() -> None:
        for number in range(2000):
            assert driver.wait(REQUEST, number, spin) == ()
            driver.tell(ANSWER, driver.words[REQUEST])

    thread = threading.Thread(target=serve)
    thread.start()
    for number in range(1, 2001):
        application.tell(REQUEST, number)
        assert application.wait(ANSWER, number - 1, spin, time.monotonic() + 60) == ()
        assert application.words[ANSWER] == number
    thread.join()
    assert not application.words[ASLEEP["application"]]


def test_nobody_answers(channels: Channels) -> None:
    assert channels[0].wait(ANSWER, 0, 0, time.monotonic()) is None
    assert channels[0].wait_for_message(time.monotonic()) is None


def test_a_bell_that_rang_for_nothing_is_silenced(channels: Channels) -> None:
    application, driver = channels
    driver.words[ASLEEP["application"]] = 1
    driver.tell(ANSWER, 0)
    assert application.wait(ANSWER, 0, 0, time.monotonic() + 0.01) is None


@pytest.mark.parametrize("spin", [0, channel_module.BURST_SPIN])
def test_a_message_and_the_end_wake(channels: Channels, spin: int) -> None:
    application, driver = channels
    descriptor = driver.socket.fileno()
    application.socket.send(b"x")
    assert driver.wait(REQUEST, 0, spin) == [descriptor]
    assert driver.wait_for_message() == [descriptor]
    assert driver.socket.recv(10) == b"x"
    application.close()
    assert driver.wait(REQUEST, 0, spin) == [descriptor]
    assert driver.socket.recv(10) == b""


def test_a_watched_descriptor_wakes(channels: Channels) -> None:
    ends = os.pipe()
    channels[0].watch(ends[0])
    os.write(ends[1], b"x")
    assert channels[0].wait(ANSWER, 0, 0) == [ends[0]]
    for descriptor in ends:
        os.close(descriptor)


def test_no_processor_to_spare(channels: Channels, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nobody looks for long at what only the other could change."""
    monkeypatch.setattr(channel_module, "ALONE", True)
    looked: list[int] = []
    monkeypatch.setattr(Channel, "_sleep", lambda self, *args: looked.append(1) or ())
    monkeypatch.setattr(channel_module, "time", type("Clock", (), {"monotonic_ns": staticmethod(lambda: 5)}))
    assert channels[0].wait(ANSWER, 0, 10**12) == ()
    assert looked == [1]


def test_who_looks_in_vain_sleeps_at_once(channels: Channels, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the other side has no processor."""
    looked: list[int] = []
    budget = AdaptiveSpin.budget

    def note(spin: AdaptiveSpin, least: int) -> int:
        looked.append(budget(spin, least))
        return looked[-1]

    monkeypatch.setattr(AdaptiveSpin, "budget", note)
    monkeypatch.setattr(Channel, "_sleep", lambda self, *args: ())
    monkeypatch.setattr(channel_module, "ALONE", False)
    for _ in range(MISSES + 1):
        assert channels[0].wait(ANSWER, 0) == ()
    assert all(looked[:MISSES])
    assert looked[MISSES] == 0
    channels[1].tell(ANSWER, 1)
    assert channels[0].wait(ANSWER, 0) == (), "what is there is seen all the same"


def test_looks_at_who_slept_count_apart(channels: Channels) -> None:
    application, driver = channels
    application.tell(REQUEST, 1)
    awake = application._spin
    driver.words[ASLEEP["driver"]] = 77  # whatever the other side writes
    application.tell(REQUEST, 2)
    assert application._spin is not awake
    driver.words[ASLEEP["driver"]] = 0
    application.tell(REQUEST, 3)
    assert application._spin is awake


@pytest.mark.parametrize("shared", [False, True])
def test_who_is_woken_on_the_others_processor_leaves_it(
    channels: Channels, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """As otherwise one looks in vain at what the other, waiting for the same processor, would write. Not for each
    time, and only the driver's side."""
    ends = dict(zip(("application", "driver"), channels, strict=True))
    set_to: list[set[int]] = []
    allowed = {3, 4, 5}
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: set(allowed))
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, to: set_to.append(set(to)))
    monkeypatch.setattr(ends["driver"], "_moves", True)
    processors = {"application": 4, "driver": 4 if shared else 3}

    def ring(teller: str, hearer: str, place: int, number: int) -> None:
        ends[hearer].words[ASLEEP[hearer]] = 1
        monkeypatch.setattr(channel_module, "current_processor", lambda: processors[teller])
        ends[teller].tell(place, number)
        monkeypatch.setattr(channel_module, "current_processor", lambda: processors[hearer])
        assert ends[hearer]._sleep(place, number - 1, None) == ()

    ring("application", "driver", REQUEST, 1)
    assert set_to == ([{3, 5}, allowed] if shared else [])
    ring("application", "driver", REQUEST, 2)
    assert len(set_to) <= 2
    ring("driver", "application", ANSWER, 1)
    assert len(set_to) <= 2


@pytest.fixture
def full() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection whose other side has read nothing of what it was told, and that side."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with ours, theirs:
        with suppress(BlockingIOError):
            while True:
                send(ours, {"kind": "release"})
        yield ours, theirs


def test_who_reads_late_has_not_died(
    full: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = full
    kinds: list[str] = []
    tried = threading.Event()

    def try_to_send(connection: socket.socket, body: Body, descriptors: Sequence[int]) -> None:
        try:
            send(connection, body, descriptors)
        finally:
            tried.set()

    monkeypatch.setattr(channel_module, "send", try_to_send)

    def read() -> None:
        tried.wait()
        while kinds[-1:] != ["channel"]:
            message = receive(theirs)
            assert message is not None
            kinds.append(message.body["kind"])
            message.close()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with closing(open_channel(ours)):
        reader.join()
    assert kinds[:-1] == ["release"] * (len(kinds) - 1)


def test_who_never_reads_is_not_waited_for(full: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = full
    before = count_descriptors()
    with pytest.raises(TimeoutError):
        open_channel(ours, time.monotonic())
    theirs.close()
    with pytest.raises(ConnectionError):
        open_channel(ours)
    assert count_descriptors() <= before - 1
