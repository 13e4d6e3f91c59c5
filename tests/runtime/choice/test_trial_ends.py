"""A trial that ends while it works: in the tuner's thread, in a run, and in several threads at once."""

import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi import Compilation
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.errors import OpFailedError
from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.first_runs import SKIPPED, TIMED, FirstRuns
from nnapi.runtime.choice.paired_times import Standing
from nnapi.runtime.choice.schedule import Stage
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.choice.trial import EndedError, Trial
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.settings import Partitioning
from tests.runtime.choice.trial_cases import EXPECTED, Fake, Machine, Rival, X, among, make, work_of

START = threading.Thread.start
"""The fixture has the tuner start none."""


def once(act: Callable[[], None]) -> Callable[..., None]:
    """A function that acts at its first call only."""
    left = [act]
    return lambda *_: left.pop()() if left else None


@pytest.fixture
def silent(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing is logged as a warning."""
    with caplog.at_level(logging.WARNING):
        yield
    assert not caplog.records


def wait_for(compilation: Compilation, machine: Machine) -> Trial:
    """The trial after the first run, which the tuner's next step prepares."""
    compilation.run(X)
    machine.clock.now += 1
    return machine.trial(compilation)


def assert_is_closed(trial: Trial, machine: Machine) -> None:
    """The trial is over, and no step of the tuner runs anything."""
    runs = [(device.runs, device.prepared) for device in (machine.first, machine.second)]
    assert tuner.TUNER.step() == tuner.WATCH
    assert [(device.runs, device.prepared) for device in (machine.first, machine.second)] == runs
    assert trial.stage is Stage.CLOSED
    assert not tuner.TUNER._trials


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("end", ["close", "pin"])
def test_a_trial_ends_while_a_challenger_is_prepared(
    end: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation = machine.compile()
    trial, prepare = wait_for(compilation, machine), machine.second.prepare
    stop = once(getattr(compilation, end))
    monkeypatch.setattr(machine.second, "prepare", lambda *given: (stop(), prepare(*given))[1])
    tuner.TUNER.step()
    tuner.TUNER.step()
    assert machine.second.prepared == 1
    assert not trial.challengers
    assert_is_closed(trial, machine)


@pytest.mark.usefixtures("silent")
def test_a_trial_ends_while_challengers_are_listed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    from nnapi.runtime.choice import predict

    compilation = machine.compile()
    trial, list_all, stop = wait_for(compilation, machine), predict.list_challengers, once(compilation.close)
    monkeypatch.setattr(predict, "list_challengers", lambda *given: (stop(), list_all(*given))[1])
    tuner.TUNER.step()
    assert machine.second.prepared == 0
    assert_is_closed(trial, machine)


@pytest.mark.usefixtures("silent")
def test_a_trial_ends_while_results_are_compared(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = machine.compile()
    trial = machine.begin(compilation)
    work = work_of(trial)
    for _ in range(20):
        compilation.run(X)
    assert work.results
    work.results.extend(list(work.results) * 2)
    stop = once(compilation.close)
    monkeypatch.setattr("nnapi.runtime.choice.third_opinion.find_fault", lambda *_: stop())
    tuner.TUNER.step()
    assert_is_closed(trial, machine)


@pytest.mark.usefixtures("silent")
def test_a_trial_ends_while_a_run_measures_a_challenger(machine: Machine) -> None:
    compilation = machine.compile()
    trial = machine.begin(compilation)
    end_when_run(machine.second, compilation.close)
    handle = compilation.active.handle
    for _ in range(9):
        outputs = handle.execute(Request([X])).outputs
        np.testing.assert_array_equal(outputs[0], EXPECTED)
    assert compilation.state.value == "closed"
    assert_is_closed(trial, machine)


def end_when_run(device: Fake, end: Callable[[], None]) -> None:
    """Call ``end`` in the next run of a device."""
    stop, seconds = once(end), device.seconds

    class Ending:
        def __rmul__(self, other: float) -> float:
            return other

        def __radd__(self, now: float) -> float:
            stop()
            return now + seconds

        def __bool__(self) -> bool:
            return True

    device.seconds = Ending()  # type: ignore[assignment]


@pytest.mark.usefixtures("silent")
def test_an_error_of_a_trial_that_has_ended_is_nobody_s(machine: Machine) -> None:
    compilation = machine.compile()
    trial = machine.begin(compilation)
    compilation.close()
    trial.stop("a measurement fails")
    assert trial.stage is Stage.CLOSED, "for good"
    trial.watch()
    trial.restart()
    assert trial.stage is Stage.CLOSED
    assert trial.conclude() is None


def test_a_winner_of_a_trial_that_has_ended_does_not_take_over(machine: Machine) -> None:
    trial = among(make(machine), Rival("fast", [0.5] * 4, Standing.FASTER))
    trial.close()
    assert trial.conclude() is None
    assert trial.active.plan.devices == ("first",)


def test_closing_waits_until_the_tuner_no_longer_runs_the_plan(machine: Machine) -> None:
    """The client frees what the plan reads."""
    trial = make(machine)
    begun, may_end = threading.Event(), threading.Event()

    class Slow:
        def execute(self, request: Request) -> Outcome:
            begun.set()
            assert may_end.wait(60)
            return Outcome([X])

    trial.active = ReadyPlan(trial.active.plan, Slow())  # type: ignore[arg-type]
    running = threading.Thread(target=trial._time_active, args=([X],))
    closing = threading.Thread(target=trial.close)
    START(running)
    assert begun.wait(60)
    START(closing)
    closing.join(0.05)
    has_waited = closing.is_alive()
    may_end.set()
    closing.join(60)
    running.join(60)
    assert has_waited
    assert not closing.is_alive()
    with pytest.raises(EndedError):
        trial._time_active([X])


def test_the_tuner_goes_on_though_an_owner_fails_twice(
    machine: Machine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation = machine.compile()
    trial = machine.begin(compilation)

    def fail(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(compilation, "use", fail)
    trial.stop()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            tuner.TUNER.step()
    assert caplog.text.count("a trial of network ends: RuntimeError: unexpected") == 1


def test_a_trial_that_begins_again_waits_for_a_run(machine: Machine) -> None:
    """Not for the first run of the trial before, which is long past."""
    machine.second.seconds = 1.1e-3
    compilation = machine.compile()
    trial = machine.begin(compilation)
    machine.use(compilation, 200)
    machine.first.seconds = 5e-3
    machine.clock.now += tuner.WATCH + 1
    tuner.TUNER.step()
    for _ in range(10):
        compilation.run(X)
    for _ in range(3):
        tuner.TUNER.step()
    assert trial.stage is Stage.WAITING
    machine.begin(compilation)
    assert trial.stage is Stage.COMPARING


def test_runs_of_several_threads_do_not_miss_the_last_of_the_first(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation, seen = machine.compile(), list[object]()
    question = machine.trial(compilation).question
    ready, spare = machine.trial(compilation).active, Spare(question, Partitioning.WITHOUT_FALLBACK)
    monkeypatch.setattr(tuner, "watch", lambda question, ready, seconds, *_: seen.append(len(seconds)))
    first = FirstRuns(compilation, question, ready, spare)
    first._times += [1e-3] * (SKIPPED + TIMED)  # another thread has added the last just now
    for _ in range(2):
        first.observe([X], [X], 0.0, 1e-3)
    assert seen == [TIMED]


def test_a_challenger_that_is_dropped_meanwhile_is_not_measured(machine: Machine) -> None:
    trial = machine.begin(machine.compile())
    (rival,) = trial.challengers
    rival.drop()
    runs = machine.second.runs
    assert rival.measure(1e-3, [X]) is None
    assert (machine.second.runs, rival.reason) == (runs, "")


def test_a_driver_that_fails_after_the_end_excludes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = machine.compile()
    trial = wait_for(compilation, machine)

    def fail(*_: object) -> Prepared:
        compilation.close()
        raise OpFailedError("gone")

    monkeypatch.setattr(machine.second, "prepare", fail)
    tuner.TUNER.step()
    tuner.TUNER.step()
    assert not trial.challengers
    assert_is_closed(trial, machine)
