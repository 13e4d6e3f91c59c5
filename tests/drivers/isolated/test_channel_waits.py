"""How long a channel spins, when it sleeps, and in which order it reads and writes the shared page."""

import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from nnapi.drivers.isolated import channel as channel_module
from nnapi.drivers.isolated.channel import (
    ANSWER,
    ASLEEP,
    BINDING,
    DONE,
    FAILED,
    PROCESSOR,
    REQUEST,
    STATUS,
    Channel,
    bell,
    milliseconds,
)
from nnapi.drivers.isolated.descriptors import shared_file


@pytest.fixture
def channel() -> Iterator[Channel]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made = Channel("driver", ours, shared_file(channel_module.SIZE, "test"), bell(), bell())
    yield made
    made.close()
    theirs.close()


class Clock:
    """A clock that goes on by a step each time it is read."""

    def __init__(self, now: int, step: int = 0) -> None:
        self.now, self.step = now, step

    def monotonic_ns(self) -> int:
        self.now += self.step
        return self.now - self.step

    def monotonic(self) -> float:
        return self.now / 1e9


class Words(list[int]):
    """Words of a page whose accesses are noted."""

    def __init__(self, events: list[Any], size: int = 32) -> None:
        super().__init__([0] * size)
        self.events = events
        self.change: Callable[[int], None] = lambda count: None

    def __getitem__(self, index: Any) -> Any:
        self.events.append(("read", index))
        self.change(len(self.events))
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.events.append(("write", index))
        super().__setitem__(index, value)


class Spin:
    def __init__(self, budget: int) -> None:
        self.length, self.noted = budget, list[Any]()

    def budget(self, least: int) -> int:
        self.noted.append(least)
        return self.length

    def note_hit(self, took: int) -> None:
        self.noted.append(("hit", took))

    def note_miss(self) -> None:
        self.noted.append("miss")

    def note_sleep(self, took: int) -> None:
        self.noted.append(("sleep", took))


