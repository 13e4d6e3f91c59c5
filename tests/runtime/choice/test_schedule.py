"""The schedule of a trial, on its own: which measurement is next, within which budget and gaps, and who is dropped."""

import ast
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from nnapi.runtime.choice import schedule as module
from nnapi.runtime.choice.paired_times import Contender, Standing
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
    assert {"nnapi.runtime.choice.active_runs", "nnapi.runtime.choice.paired_times"} <= found
    outside = {name.partition(".")[0] for name in found}
    assert outside == {"nnapi", "collections", "enum", "math", "numpy", "re", "typing"}, "neither time nor threading"


def compare(*contenders: object) -> Schedule[Contender]:
    """A schedule that compares these."""
    found = Schedule[Contender](is_dynamic=False)
    found.stage, found.contenders = Stage.COMPARING, list(contenders)  # type: ignore[arg-type]
    return found


def compare_late(*contenders: object) -> Schedule[Contender]:
    """A schedule that compares these after runs that permit all measurements."""
    found = compare(*contenders)
    found.runs.spent = 1e3
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
    ("cost", "spent", "is_found"), [(0.0, 0.49, False), (0.0, 0.51, True), (0.3, 4.9, False), (0.3, 5.1, True)]
)
def test_a_measurement_after_a_run_fits_a_twentieth_of_the_runs_and_a_grace_of_as_much(
    cost: float, spent: float, is_found: bool
) -> None:
    """It takes 50 ms. The grace is at most 100 ms, and grows with the time in runs."""
    rival = Rival("second", price=0.05, seconds=2e-3)
    schedule = compare(rival)
    schedule.cost, schedule.idle_cost, schedule.runs.spent, schedule.runs._median = cost, 9.0, spent, 1e-3
    assert (schedule.find_next() is rival) is is_found
    assert schedule.find_next(is_limited=False) is rival


@pytest.mark.parametrize(
    ("cost", "spent", "is_found"), [(0.04, 0.0, True), (0.045, 0.0, False), (0.14, 2.0, True), (0.145, 2.0, False)]
)
def test_in_idle_time_the_whole_grace_is_spent_at_once(cost: float, spent: float, is_found: bool) -> None:
    """A pair takes 50 ms, and 6 runs of the active plan."""
    rival = Rival("second", price=0.05, seconds=2e-3)
    schedule = compare(rival)
    schedule.cost, schedule.idle_cost, schedule.runs.spent, schedule.runs._median = 9.0, cost, spent, 1e-3
    assert (schedule.find_next(twice=True) is rival) is is_found


def test_a_contender_that_seems_much_faster_is_measured_at_once() -> None:
    """The time lost by staying, before and in the next four runs, is part of the budget."""
    other = contend(seconds=3 * ACTIVE)
    other.first_gain = math.log(2.5)
    schedule = compare(other)
    assert run(schedule, 7.5 * ACTIVE) == Turn(other, None)
    assert schedule.lost == pytest.approx(0.6 * 7.5 * ACTIVE)
    schedule.score(Turn(other, None), 300 * ACTIVE)
    schedule.end_turn(Turn(other, None), schedule.runs.end)
    assert run(schedule, 7.5 * ACTIVE) is None, "the budget is spent"
    slow = contend(seconds=ACTIVE / 1.1)
    slow.first_gain = math.log(1.1)
    schedule = compare(slow)
    assert [run(schedule) for _ in range(9)] == [None] * 9
    assert schedule.lost == 0.0


def test_a_contender_that_is_far_ahead_is_measured_before_others_are_prepared() -> None:
    other = contend(seconds=3 * ACTIVE)
    schedule = compare(other)
    schedule.unprepared, schedule.runs.spent = 1, 1e3
    assert run(schedule) is None
    other.first_gain = math.log(1.14)
    assert [schedule.is_urgent, schedule.has_favorite] == [False, False]
    other.first_gain = math.log(1.16)
    assert [schedule.is_urgent, schedule.has_favorite] == [True, True]
    assert run(schedule) == Turn(other, None)


