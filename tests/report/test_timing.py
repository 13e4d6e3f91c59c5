"""The one way in which things are timed, by a clock that only the calls move."""

import pytest

from nnapi.report import timing
from nnapi.report.timing import time_calls
from nnapi.runtime.executors import stopwatch
from nnapi.runtime.executors.stopwatch import time_call


class Clock:
    """A replacement for the module time."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def take(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (timing, stopwatch):
        monkeypatch.setattr(module, "time", made)
    return made


def test_one_call(clock: Clock) -> None:
    assert time_call(lambda: clock.take(2.0)) == 2.0


@pytest.mark.parametrize(
    ("seconds", "least", "most", "number"), [(3.5, 1, 100, 4), (0.0, 1, 100, 1), (0.0, 3, 100, 3), (9.0, 1, 5, 5)]
)
def test_how_many_calls_there_are(clock: Clock, seconds: float, least: int, most: int, number: int) -> None:
    assert list(time_calls(lambda: clock.take(1.0), seconds, least, most)) == [1.0] * number


def test_what_was_timed_before_a_failure_is_there(clock: Clock) -> None:
    lengths = [1.0, 2.0]
    found: list[float] = []
    with pytest.raises(IndexError):
        found.extend(time_calls(lambda: clock.take(lengths.pop(0)), 100.0))
    assert found == [1.0, 2.0]