def test_each_side_and_each_sleep_has_a_cache_line_of_its_own() -> None:
    """Of 64 bytes, 8 words; no word has two meanings."""
    application = [REQUEST, BINDING, PROCESSOR["application"]]
    driver = [ANSWER, STATUS, PROCESSOR["driver"]]
    groups = [application, driver, [ASLEEP["application"]], [ASLEEP["driver"]]]
    lines = [{word // 8 for word in group} for group in groups]
    assert [len(line) for line in lines] == [1] * 4
    assert len(set.union(*lines)) == 4
    assert len({word for group in groups for word in group}) == 8
    assert max(word for group in groups for word in group) < channel_module.SIZE // 8
    assert DONE != FAILED


# Spinning


@pytest.mark.parametrize(
    ("budget", "step", "reads", "noted"),
    [
        (0, 100, 0, [7]),
        (250, 100, 3 * 64, [7, "miss"]),
        (300, 100, 3 * 64, [7, "miss"]),
        (301, 100, 4 * 64, [7, "miss"]),
    ],
)
def test_a_spin_in_vain(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, budget: int, step: int, reads: int, noted: list[Any]
) -> None:
    """The clock is read after each 64 reads of the word."""
    events: list[Any] = []
    monkeypatch.setattr(channel_module, "time", Clock(1000 + step, step))
    channel.words, channel._spin = Words(events), Spin(budget)  # type: ignore[assignment]
    assert not channel._spin_until_changed(ANSWER, 0, 1000, 7)
    assert (events, channel._spin.noted) == ([("read", ANSWER)] * reads, noted)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("read", "took"), [(1, 0), (64, 0), (65, 100), (129, 200)])
def test_a_spin_that_sees_a_change(channel: Channel, monkeypatch: pytest.MonkeyPatch, read: int, took: int) -> None:
    events: list[Any] = []
    words, spin = Words(events), Spin(1000)
    words.change = lambda count: list.__setitem__(words, ANSWER, int(count >= read))
    monkeypatch.setattr(channel_module, "time", Clock(1100, 100))
    channel.words, channel._spin = words, spin  # type: ignore[assignment]
    assert channel._spin_until_changed(ANSWER, 0, 1000, 7)
    assert (len(events), spin.noted) == (read, [7, ("hit", took)])


@pytest.mark.parametrize(("step", "rounds"), [(10_000, 3), (20_000, 2), (20_001, 1), (100, 201)])
def test_a_long_spin_also_looks_for_messages(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, step: int, rounds: int
) -> None:
    """From 20 microseconds on."""
    events: list[Any] = []
    asked: list[Any] = []
    poll = type("Poll", (), {"poll": lambda self, timeout: asked.append(timeout) or [1]})
    monkeypatch.setattr(channel_module, "time", Clock(1000 + step, step))
    channel.words, channel._spin, channel._poll = Words(events), Spin(100_000), poll()  # type: ignore[assignment]
    assert not channel._spin_until_changed(ANSWER, 0, 1000, 7)
    assert (asked, len(events)) == ([0], 64 * rounds)


@pytest.mark.parametrize(
    ("spin", "is_alone", "spins"), [(7, False, True), (0, False, False), (7, True, False), (0, True, False)]
)
@pytest.mark.parametrize("finds", [False, True])
def test_a_wait_spins_before_it_sleeps(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, spin: int, is_alone: bool, spins: bool, finds: bool
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(channel_module, "ALONE", is_alone)
    monkeypatch.setattr(channel_module, "time", Clock(1000, 100))
    monkeypatch.setattr(channel, "_spin_until_changed", lambda *args: done.append(args) or finds)
    monkeypatch.setattr(channel, "_sleep", lambda *args: done.append(args) or [9])
    channel._spin = noted = Spin(0)  # type: ignore[assignment]
    found = channel.wait(ANSWER, 0, spin, 3.0)
    assert found == (() if spins and finds else [9])
    looked = [(ANSWER, 0, 1000, 7)] if spins else []
    assert done == [*looked, *([] if spins and finds else [(ANSWER, 0, 3.0)])]
    assert noted.noted == ([] if spins and finds else [("sleep", 100)])
    done.clear()
    channel.words[ANSWER] = 5
    assert channel.wait(ANSWER, 0, spin, 3.0) == ()
    assert done == []


# Sleeping


def test_a_sleeper_says_so(channel: Channel) -> None:
    seen: list[Any] = []
    poll = type("Poll", (), {"poll": lambda self, timeout: seen.append((timeout, *asleep())) or []})

    def asleep() -> tuple[int, int]:
        return channel.words[ASLEEP["driver"]], channel.words[ASLEEP["application"]]

    channel._poll = poll()
    assert channel._sleep(REQUEST, 0, None) is None
    assert seen == [(None, 1, 0)]
    assert asleep() == (0, 0)


def test_a_change_while_falling_asleep_is_seen(channel: Channel) -> None:
    channel.words[REQUEST] = 1
    channel._moves = False
    assert channel._sleep(REQUEST, 0, None) == ()
    assert channel.words[ASLEEP["driver"]] == 0


def test_the_order_of_sleeping(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side says that it sleeps before it reads the word a last time: else neither would wake the other."""
    events: list[Any] = []
    words = Words(events)
    list.__setitem__(words, REQUEST, 1)
    channel.words, channel._moves = words, False  # type: ignore[assignment]
    monkeypatch.setattr(channel, "_fence", lambda: events.append("fence"))
    channel._sleep(REQUEST, 0, None)
    asleep = ("write", ASLEEP["driver"])
    assert events == [asleep, "fence", ("read", REQUEST), "fence", asleep]


@pytest.mark.parametrize("is_weak", [False, True])
@pytest.mark.parametrize("is_asleep", [False, True])
def test_the_order_of_telling(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, is_weak: bool, is_asleep: bool
) -> None:
    """The word is written before the other side's sleep is read, and on weak processors after everything else."""
    events: list[Any] = []
    words = Words(events)
    list.__setitem__(words, ASLEEP["application"], int(is_asleep))
    channel.words = words  # type: ignore[assignment]
    channel._release, channel._acquire = (partial(events.append, each) for each in ("release", "acquire"))
    monkeypatch.setattr(channel_module, "IS_WEAK", is_weak)
    monkeypatch.setattr(channel_module, "current_processor", lambda: 3)
    monkeypatch.setattr(os, "eventfd_write", lambda file, value: events.append((file, value)))
    channel.tell(ANSWER, 5)
    fence = ["release", "acquire"]
    expected = [*(fence if is_weak else []), ("write", ANSWER), *fence, ("read", ASLEEP["application"])]
    rung = [("write", PROCESSOR["driver"]), (channel._other_bell, 1)]
    assert events == expected + (rung if is_asleep else [])
    assert list.__getitem__(words, ANSWER) == 5
    assert list.__getitem__(words, PROCESSOR["driver"]) == (3 if is_asleep else 0)


@pytest.mark.parametrize("is_weak", [False, True])
def test_a_word_is_read_before_everything_behind_it(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, is_weak: bool
) -> None:
    events: list[Any] = []
    monkeypatch.setattr(channel_module, "IS_WEAK", is_weak)
    monkeypatch.setattr(channel, "_fence", lambda: events.append("fence"))
    channel.words[REQUEST] = 1
    assert channel.wait(REQUEST, 0) == ()
    assert events == (["fence"] if is_weak else [])


# The processor


@pytest.mark.parametrize(("now", "moves"), [(9_999_999, 0), (10_000_000, 1), (11_000_000, 1)])
def test_moves_are_ten_milliseconds_apart(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, now: int, moves: int
) -> None:
    clock, moved = Clock(now), list[set[int]]()
    monkeypatch.setattr(channel_module, "time", clock)
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {3, 4} if thread == 0 else set())
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, to: moved.append(to) if thread == 0 else None)
    channel._leave(4)
    assert moved == [{3}, {3, 4}] * moves
    for clock.now in (now + 9_999_999, now + 10_000_000):
        moved.clear()
        channel._leave(3)
    assert moved == ([{4}, {3, 4}] if moves else [])


def test_a_process_with_one_processor_does_not_move(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[Any] = []

    def fail(thread: int, to: set[int]) -> None:
        moved.append(to)
        raise OSError("they have been switched off")

    monkeypatch.setattr(os, "sched_setaffinity", fail)
    monkeypatch.setattr(channel_module, "time", Clock(1 << 60))
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {4})
    channel._leave(4)
    assert moved == []
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {3, 4})
    channel._moved = 0
    channel._leave(4)
    assert moved == [{3}]


