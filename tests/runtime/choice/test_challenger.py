"""Measurements of a plan, and what they are worth."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.errors import OpFailedError
from nnapi.model.operand import Array
from nnapi.runtime.choice.challenger import Challenger, Inputs, open_inference, time_runs
from nnapi.runtime.choice.paired_times import Standing, count_runs
from nnapi.runtime.executors import stopwatch
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.executors.stopwatch import Stopwatch
from nnapi.runtime.planning.plan import Explanation, Plan, run_everything_on
from tests.runtime.choice.trial_cases import Clock, Machine, X, network

MODEL = network()
PLAN = Plan(MODEL, (run_everything_on(MODEL, "first"),), lambda: Explanation((), 1e-3))


class Timed:
    """A prepared plan that moves a clock by the next of some seconds, and doubles its inputs."""

    def __init__(self, clock: Clock, *seconds: float) -> None:
        self.clock, self.left = clock, list(seconds)
        self.error: Exception | None = None

    def execute(self, request: Request) -> Outcome:
        if self.error is not None:
            raise self.error
        self.clock.now += self.left.pop(0) if self.left[1:] else self.left[0]
        return Outcome([2 * array for array in request.inputs if array is not None])

    def close(self) -> None: ...


def prepare(prepared: Timed, logs: Sequence[float] = (), *, is_doubtful: bool = False) -> Challenger:
    found = Challenger(PLAN, is_doubtful=is_doubtful, logs=logs)
    outputs = found.prepare(lambda: ReadyPlan(PLAN, prepared), [X])
    assert outputs is not None
    np.testing.assert_array_equal(outputs[0], 2 * X)
    return found


@pytest.mark.parametrize(
    ("lengths", "runs"),
    [
        ((12, 8), 1),
        ((13, 12), 2),
        ((13, 14, 13, 13, 13, 13), 6),
        ((21, 13, 13, 13, 13, 13), 6),
        ((20, 20, 12), 2),
        ((20, 19, 13, 13, 13, 13), 6),
    ],
    ids=["shorter", "then shorter", "about as long", "once disturbed", "longer", "in cold caches"],
)
def test_a_clear_ratio_needs_fewer_runs(machine: Machine, lengths: Sequence[float], runs: int) -> None:
    """Beside 2.8 milliseconds; a single long run may have been disturbed."""
    left = list(lengths)

    def infer(inputs: Inputs) -> Sequence[Array]:
        machine.clock.now += left.pop(0) * 0.2e-3
        return [np.negative(inputs[0])]

    seconds, (output,) = time_runs(Stopwatch(), infer, [X], active=2.8e-3)
    assert len(lengths) - len(left) == runs
    assert seconds == pytest.approx(min(lengths[:runs]) * 0.2e-3)
    np.testing.assert_array_equal(output, -X)


@pytest.mark.parametrize(
    ("milliseconds", "runs"),
    [(0, 8), (1.24, 8), (1.25, 6), (5.9, 6), (6, 2), (19, 2), (20, 1), (900, 1)],
)
def test_short_runs_are_repeated(milliseconds: float, runs: int) -> None:
    assert count_runs(milliseconds / 1e3) == runs


@pytest.mark.parametrize(
    ("inputs", "is_direct"), [([X], True), ([X, None], False), ([np.array(1, np.float32)], False), ([X, X[0]], True)]
)
def test_the_fast_path_is_measured_where_there_is_one(inputs: Inputs, is_direct: bool) -> None:
    class Opening(Timed):
        def open_handle(self, options: OpenOptions) -> Handle:
            shapes = [array.shape for array in inputs if array is not None]
            assert options == OpenOptions(shapes if is_direct else None)
            return Handle(self.execute, self.open_handle, (lambda given: [np.array(7)]) if is_direct else None)

    infer = open_inference(ReadyPlan(PLAN, Opening(Clock(), 0.0)), inputs)
    assert (infer(inputs)[0].tolist() == 7) is is_direct


@pytest.mark.parametrize(
    ("logs", "gain", "promise"),
    [([], 0.5, 1.1), ([-0.7], -0.1, 0.2), ([0.2] * 4, 0.2, 0.35), ([-0.2] * 9, -0.2, -0.1)],
)
def test_few_pairs_promise_more(logs: list[float], gain: float, promise: float) -> None:
    found = Challenger(PLAN, is_doubtful=False, logs=logs)
    found.first_gain = 0.5
    assert (found.log_gain, found.promise) == (pytest.approx(gain), pytest.approx(promise))


@pytest.mark.parametrize(("cost", "price"), [(0.0, 12e-3), (5e-3, 5e-3), (50e-3, 12e-3)])
def test_a_pair_costs_what_the_last_one_did_or_less(cost: float, price: float) -> None:
    found = Challenger(PLAN, is_doubtful=False)
    found.seconds, found.cost = 2e-3, cost
    assert found.price == pytest.approx(price)


def test_waiting_for_a_processor_in_the_first_run_is_left_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known about the length of the run before it."""
    waited = [0.0]
    monkeypatch.setattr(stopwatch, "read_waited", lambda: waited[0])

    class Interrupted(Timed):
        def execute(self, request: Request) -> Outcome:
            if not waited[0]:
                waited[0] = 1.5
                self.clock.now += 1.5
            return super().execute(request)

    plan = PLAN.on_threads(1)
    found = Challenger(plan, is_doubtful=False)
    found.prepare(lambda: ReadyPlan(plan, Interrupted(machine.clock, 2e-3)), [X])
    assert found.seconds == pytest.approx(2e-3)