@pytest.mark.parametrize(("gain", "is_favorite"), [(1.06, True), (1.04, False)])
def test_where_runs_need_all_processors_a_small_lead_is_measured_before_others_are_prepared(
    gain: float, is_favorite: bool
) -> None:
    other = contend(seconds=3 * ACTIVE)
    other.first_gain = math.log(gain)
    schedule = compare(other)
    schedule.unprepared, schedule.runs.spent = 1, 1e3
    assert not schedule.has_favorite, "a free processor prepares others soon"
    schedule.is_crowded = True
    assert schedule.has_favorite is is_favorite
    assert run(schedule) == (Turn(other, None) if is_favorite else None)
    assert not schedule.is_urgent, "the tuner still rests"


def test_a_leader_takes_over_and_the_others_are_compared_with_it() -> None:
    leader, other, behind = (
        contend(name, seconds, [0.7] * 3) for name, seconds in (("a", 1e-3), ("b", 2e-3), ("c", 3e-3))
    )
    schedule = compare(leader, other, behind)
    leader.add_pair(2e-3)
    other.evidence.logs[:], behind.evidence.logs[:] = [0.9, 0.8], [0.1, 0.1]
    other.first_gain = 0.8
    assert schedule.leader is leader
    schedule.cost = schedule.idle_cost = schedule.runs.spent = 9.0
    schedule.promote(leader)
    gain = leader.evidence.log_gain
    assert schedule.contenders == [other, behind]
    assert (other.first_gain, other.evidence.logs) == (0.8 - gain, [0.9 - gain, 0.8 - gain])
    assert (other.is_on_trial, behind.standing) == (True, Standing.SLOWER)
    assert (schedule.cost, schedule.idle_cost, schedule.runs.spent, schedule.runs.median) == (0, 0, 0, 1e-3)
    assert schedule.leader is None


@pytest.mark.parametrize(("change", "is_leader"), [({}, False), ({"unprepared": 1}, True)])
def test_the_last_to_be_decided_waits_for_the_end_of_the_trial(change: dict[str, object], is_leader: bool) -> None:
    leader = contend("a", 1e-3, [0.7] * 3)
    leader.add_pair(2e-3)
    schedule = compare(leader)
    vars(schedule).update(change)
    assert (schedule.leader is leader) is is_leader
    schedule._is_measuring = True
    assert schedule.leader is None


OPEN, BEST, CLEAR = [0.1, 0.4, 0.2, 0.3], [0.3, 0.2, 0.4, 0.3], [0.01, 0.02, 0.03, 0.02]


@pytest.mark.parametrize(
    ("logs", "is_open"),
    [(OPEN, True), (CLEAR, False), (OPEN * 6, False), ([0.3], True), ([0.29, 0.3, 0.3, 0.29], False)],
)
def test_two_faster_plans_are_measured_until_the_faster_one_is_known(logs: list[float], is_open: bool) -> None:
    """At most 24 times, and not if the difference hardly matters. The one with fewer pairs is next."""
    best, other = Rival("a", BEST * 2, Standing.FASTER), Rival("b", logs, Standing.FASTER)
    if logs[1:] == [0.3, 0.3, 0.29]:
        best.evidence.logs[:] = [0.3, 0.31, 0.31, 0.3]
    schedule = compare(best, other, Rival("c", [-0.1] * 4, Standing.SLOWER))
    assert schedule.is_decided is not is_open
    assert schedule.find_next(is_limited=False) is (other if is_open else None)


def test_a_faster_plan_is_compared_with_the_leader_if_it_may_be_the_fastest() -> None:
    leader, rival, slower = contend("a", logs=BEST), contend("b", logs=OPEN), contend("c", logs=CLEAR)
    for each in (leader, rival, slower):
        each.standing = Standing.FASTER
    schedule = compare(leader, rival, slower)
    assert schedule.leader is leader
    schedule.promote(leader)
    assert (rival.is_on_trial, slower.standing) == (True, Standing.SLOWER)
    assert rival.evidence.logs == [log - leader.evidence.log_gain for log in OPEN]