@pytest.mark.parametrize(("found", "processor"), [(0, 0), (5, 5), (-1, 0)])
def test_an_unknown_processor_is_the_first(monkeypatch: pytest.MonkeyPatch, found: int, processor: int) -> None:
    monkeypatch.setattr(channel_module, "_sched_getcpu", lambda: found)
    assert channel_module.current_processor() == processor


@pytest.mark.parametrize(
    ("end", "expected"),
    [(None, None), (99.0, 0.0), (100.0, 0.0), (102.5, 2500.0), (100.0 + 1e6, 1e9), (100.0 + 1e7, 1e9)],
)
def test_the_milliseconds_of_a_wait(monkeypatch: pytest.MonkeyPatch, end: float | None, expected: float | None) -> None:
    """Eleven days are the most that the system takes."""
    monkeypatch.setattr(channel_module, "time", Clock(100 * 10**9))
    assert milliseconds(end) == expected


def test_a_channel_is_closed_once(channel: Channel) -> None:
    files = [channel.socket.fileno(), channel._bell, channel._other_bell]
    assert all(os.path.exists(f"/proc/self/fd/{file}") for file in files)
    channel.close()
    assert not any(os.path.exists(f"/proc/self/fd/{file}") for file in files)
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    channel.close()
    for each in others:
        os.close(each)
