"""How plans are timed, by a clock that only the plans move."""

from collections.abc import Iterable, Iterator
from itertools import chain, repeat

import pytest

from nnapi.drivers.base import Outcome, Request
from nnapi.errors import OpFailedError
from nnapi.runtime.autotune import plan_timing, timing
from nnapi.runtime.autotune.plan_timing import BUDGET, HOPELESS, SURE, TIE, TURNS, PlanTiming, compare, rank
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.planning.plan import Decision, Plan, Run
from tests.runtime.device_cases import REFERENCE
from tests.runtime.device_cases import chain as some_model


class Clock:
    """What stands in for the module time; a device that was idle takes ``waking`` longer."""

    def __init__(self) -> None:
        self.now, self.has_slept = 0.0, False

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.has_slept = True


class Scripted:
    """Each run takes the next number of seconds; None stands for one that fails."""

    def __init__(self, clock: Clock, seconds: Iterable[float | None], waking: float = 0.0) -> None:
        self._clock, self._seconds, self._waking = clock, iter(seconds), waking
        self.runs = 0

    def execute(self, request: Request) -> Outcome:
        self.runs += 1
        seconds = next(self._seconds)
        if seconds is None:
            raise OpFailedError("as the script says")
        self._clock.now += seconds + (self._waking if self._clock.has_slept else 0)
        self._clock.has_slept = False
        return Outcome([])

    def close(self) -> None:
        pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    for module in (plan_timing, timing):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(plan_timing, "time_undisturbed", timing.time_call)
    monkeypatch.setattr(plan_timing, "count_waited_seconds", lambda: 0.0)
    return clock  # type: ignore[return-value]


def plan(*devices: str, predicted: float = 1.0) -> Plan:
    model = some_model(1)
    steps = tuple(Run(device, model, (0,), model.inputs, model.outputs) for device in devices)
    return Plan(model, steps, (Decision(0, "ABS", devices[0], (), ()),), predicted)


def timed(
    clock: Clock,
    *seconds: float | None,
    first: float = 0.0,
    waking: float = 0.0,
    devices: str = "a",
    predicted: float = 1.0,
) -> tuple[PlanTiming, Scripted]:
    """A plan that ran once; its later runs take the given seconds, the last ones like the last given."""
    prepared = Scripted(clock, chain([first or seconds[0]], seconds, repeat(seconds[-1])), waking)
    made = PlanTiming(plan(*devices, predicted=predicted), Request([]))
    made.ready = ReadyPlan(made.plan, prepared)
    made.run()
    return made, prepared


def test_the_first_run_counts_until_there_is_another(clock: Clock) -> None:
    made, _ = timed(clock, 2.0, 3.0, first=1.0)
    assert made.seconds == 1.0
    made.take_turn()
    assert made.seconds == 2.0
    made.take_turn()
    assert made.seconds == 2.0


def test_all_have_turns_and_short_runs_many_in_each(clock: Clock) -> None:
    (a, quick), (b, slow) = timed(clock, 1e-4), timed(clock, 2e-4)
    compare([a, b])
    assert quick.runs > 20 * TURNS
    assert slow.runs > 10 * TURNS


def test_slow_plans_run_a_few_times_beyond_the_budget(clock: Clock) -> None:
    (a, first), (b, second) = timed(clock, 2 * BUDGET), timed(clock, 3 * BUDGET)
    compare([a, b])
    assert (first.runs, second.runs) == (1 + SURE, 1 + SURE)


def test_what_others_had_is_not_taken_from_the_budget(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_timing, "count_waited_seconds", lambda: 0.95 * clock.now)
    (a, first), (b, second) = timed(clock, BUDGET / 2), timed(clock, BUDGET / 2)
    compare([a, b])
    assert (first.runs, second.runs) == (1 + TURNS, 1 + TURNS)


def test_what_is_hopeless_after_one_run_has_no_other(clock: Clock) -> None:
    (a, first), (b, second) = timed(clock, 0.02), timed(clock, 0.02, first=0.021 * HOPELESS)
    compare([a, b])
    assert first.runs > 1
    assert second.runs == 1


def test_what_is_predicted_to_be_faster_has_another_chance(clock: Clock) -> None:
    (a, _), (b, second) = timed(clock, 0.02), timed(clock, 0.01, first=1.0, predicted=0.9)
    compare([a, b])
    assert second.runs > 2
    assert rank([a, b])[0] is b


def test_a_short_run_that_was_disturbed_is_repeated(clock: Clock) -> None:
    (a, _), (b, second) = timed(clock, 2e-4), timed(clock, 1e-4, first=4e-3)
    compare([a, b])
    assert second.runs > 10
    assert rank([a, b])[0] is b


def test_one_that_fails_runs_no_more_and_is_last(clock: Clock) -> None:
    (a, _), (b, second) = timed(clock, 2e-4), timed(clock, None, first=1e-4)
    compare([a, b])
    assert second.runs == 2
    assert rank([b, a]) == [a, b]


def test_nothing_to_compare(clock: Clock) -> None:
    compare([])
    assert clock.now == 0


@pytest.mark.parametrize(("gain", "is_chosen"), [(1.06, True), (1.04, False)])
def test_a_divided_plan_must_be_faster_by_a_margin(clock: Clock, gain: float, is_chosen: bool) -> None:
    (single, _), (divided, _) = timed(clock, 1e-3), timed(clock, 1e-3 / gain, devices="ab")
    compare([single, divided])
    assert (rank([divided, single])[0] is divided) == is_chosen


@pytest.mark.parametrize(("slower", "is_chosen"), [(TIE - 0.01, True), (TIE + 0.01, False)])
def test_of_two_as_fast_the_one_that_wakes_faster_is_chosen(clock: Clock, slower: float, is_chosen: bool) -> None:
    (sleepy, _), (awake, _) = timed(clock, 1e-3, waking=1e-3), timed(clock, 1e-3 * slower)
    compare([sleepy, awake])
    assert (rank([sleepy, awake])[0] is awake) == is_chosen


@pytest.mark.parametrize(("faster", "is_chosen"), [(TIE - 0.01, True), (TIE + 0.01, False)])
def test_of_two_as_fast_the_one_that_starts_faster_is_chosen(clock: Clock, faster: float, is_chosen: bool) -> None:
    (quick, _), (slow, _) = timed(clock, 1e-3 * faster, devices="a"), timed(clock, 1e-3, devices="b")
    compare([quick, slow])
    assert (rank([slow, quick], slow="b")[0] is quick) == is_chosen
    assert rank([slow, quick])[0] is slow


def test_what_was_not_made_ready_is_last(clock: Clock) -> None:
    missing, (failing, _) = PlanTiming(plan(REFERENCE.name), Request([])), timed(clock, None, first=1.0)
    failing.run()
    assert rank([missing, failing]) == [failing, missing]