def test_a_pair_of_a_plan_that_was_dropped_meanwhile_does_not_count() -> None:
    other = contend("a", logs=OPEN)
    other.drop()
    other.add_pair(1.0)
    assert other.evidence.logs == OPEN
    assert other.standing is Standing.SLOWER


def test_nobody_leads_by_less_than_a_twentieth() -> None:
    near = contend("a", 1e-3, [0.04] * 4)
    near.add_pair(1.04e-3)
    schedule = compare(near, contend("b"))
    assert near.is_faster
    assert schedule.leader is None


def test_the_most_promising_contender_on_trial_is_next() -> None:
    rivals = [Rival("a", promise=0.1), Rival("b", promise=0.3), Rival("c", promise=0.9, standing=Standing.SLOWER)]
    assert compare(*rivals).find_next() is rivals[1]
    assert compare(rivals[2]).find_next() is None


@pytest.mark.parametrize(
    ("logs", "is_dropped"),
    [([0.36] * 4, False), ([0.34] * 4, True), ([0.29] * 2, False), ([0.28] * 2, True), ([0.21], False), ([0.19], True)],
)
def test_contenders_behind_the_best_are_dropped(logs: list[float], is_dropped: bool) -> None:
    """The best is faster by 0.5; one pair may be 0.3 off, four half as much."""
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
    other = contend(seconds=24e-3)
    schedule = compare_late(other)
    turn = run(schedule)
    assert turn == Turn(other, None)
    assert run(schedule) is None, "the measurement has not ended"
    assert schedule.score(turn, 24e-3)
    schedule.end_turn(turn, schedule.runs.end + 24e-3)
    schedule.unjudged = 1
    assert run(schedule, 9e-3) is None, "its results are not compared yet"
    assert other.evidence.logs == [pytest.approx(math.log(math.sqrt(8 * 9) / 24))]
    schedule.unjudged = 0
    assert run(schedule) == Turn(other, None)


def test_the_run_after_a_measurement_is_the_one_before_the_next() -> None:
    """Both follow a measurement, so their caches are alike."""
    other = contend(seconds=21e-3)
    schedule = compare_late(other)
    turn = run(schedule)
    for seconds in (9e-3, 10e-3):
        assert turn is not None
        schedule.score(turn, 21e-3)
        schedule.end_turn(turn, schedule.runs.end + 21e-3)
        turn = run(schedule, seconds)
        assert turn == Turn(other, None)
    logs = [math.log(math.sqrt(before * after) / 21) for before, after in ((8, 9), (9, 10))]
    assert other.evidence.logs == pytest.approx(logs)


def test_short_runs_are_compared_with_as_many_before_them() -> None:
    other = contend(seconds=2e-3)
    schedule = compare_late(other)
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
    schedule = compare_late(contend())
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
    assert (schedule.cost, schedule.idle_cost, schedule.runs.recent[-1]) == (0.0, 2 * ACTIVE, 2 * ACTIVE)
    assert schedule.begin_pair() is found
    schedule.end_pair(found, ACTIVE, ACTIVE, end - 1)
    assert len(found.evidence.logs) == 1, "a run came in between"


def test_the_results_of_some_pairs_are_compared_and_of_each_that_decides() -> None:
    other = contend(seconds=ACTIVE)
    schedule = compare(other)
    due = [schedule.score(Turn(other, ACTIVE * 1.08 ** (-1) ** number), 0.0) for number in range(17)]
    assert {number for number, is_due in enumerate(due, 1) if is_due} == JUDGED
    faster = contend(seconds=ACTIVE, logs=[1.0])
    assert compare(faster).score(Turn(faster, ACTIVE * 2.1), 0.0) is True, "the second"
    assert not faster.is_faster
    assert compare(faster).score(Turn(faster, ACTIVE * 2.1), 0.0) is True, "the third, which decides"
    assert faster.is_faster


