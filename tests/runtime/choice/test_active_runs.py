"""The recent runs of the active plan, on a clock of their own."""

import math

import pytest

from nnapi.runtime.choice.active_runs import ActiveRuns

NOW = 100.0


def test_the_median_is_of_the_last_eight_runs() -> None:
    runs = ActiveRuns(is_dynamic=False)
    for seconds in (9e-3, 9e-3, *[1e-3] * 3, *[2e-3] * 4, 5e-3):
        assert runs.remember(seconds, is_beside=False)
    assert len(runs.recent) == 8
    assert runs.median == 2e-3
    runs.remember(9e-3, is_beside=True)
    assert (runs.median, len(runs.recent)) == (2e-3, 0), "the last known"


def test_only_the_last_run_of_a_dynamic_model_is_remembered() -> None:
    runs = ActiveRuns(is_dynamic=True)
    for seconds in (1e-3, 5e-3, 2e-3):
        runs.remember(seconds, is_beside=False)
    assert list(runs.recent) == [2e-3]


def test_runs_beside_the_tuner_s_work_do_not_count() -> None:
    """They wait for the interpreter, so a tiny model seems to take milliseconds."""
    runs, begin = ActiveRuns(is_dynamic=False), 100.0
    runs.recent.extend([1e-4] * 3)
    assert runs.median == 1e-4
    runs.begin_work(100.5)
    assert runs.arrive(101.0, 9e-3, 101.1)
    runs.end_work(101.15)
    assert runs.arrive(begin, 9e-3, 101.2)
    assert runs.remember(9e-3, is_beside=True)
    assert (list(runs.recent), runs.median) == ([], 1e-4)
    assert not runs.arrive(101.2, 2e-4, 101.3)
    assert runs.remember(2e-4, is_beside=False)
    assert list(runs.recent) == [2e-4]


def test_the_run_after_a_measurement_does_not_count() -> None:
    runs = ActiveRuns(is_dynamic=False)
    runs.recent.extend([1e-3] * 4)
    runs.forget()
    assert not runs.remember(9e-3, is_beside=False)
    assert not runs.recent
    assert runs.remember(1e-3, is_beside=False)


@pytest.mark.parametrize(
    ("median", "gap", "have_gaps"),
    [(1e-3, 4.9e-3, False), (1e-3, 5.1e-3, True), (4e-3, 7.9e-3, False), (4e-3, 8.1e-3, True)],
)
def test_runs_have_gaps_of_two_runs_and_5_milliseconds(
    median: float,
    gap: float,
    have_gaps: bool,
) -> None:
    runs = among_runs(median, gap)
    assert runs.have_gaps is have_gaps


def among_runs(median: float, *gaps: float) -> ActiveRuns:
    """Runs that began so long after the one before each; a lone gap is repeated, as one alone does not count."""
    runs = ActiveRuns(is_dynamic=False)
    runs.recent.append(median)
    runs.arrive(NOW, median, NOW)
    for gap in gaps if len(gaps) > 1 else gaps * 2:
        runs.arrive(NOW + gap, median, NOW)
    return runs


def test_one_gap_may_be_a_run_that_waits_for_the_tuner() -> None:
    for gaps, have_gaps in (([20e-3, 0.0], False), ([0.0, 20e-3], False), ([20e-3, 30e-3], True)):
        assert among_runs(1e-3, *gaps).have_gaps is have_gaps


@pytest.mark.parametrize(
    ("median", "gap", "idle", "is_idle"),
    [
        (1e-3, 6e-3, 4.9e-3, False),
        (1e-3, 6e-3, 5.1e-3, True),
        (4e-3, 9e-3, 7.9e-3, False),
        (4e-3, 9e-3, 8.1e-3, True),
        (4e-3, 7e-3, 0.24, False),
        (4e-3, 7e-3, 0.26, True),
        (0.2, 0.0, 0.39, False),
        (0.2, 0.0, 0.41, True),
    ],
)
def test_a_pause_is_longer_than_two_runs_and_5_milliseconds(
    median: float,
    gap: float,
    idle: float,
    is_idle: bool,
) -> None:
    """And longer than 0.25 seconds where the runs before had no such ``gap``."""
    runs = among_runs(median, gap)
    assert runs.is_idle(NOW + idle) is is_idle


def test_the_tuner_works_until_it_ends() -> None:
    runs = ActiveRuns(is_dynamic=False)
    runs.begin_work(NOW - 1)
    assert runs._worked == math.inf
    runs.end_work(NOW)
    assert runs._worked == NOW


@pytest.mark.parametrize(("seconds", "is_beside"), [(19e-3, True), (21e-3, False)])
def test_work_that_is_a_twentieth_of_a_run_does_not_disturb_it(seconds: float, is_beside: bool) -> None:
    runs = ActiveRuns(is_dynamic=False)
    runs.begin_work(NOW)
    runs.end_work(NOW + 0.5e-3)
    runs.begin_work(NOW + 1e-3)
    runs.end_work(NOW + 1.5e-3)
    assert runs.arrive(NOW, seconds, NOW + seconds) is is_beside
    assert not runs.arrive(NOW, seconds, NOW + 2 * seconds), "the work was beside the run before"


def test_waiting_for_a_processor_takes_nothing_from_runs() -> None:
    runs = ActiveRuns(is_dynamic=False)
    runs.begin_work(NOW)
    runs.end_work(NOW + 3.0, waited=2.0)
    assert runs.find_debt(0.1) == pytest.approx(1.0)
    runs.begin_budget()
    assert runs.find_debt(0.1) == 0.0


def test_another_plan_has_seconds_and_a_budget_of_its_own() -> None:
    runs = ActiveRuns(is_dynamic=False)
    runs.recent.extend([9e-3] * 3)
    runs.spent = 5.0
    runs.change(2e-3)
    assert (runs.median, runs.spent) == (2e-3, 0.0)
    assert not runs.remember(9e-3, is_beside=False), "the first run finds cold caches"
    runs.remember(3e-3, is_beside=False)
    assert runs.median == 3e-3


def test_short_runs_that_were_all_disturbed_are_not_compared() -> None:
    """A slower machine is believed after some runs."""
    runs = ActiveRuns(is_dynamic=False)

    def run(seconds: float, count: int) -> None:
        for _ in range(count):
            runs.arrive(NOW, seconds, NOW + seconds)
            runs.remember(seconds, is_beside=False)

    run(1e-4, 3)
    assert (runs.find_shortest(3), runs.find_shortest(4)) == (1e-4, None)
    run(4e-4, 3)
    assert (runs.find_shortest(3), runs.find_shortest(4), runs.find_shortest(1)) == (None, 1e-4, 4e-4)
    run(4e-4, 40)
    assert runs.find_shortest(3) == 4e-4
