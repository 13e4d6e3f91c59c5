"""The schedule of a trial, on its own: which measurement is next, within which budget and gaps, and who is dropped."""

import ast
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from nnapi.runtime.choice import schedule as module
from nnapi.runtime.choice.evidence import Contender, Standing
from nnapi.runtime.choice.schedule import JUDGED, Schedule, Stage, Turn
from tests.runtime.choice.trial_cases import Rival

ACTIVE, NOW = 8e-3, 100.0


def find_imports(name: str, found: set[str]) -> set[str]:
    """Add the modules that a module imports, and that those of nnapi import."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        for each in set(names) - found:
            found.add(each)
            if each.startswith("nnapi."):
                find_imports(each, found)
    return found


def test_it_reads_no_clock_and_starts_no_thread() -> None:
    found = find_imports(module.__name__, set())
    assert {"nnapi.runtime.choice.active_runs", "nnapi.runtime.choice.evidence"} <= found
    outside = {name.partition(".")[0] for name in found}
    assert outside == {"nnapi", "collections", "enum", "math", "numpy", "re", "typing"}, "neither time nor threading"


def compare(*contenders: object) -> Schedule[Contender]:
    """A schedule that compares these."""
    found = Schedule[Contender](is_dynamic=False)
    found.stage, found.contenders = Stage.COMPARING, list(contenders)  # type: ignore[arg-type]
    return found


def contend(name: str = "other", seconds: float = ACTIVE, logs: Sequence[float] = ()) -> Contender:
    found = Contender(name, logs=logs)
    found.seconds = seconds
    return found


def run(schedule: Schedule[Contender], seconds: float = ACTIVE) -> Turn[Contender] | None:
    """A run right after the one before."""
    begin = schedule.runs.end or NOW
    return schedule.note_run(begin, seconds, begin + seconds)


@pytest.mark.parametrize(
    ("cost", "spent", "twice", "is_limited", "is_found"),
    [
        (0.05, 0.0, False, True, True),
        (0.051, 0.0, False, True, False),
        (0.051, 0.0, False, False, True),
        (0.1, 1.0, False, True, True),
        (0.101, 1.0, False, True, False),
        (0.04, 0.0, True, True, True),  # 6 runs of the active plan beside it
        (0.045, 0.0, True, True, False),
    ],
)
def test_a_pair_fits_the_budget(cost: float, spent: float, twice: bool, is_limited: bool, is_found: bool) -> None:
    """A grace of 0.1 s and a twentieth of the time in runs; the next pair takes 0.05 s."""
    rival = Rival("second", price=0.05, seconds=2e-3)
    schedule = compare(rival)
    schedule.cost, schedule.runs.spent, schedule.runs._median = cost, spent, 1e-3
    assert (schedule.find_next(twice=twice, is_limited=is_limited) is rival) is is_found


def test_the_most_promising_contender_on_trial_is_next() -> None:
    rivals = [Rival("a", promise=0.1), Rival("b", promise=0.3), Rival("c", promise=0.9, standing=Standing.SLOWER)]
    assert compare(*rivals).find_next() is rivals[1]
    assert compare(rivals[2]).find_next() is None


@pytest.mark.parametrize(
    ("logs", "is_dropped"),
    [([0.49, 0.49], True), ([0.51, 0.51], False), ([0.21], False), ([0.19], True), ([], True)],
)
def test_contenders_behind_the_best_are_dropped(logs: list[float], is_dropped: bool) -> None:
    """The best is faster by 0.5; one pair may be 0.3 off."""
    rival, best = Rival("slow", logs), Rival("fast", [0.5] * 4, Standing.FASTER)
    compare(rival, best, Rival("fair", [0.3] * 4, Standing.FASTER)).drop_behind()
    assert rival.dropped is is_dropped
    assert not best.dropped


def test_without_a_faster_one_nobody_is_dropped() -> None:
    rival = Rival("slow", [-0.5, -0.5])
    compare(rival, Rival("even", [0.1] * 4, Standing.EVEN)).drop_behind()
    assert not rival.dropped


def test_the_fastest_wins() -> None:
    fair, fast = Rival("fair", [0.3] * 4, Standing.FASTER), Rival("fast", [0.5] * 4, Standing.FASTER)
    assert compare(fair, fast, Rival("slow", [0.9], Standing.SLOWER)).winner is fast
    assert compare(Rival("even", standing=Standing.EVEN)).winner is None


def test_a_long_run_is_paired_with_the_run_after_it() -> None:
    other = contend(seconds=6e-3)
    schedule = compare(other)
    turn = run(schedule)
    assert turn == Turn(other, None)
    assert run(schedule) is None, "the measurement has not ended"
    assert schedule.score(turn, 6e-3)
    schedule.end_turn(turn, schedule.runs.end + 6e-3)
    assert run(schedule, 9e-3) is None
    assert other.evidence.logs == [pytest.approx(math.log(math.sqrt(8 * 9) / 6))]
    assert run(schedule) == Turn(other, None)


def test_short_runs_are_compared_with_as_many_before_them() -> None:
    other = contend(seconds=2e-3)
    schedule = compare(other)
    assert [run(schedule, seconds) for seconds in (3e-3, 4e-3, 4e-3, 4e-3, 4e-3)] == [None] * 5
    turn = run(schedule, 4e-3)
    assert turn == Turn(other, 3e-3)
    schedule.score(turn, 12e-3)
    assert (schedule.cost, other.cost, other.evidence.logs) == (12e-3, 12e-3, [pytest.approx(math.log(3 / 2))])
    schedule.end_turn(turn, schedule.runs.end + 12e-3)
    assert run(schedule) is None
    assert not schedule.runs.recent, "the run after a measurement has cold caches"


@pytest.mark.parametrize("change", [{"unprepared": 1}, {"unjudged": 1}, {"stage": Stage.WAITING}])
def test_nothing_is_measured_while_the_tuner_works_or_nothing_is_compared(change: dict[str, object]) -> None:
    schedule = compare(contend())
    before = dict(vars(schedule))
    vars(schedule).update(change)
    assert run(schedule) is None
    vars(schedule).update({name: before[name] for name in change})
    assert run(schedule) is not None


def test_where_runs_leave_gaps_pairs_are_measured_in_them() -> None:
    schedule = compare(contend())
    schedule.runs._gap = schedule.runs._gap_before = 1.0
    begin = schedule.runs.end = NOW
    assert schedule.note_run(begin + 1.0, ACTIVE, begin + 2.0) is None
    end = schedule.runs.end
    assert schedule.runs.is_idle(end + 0.1)
    found = schedule.begin_pair()
    assert found is schedule.contenders[0]
    assert schedule.begin_pair() is None, "during another measurement"
    schedule.end_pair(found, 2 * ACTIVE, 2 * ACTIVE, end)
    assert found.evidence.logs == [pytest.approx(math.log(2))]
    assert (schedule.cost, schedule.runs.recent[-1]) == (2 * ACTIVE, 2 * ACTIVE)
    assert schedule.begin_pair() is found
    schedule.end_pair(found, ACTIVE, ACTIVE, end - 1)
    assert len(found.evidence.logs) == 1, "a run came in between"


def test_the_results_of_some_pairs_are_compared_and_of_each_that_decides() -> None:
    other = contend(seconds=ACTIVE)
    schedule = compare(other)
    due = [schedule.score(Turn(other, ACTIVE * 1.08 ** (-1) ** number), 0.0) for number in range(17)]
    assert {number for number, is_due in enumerate(due, 1) if is_due} == JUDGED
    faster = contend(seconds=ACTIVE, logs=[1.0, 1.1])
    assert compare(faster).score(Turn(faster, ACTIVE * 2.8), 0.0) is False
    assert compare(faster).score(Turn(faster, ACTIVE * 2.8), 0.0) is True, "the fourth"
    assert faster.is_faster


def test_the_first_run_that_counts_is_noted() -> None:
    schedule = Schedule[Contender](is_dynamic=False)
    run(schedule)
    run(schedule)
    assert schedule.first_run == NOW + ACTIVE
    schedule.restart()
    assert schedule.first_run == 0.0, "the next trial waits for a run of its own"