def test_a_challenger_is_on_trial_from_its_preparation_to_its_end(machine: Machine) -> None:
    found = Challenger(PLAN, is_doubtful=False)
    assert not found.is_on_trial
    found = prepare(Timed(machine.clock, 90e-3, 31.5e-3, 30e-3))
    assert found.is_on_trial
    assert found.seconds == pytest.approx(31.5e-3), "the first run warms it up"
    assert not found.is_faster
    found.standing = Standing.FASTER
    assert not found.is_on_trial
    assert found.is_faster
    found.reason = "wrong"
    assert not found.is_faster
    found.standing = Standing.ON_TRIAL
    assert not found.is_on_trial
    dropped = prepare(Timed(machine.clock, 10e-3))
    dropped.drop()
    assert (dropped.standing, dropped.ready, dropped.reason) == (Standing.SLOWER, None, "")


@pytest.mark.parametrize(("now", "is_faster"), [(9.9e-3, True), (10.1e-3, False), (20e-3, False)])
def test_an_engine_that_becomes_faster_by_a_tenth_is_timed_again(now: float, is_faster: bool, machine: Machine) -> None:
    prepared = Timed(machine.clock, 11e-3)
    found = prepare(prepared)
    prepared.left = [now]
    assert found.time_again([X]) is is_faster
    assert found.seconds == pytest.approx(min(now, 11e-3))


@pytest.mark.parametrize(
    ("error", "reason"), [(OpFailedError("no"), "fails: no"), (MemoryError("none left"), ""), (None, "")]
)
def test_a_preparation_that_fails_excludes_it_unless_memory_was_short(
    error: Exception | None, reason: str, machine: Machine
) -> None:
    prepared = Timed(machine.clock, 1e-3)
    prepared.error = error
    found = Challenger(PLAN, is_doubtful=False)
    assert (found.prepare(lambda: ReadyPlan(PLAN, prepared), [X]) is None) is (error is not None)
    assert found.describe().reason == reason
    assert found.standing is (Standing.ON_TRIAL if error is None else Standing.SLOWER)


@pytest.mark.parametrize(("error", "reason"), [(OpFailedError("no"), "fails: no"), (RuntimeError("odd"), "")])
def test_a_measurement_that_fails_excludes_it(error: Exception, reason: str, machine: Machine) -> None:
    prepared = Timed(machine.clock, 1e-3)
    found = prepare(prepared)
    prepared.error = error
    assert found.measure(1e-3, [X]) is None
    assert (found.standing, found.reason, found.evidence.logs) == (Standing.SLOWER, reason, [])


def test_pairs_are_judged_as_they_come(machine: Machine) -> None:
    found = prepare(Timed(machine.clock, 10e-3))
    for active in (18e-3, 18e-3, 18.5e-3):
        assert measure(found, active)
        assert found.standing is Standing.ON_TRIAL
    assert found.evidence.logs == pytest.approx([math.log(1.8), math.log(1.8), math.log(1.85)])
    measure(found, 18e-3)
    assert found.is_faster


def test_a_disturbed_measurement_of_short_runs_is_no_pair(machine: Machine) -> None:
    """A slower machine is believed at last."""
    device = Timed(machine.clock, 1e-3)
    found = prepare(device)
    device.left = [3.5e-3]
    measure(found, 2e-3)
    assert found.evidence.logs == []
    measure(found, 2e-3)
    assert found.evidence.logs == [pytest.approx(math.log(2 / 3.5))]


@pytest.mark.parametrize(("active", "pairs"), [(51e-3, 1), (21e-3, 2), (18e-3, 4)])
def test_runs_of_20_ms_or_more_need_fewer_pairs(active: float, pairs: int, machine: Machine) -> None:
    found = prepare(Timed(machine.clock, 10e-3))
    for _ in range(pairs):
        assert found.is_on_trial
        measure(found, active)
    assert found.is_faster


def measure(found: Challenger, active: float) -> bool:
    outputs = found.measure(active, [X])
    found.add_pair(active)
    return outputs is not None


@pytest.mark.parametrize(("is_doubtful", "standing"), [(False, Standing.FASTER), (True, Standing.ON_TRIAL)])
def test_a_doubtful_plan_must_be_faster_by_more(is_doubtful: bool, standing: Standing, machine: Machine) -> None:
    """By 2.5 %, of 2 and of 3 that are asked."""
    found = prepare(Timed(machine.clock, 1e-3), [0.0246, 0.0247, 0.0248, 0.0247], is_doubtful=is_doubtful)
    found.decide()
    assert found.standing is standing