def test_the_first_run_that_counts_is_noted() -> None:
    schedule = Schedule[Contender](is_dynamic=False)
    run(schedule)
    run(schedule)
    assert schedule.first_run == NOW + ACTIVE
    schedule.restart()
    assert schedule.first_run == 0.0, "the next trial waits for a run of its own"


def crowd(
    run_seconds: float, gap: float = 0.0, *, is_crowded: bool = True, predicted: float = 0.0, waited: float = 0.0
) -> float:
    """Return the seconds that the tuner, which never lacks work, works beside 20 s of runs of a whole machine, from the
    first run on. A run gets half of the machine during work, whose steps take 3 ms. ``waited`` is the share of a run
    in which other processes had the processor."""
    schedule = Schedule[Contender](is_dynamic=False, is_crowded=is_crowded)
    schedule.predicted = predicted
    runs, now, worked, step_end, tick = schedule.runs, NOW, 0.0, 0.0, 0.5e-3
    begin, left = now, run_seconds
    while now < NOW + 20:
        if schedule.first_run and now >= step_end and not schedule.find_rest(now):
            runs.begin_work(now)
            step_end = now + 3e-3
        is_working, now = now < step_end, now + tick
        worked += is_working * tick
        left -= (0.5 if is_working else 1.0) * tick * (now > begin)
        if is_working and now >= step_end:
            runs.end_work(now)
        if left <= 0:
            schedule.note_run(begin, (now - begin) * (1 - waited), now)
            begin, left = now + gap, run_seconds
    return worked


def test_beside_runs_that_need_all_processors_challengers_are_prepared_in_a_tenth_of_the_time() -> None:
    for run_seconds in (1e-3, 40e-3, 0.7):
        assert 0.07 * 20 < crowd(run_seconds) < 0.1 * 20 + 0.15
    assert 0.07 * 10 < crowd(40e-3, waited=0.5) < 0.1 * 10 + 0.15, "waiting is not idle time"


def test_nothing_rests_for_a_processor_that_is_free() -> None:
    assert crowd(40e-3, is_crowded=False) > 19
    assert crowd(10e-3, 30e-3) > 0.6 * 20, "the time between runs is free"


def test_an_absurd_plan_is_replaced_at_once() -> None:
    assert crowd(40e-3, predicted=17e-3) < 4
    assert crowd(40e-3, predicted=15e-3) > 19


def test_runs_that_other_processes_slow_are_not_absurd() -> None:
    schedule = Schedule[Contender](is_dynamic=False, is_crowded=True)
    schedule.predicted = 10e-3
    for seconds in (20e-3, *[40e-3] * 8):
        run(schedule, seconds)
    schedule.runs.begin_work(NOW)
    schedule.runs.end_work(NOW + 1)
    assert schedule.runs.median > 25e-3
    assert schedule.find_rest(schedule.runs.end) > 0.0


def test_work_goes_on_where_a_faster_plan_is_known_or_no_run_comes() -> None:
    schedule = Schedule[Contender](is_dynamic=False, is_crowded=True)
    run(schedule)
    schedule.runs.begin_work(NOW)
    schedule.runs.end_work(NOW + 1)
    now = schedule.runs.end
    assert schedule.find_rest(now) == pytest.approx((0.9 - 0.1 * ACTIVE) / 0.1)
    assert schedule.find_rest(now + 1) == 0.0
    other = contend()
    other.first_gain = math.log(1.5)
    schedule.contenders.append(other)
    assert schedule.find_rest(now) == 0.0
    schedule.contenders.clear()
    schedule.stage = Stage.CLOSED
    assert schedule.find_rest(now) == 0.0
    schedule.restart()
    assert schedule.find_rest(now) == 0.0, "a new budget"
