"""Time limits as moments, and work that does not keep them."""

import threading
import time

import pytest

from nnapi.errors import MissedDeadlineTransientError, OpFailedError
from nnapi.runtime.deadline import PATIENCE, deadline_after, earlier, in_time


def test_moments() -> None:
    assert deadline_after(0) is None
    assert deadline_after(2**64 - 1) is None
    moment = deadline_after(10**9)
    assert moment is not None
    assert 0 < moment - time.monotonic_ns() <= 10**9
    assert (earlier(None, None), earlier(1, None), earlier(None, 2), earlier(3, 2)) == (None, 1, 2, 2)


def test_work_that_ends_in_time() -> None:
    assert in_time(lambda: 1, None, "it") == 1
    assert in_time(threading.get_ident, None, "it") == threading.get_ident()
    assert in_time(lambda: 2, deadline_after(10**9), "it") == 2


def test_errors_come_through() -> None:
    def fails() -> None:
        raise OpFailedError("no")

    def times_out() -> None:
        raise TimeoutError("its own")

    for work, error in ((fails, OpFailedError), (times_out, TimeoutError)):
        with pytest.raises(error, match=r"no|its own"):
            in_time(work, deadline_after(10**9), "it")


def test_work_that_takes_too_long_is_left_alone() -> None:
    gate, ended = threading.Event(), threading.Event()
    start = time.monotonic()
    with pytest.raises(MissedDeadlineTransientError, match="it did not answer within the time limit"):
        in_time(lambda: (gate.wait(), ended.set()), deadline_after(1_000_000), "it")
    assert time.monotonic() - start >= PATIENCE
    assert not ended.is_set()
    gate.set()
    assert ended.wait(10)


def test_a_moment_that_has_passed() -> None:
    gate = threading.Event()
    with pytest.raises(MissedDeadlineTransientError):
        in_time(gate.wait, time.monotonic_ns() - 10**9, "it")
    gate.set()
