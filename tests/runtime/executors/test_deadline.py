"""Time limits as moments, and work that does not keep them."""

import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from nnapi.errors import BadDataError, MissedDeadlineTransientError, OpFailedError
from nnapi.runtime.executors import deadline
from nnapi.runtime.executors.deadline import PATIENCE, deadline_after, pick_earlier, read_nanoseconds, run_in_time


def test_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert deadline_after(0) is None
    assert deadline_after(2**64 - 1) is None
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic_ns=lambda: 5))
    assert deadline_after(10**9) == 10**9 + 5
    assert (pick_earlier(None, None), pick_earlier(1, None), pick_earlier(None, 2), pick_earlier(3, 2)) == (
        None,
        1,
        2,
        2,
    )


@pytest.mark.parametrize(
    ("duration", "moment"),
    [(0, None), (1, 6), (2**64 - 2, 2**64 + 3), (2**64 - 1, None), (2**64, None), (-1, None)],
)
def test_the_longest_and_the_shortest_duration(
    duration: int, moment: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic_ns=lambda: 5))
    assert deadline_after(duration) == moment


def test_a_fraction_is_not_a_number_of_nanoseconds() -> None:
    assert [read_nanoseconds(each) for each in (0, 7, 2.0)] == [0, 7, 2]  # type: ignore[arg-type]
    with pytest.raises(BadDataError, match=r"^1\.5 are not nanoseconds: 1\.5 s are 1500000000 ns$"):
        read_nanoseconds(1.5)  # type: ignore[arg-type]


def test_work_that_ends_in_time() -> None:
    assert run_in_time(lambda: 1, None, "it") == 1
    assert run_in_time(threading.get_ident, None, "it") == threading.get_ident()
    assert run_in_time(lambda: 2, deadline_after(10**11), "it") == 2


def test_errors_come_through() -> None:
    def fails() -> None:
        raise OpFailedError("no")

    def times_out() -> None:
        raise TimeoutError("its own")

    for work, error in ((fails, OpFailedError), (times_out, TimeoutError)):
        with pytest.raises(error, match=r"no|its own"):
            run_in_time(work, deadline_after(10**11), "it")


def test_work_that_takes_too_long_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, ended, waits = threading.Event(), threading.Event(), []
    result = Future.result
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic_ns=lambda: 7))
    monkeypatch.setattr(Future, "result", lambda future, seconds: (waits.append(seconds), result(future, seconds))[1])
    with pytest.raises(MissedDeadlineTransientError, match="it did not answer within the time limit"):
        run_in_time(lambda: (gate.wait(), ended.set()), deadline_after(1_000_001), "it")
    assert waits == [pytest.approx(0.001000001 + PATIENCE, rel=1e-9)]
    assert not ended.is_set()
    gate.set()
    assert ended.wait(120)


def test_a_moment_that_has_passed() -> None:
    gate = threading.Event()
    with pytest.raises(MissedDeadlineTransientError):
        run_in_time(gate.wait, time.monotonic_ns() - 10**9, "it")
    gate.set()
