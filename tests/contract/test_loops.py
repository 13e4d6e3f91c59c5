"""The turns of loops inside an engine, and the time limit, by a clock of the test."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import LoopTimeoutError, Request
from nnapi.contract.loops import FIRST_TURNS, MOST_TURNS, TurnLimits, choose_first_turns
from nnapi.errors import MissedDeadlineTransientError, OpFailedError

SECOND = 1_000_000_000


class Engine:
    """Runs loops that need some turns each; every turn takes as long as the next, all else takes ``outside``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *needed: float, turn: float = 1e-3, outside: float = 0) -> None:
        self.needed, self.turn, self.outside = needed, turn, outside
        self.calls: list[tuple[int, ...]] = []
        self.now = 0.0
        monkeypatch.setattr("nnapi.contract.loops.time.perf_counter", lambda: self.now)
        monkeypatch.setattr("nnapi.contract.loops.time.monotonic_ns", lambda: int(self.now * SECOND))

    def run(self, turns: Sequence[int]) -> Sequence[int]:
        self.calls.append(tuple(turns))
        left = [int(max(0, most - needed)) for most, needed in zip(turns, self.needed, strict=True)]
        self.now += self.outside + self.turn * (sum(turns) - sum(left))
        return left


def request(seconds: float, deadline: int | None = None) -> Request:
    return Request([], deadline, int(seconds * SECOND))


def test_a_loop_within_its_first_turns_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, 99)
    TurnLimits([100]).run(engine.run, request(2))
    assert engine.calls == [(100,)]


def test_a_longer_loop_is_repeated_with_more_turns_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, limits = Engine(monkeypatch, 99, 500), TurnLimits([100, 100])
    limits.run(engine.run, request(60))
    assert engine.calls == [(100, 100), (100, 801)]
    limits.run(engine.run, request(60))
    limits.run_once(engine.run)
    assert engine.calls[2:] == [(100, 801)] * 2


def test_the_fast_path_keeps_to_the_default_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although a run with a higher limit took more turns."""
    engine, limits = Engine(monkeypatch, 9000), TurnLimits([100])
    limits.run(engine.run, request(15))
    with pytest.raises(OpFailedError):
        limits.run_once(engine.run)
    assert 2000 < engine.calls[-1][0] < 4000


def test_all_turns_that_were_permitted_may_be_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition is not evaluated after the last one."""
    engine = Engine(monkeypatch, 100)
    TurnLimits([100]).run(engine.run, request(60))
    assert len(engine.calls) == 2


def test_the_fast_path_makes_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, np.inf)
    with pytest.raises(OpFailedError, match="^a loop needs more turns$"):
        TurnLimits([100]).run_once(engine.run)
    assert len(engine.calls) == 1


@pytest.mark.parametrize("seconds", [0.001, 0.3, 2.0, 15.0])
def test_an_endless_loop_ends_soon_after_its_limit(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    engine, limits = Engine(monkeypatch, np.inf), TurnLimits([2])
    said = f"^the loop ran longer than {int(seconds * SECOND)} ns, its limit by set_loop_timeout$"
    with pytest.raises(LoopTimeoutError, match=said):
        limits.run(engine.run, request(seconds))
    assert engine.now <= 1.8 * seconds + 8 * engine.turn
    begin = engine.now
    with pytest.raises(LoopTimeoutError):
        limits.run(engine.run, request(seconds))
    assert engine.now - begin <= 1.7 * seconds + 8 * engine.turn


def test_a_loop_that_ended_may_still_be_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, 99)
    with pytest.raises(LoopTimeoutError):
        TurnLimits([100]).run(engine.run, request(0.05))


def test_time_outside_of_loops_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is measured once, without turns; the run whose results that overwrites is repeated."""
    engine, limits = Engine(monkeypatch, 99, outside=1.0), TurnLimits([100])
    limits.run(engine.run, request(0.5))
    assert engine.calls == [(100,), (0,), (100,)]
    limits.run(engine.run, request(0.5))
    assert engine.calls[3:] == [(100,)]


def test_a_deadline_passes_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, np.inf)
    with pytest.raises(MissedDeadlineTransientError, match="^the time limit passed in a loop$") as caught:
        TurnLimits([100]).run(engine.run, request(2, deadline=SECOND // 100))
    assert not isinstance(caught.value, LoopTimeoutError)


def test_a_loop_that_would_take_all_turns_is_too_late_however_short_its_runs_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(monkeypatch, np.inf, turn=0.0)
    with pytest.raises(LoopTimeoutError):
        TurnLimits([100]).run(engine.run, request(2))
    assert engine.calls[-1] == (MOST_TURNS,)


def failing(engine: Engine, least: float) -> Callable[[Sequence[int]], Sequence[int]]:
    """A run that fails with fewer turns, as a GATHER may after a loop that was ended too early."""

    def run(turns: Sequence[int]) -> Sequence[int]:
        left = engine.run(turns)
        if max(turns) < least:
            raise OpFailedError("an index is out of range")
        return left

    return run


def test_an_error_may_be_due_to_too_few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, limits = Engine(monkeypatch, 500), TurnLimits([100])
    limits.run(failing(engine, 5000), request(60))
    assert engine.calls[-1] >= (5000,)
    limits.run(engine.run, request(60))
    assert engine.calls[-1] == (1000,), "twice the turns that were taken"


def test_an_error_remains_with_all_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(monkeypatch, 5)
    with pytest.raises(OpFailedError, match="^an index is out of range$"):
        TurnLimits([100]).run(failing(engine, np.inf), request(2))
    assert engine.calls[-1] == (MOST_TURNS,)


def model(size: int) -> Model:
    b = Builder("work")
    x = b.input(tensor("float32", (1, size)))
    b.output(b.fully_connected(x, np.zeros((size, size), np.float32), np.zeros(size, np.float32)))
    return b.finish()


def test_first_turns_follow_the_work() -> None:
    small, large, huge = (choose_first_turns(model(1), model(size)) for size in (1, 500, 5000))
    least, most = FIRST_TURNS
    assert most == small > large > huge == least
