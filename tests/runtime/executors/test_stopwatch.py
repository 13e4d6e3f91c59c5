"""Seconds of runs beside other processes."""

import threading
import time
from collections.abc import Callable

import pytest

from nnapi.runtime.executors import stopwatch
from nnapi.runtime.executors.stopwatch import LONG, ROUNDS, Stopwatch, is_faster, read_waited


class Scheduler:
    """Takes the place of the clock and of Linux's counter."""

    def __init__(self) -> None:
        self.now = self.waited = 100.0

    def perf_counter(self) -> float:
        return self.now

    def run(self, seconds: float, waiting: float = 0.0) -> Callable[[], str]:
        def run() -> str:
            self.now += seconds + waiting
            self.waited += waiting
            return "done"

        return run


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    found = Scheduler()
    monkeypatch.setattr(stopwatch, "time", found)
    monkeypatch.setattr(stopwatch, "read_waited", lambda: found.waited)
    return found


def test_long_runs_are_timed_without_waiting_for_a_processor(scheduler: Scheduler) -> None:
    watch, begin = Stopwatch(expected=2 * LONG), scheduler.now
    for _ in range(2):
        assert watch.time(scheduler.run(2 * LONG, waiting=9.0)) == ("done", begin, pytest.approx(2 * LONG))
        begin = scheduler.now


def test_of_short_runs_nothing_is_asked(scheduler: Scheduler) -> None:
    watch = Stopwatch()
    assert watch.time(scheduler.run(LONG / 2, waiting=1.0))[2] == pytest.approx(1 + LONG / 2)
    assert watch.time(scheduler.run(LONG / 2, waiting=1.0))[2] == pytest.approx(LONG / 2)  # it looked like a long one
    assert watch.time(scheduler.run(LONG / 2, waiting=1.0))[2] == pytest.approx(1 + LONG / 2)


def test_each_thread_has_waited_a_time_of_its_own() -> None:
    begin, found = time.perf_counter(), list[float]()
    thread = threading.Thread(target=lambda: found.append(read_waited()))
    thread.start()
    thread.join()
    assert 0 <= found[0] < time.perf_counter() - begin
    assert read_waited() >= 0


@pytest.mark.parametrize("content", [None, b"", b"1 x 2"])
def test_where_the_system_does_not_tell_nothing_is_subtracted(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class File:
        def __enter__(self) -> "File":
            if content is None:
                raise FileNotFoundError
            return self

        def __exit__(self, *_: object) -> None: ...

        def read(self) -> bytes:
            return content or b""

    monkeypatch.setattr("builtins.open", lambda *_: File())
    assert read_waited() == 0.0


def test_while_one_of_several_threads_waits_others_compute(scheduler: Scheduler) -> None:
    watch = Stopwatch(2 * LONG, threads=2)
    assert watch.time(scheduler.run(LONG, waiting=LONG))[2] == pytest.approx(2 * LONG)


def test_the_shortest_of_several_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now, first = [0.0], iter([9.0, *[1.0] * ROUNDS])

    def wait(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    assert is_faster(lambda: wait(next(first)), lambda: wait(2.0))
    assert not is_faster(lambda: wait(2.0), lambda: wait(1.0))
