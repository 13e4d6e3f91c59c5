"""The interpreter's switch interval, and rests, while a challenger is prepared."""

import math
import os
import sys
from collections.abc import Iterator

import pytest

import nnapi
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.pauses import SWITCH, pause
from nnapi.runtime.choice import pacing, schedule
from nnapi.runtime.choice.active_runs import PAUSE
from nnapi.runtime.choice.pacing import REST, paced
from nnapi.runtime.choice.paired_times import Contender
from nnapi.runtime.choice.schedule import Schedule, Stage
from tests.runtime.choice.trial_cases import Fake, Machine, X


@pytest.fixture(name="interval")
def restore_interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("interval")
@pytest.mark.parametrize(("usual", "during"), [(0.005, SWITCH), (0.0001, 0.0001)])
def test_runs_get_the_interpreter_soon_while_a_challenger_is_prepared(
    usual: float, during: float, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[float] = []

    def prepare(model: nnapi.Model, options: PrepareOptions) -> Prepared:
        found.append(sys.getswitchinterval())
        return Fake.prepare(machine.second, model, options)

    sys.setswitchinterval(usual)
    before = sys.getswitchinterval()
    monkeypatch.setattr(machine.second, "prepare", prepare)
    machine.begin(machine.compile())
    assert found == [pytest.approx(during, abs=2e-6)]
    assert sys.getswitchinterval() == before


@pytest.mark.usefixtures("interval")
def test_an_interval_that_the_program_sets_meanwhile_stays(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(model: nnapi.Model, options: PrepareOptions) -> Prepared:
        sys.setswitchinterval(0.01)
        return Fake.prepare(machine.second, model, options)

    monkeypatch.setattr(machine.second, "prepare", prepare)
    machine.begin(machine.compile())
    assert sys.getswitchinterval() == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize(("threads", "rests"), [(1, False), (2, True), (None, True)])
def test_preparation_rests_where_runs_need_all_processors(
    threads: int | None, rests: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest ends when no run has come for a while. The predictions for these devices are absurd."""
    monkeypatch.setattr(schedule, "ABSURD", math.inf)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    compilation = machine.compile(threads=threads)
    compilation.run(X)
    found, clock = machine.trial(compilation), machine.clock
    found.prepare()
    rested: list[float] = []

    def prepare(model: nnapi.Model, options: PrepareOptions) -> Prepared:
        machine.first.seconds = 1.0
        compilation.run(X)
        before = clock.now
        pause()
        rested.append(clock.now - before)
        return Fake.prepare(machine.second, model, options)

    monkeypatch.setattr(machine.second, "prepare", prepare)
    found.prepare_next()
    assert rested == [pytest.approx(PAUSE, abs=2 * REST) if rests else 0.0]
    assert len(found.challengers) == 1


@pytest.mark.parametrize(("waited", "rests"), [(0.0, True), (9.0, False)])
def test_the_time_without_a_processor_does_not_count(
    waited: float, rests: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Challengers are prepared in 10 s, on a processor that others use for most of them."""
    clock, runs = machine.clock, Schedule[Contender](is_dynamic=False, is_crowded=True)
    readings = iter([0.0, waited, waited, waited])
    monkeypatch.setattr(pacing, "read_waited", lambda: next(readings))
    runs.note_run(clock.now, 10.0, clock.now + 10.0)
    clock.now += 10.0
    runs.stage = Stage.COMPARING
    with paced(runs):
        clock.now += 10.0
        monkeypatch.setattr(runs.runs, "is_idle", lambda now: now > 121.0)
        before = clock.now
        pause()
        assert (clock.now > before) is rests
