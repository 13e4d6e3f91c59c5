"""Prices: shipped timings count before declared costs."""

import pytest

from nnapi import Builder, OperandCode, OperationCode, PreferenceCode, tensor
from nnapi.contract.driver import Capabilities, Performance
from nnapi.contract.timings import Cost, Element, Timings
from nnapi.contract.workload import Work, find_work
from nnapi.model.facts import Kind
from nnapi.model.nesting import list_call_references
from nnapi.runtime.costs.prices import NOMINAL, TURNS, Prices, performance, predict
from nnapi.runtime.planning.device_answers import CUT
from nnapi.runtime.planning.plan import If, Run, Step
from tests.runtime.control_cases import branch, counting
from tests.runtime.device_cases import REFERENCE, chain, limited
from tests.runtime.planning_cases import make_plan

FAST = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
CLASS = Kind.ELEMENTWISE, Element.FLOAT32
DECLARED = Capabilities(Performance(0.5, 3.0), launch_seconds=7e-6, seconds_per_byte=5e-10)
SHIPPED = Timings(1e-6, 2e-11, {CLASS: Cost(3e-6, 0.0, 1e-9)})
MODEL = chain(1)
CALL = MODEL.operations[0]
NBYTES = 2 * 16


def test_shipped_timings_replace_declared_costs() -> None:
    prices = Prices(DECLARED, SHIPPED)
    assert (prices.launch, prices.byte) == (1e-6, 2e-11)
    assert prices.seconds(MODEL, CALL, FAST) == pytest.approx(3e-6 + 1e-9 * NBYTES)


@pytest.mark.parametrize("timings", [None, Timings(7e-6, 5e-10, {})])
def test_a_class_without_timings_is_as_declared(timings: Timings | None) -> None:
    prices = Prices(DECLARED, timings)
    assert (prices.launch, prices.byte) == (7e-6, 5e-10)
    assert prices.seconds(MODEL, CALL, FAST) == pytest.approx(0.5 * predict(NOMINAL, find_work(MODEL, CALL)))


def test_declared_costs_are_relative_to_the_reference() -> None:
    prices = Prices(DECLARED, reference=SHIPPED)
    assert prices.seconds(MODEL, CALL, FAST) == pytest.approx(0.5 * (3e-6 + 1e-9 * NBYTES))
    assert prices.launch == 7e-6


def test_of_two_branches_one_is_taken() -> None:
    """An IF costs half of what both cost, and itself."""
    prices, model = Prices(DECLARED), branch()
    inner = sum(
        prices.seconds(part, part.operations[0], FAST) for part in list_call_references(model, model.operations[0])
    )
    own = NOMINAL.operation * DECLARED.if_.exec_time
    assert prices.seconds(model, model.operations[0], FAST) == pytest.approx(own + inner / 2, rel=1e-9)


def test_the_plan_follows_the_timings() -> None:
    devices = [limited("quick"), REFERENCE]
    slow = Timings(0.0, 0.0, {CLASS: Cost(1.0)})
    assert make_plan(MODEL, devices, FAST).devices == ("quick",)
    plan = make_plan(MODEL, devices, FAST, None, {"quick": slow})
    assert plan.devices == (REFERENCE.name,)
    assert dict(plan.decisions[0].costs)["quick"] == 1.0


def test_so_do_the_plans_inside_control_flow() -> None:
    devices = [limited("quick"), REFERENCE]
    slow = Timings(0.0, 0.0, {(kind, element): Cost(1.0) for kind in Kind for element in Element})
    inside = {name for step in make_plan(branch(), devices, FAST).steps for name in step_devices(step)}
    assert inside == {"quick"}
    plan = make_plan(branch(), devices, FAST, None, {"quick": slow})
    assert {name for step in plan.steps for name in step_devices(step)} == {REFERENCE.name}


def step_devices(step: Step) -> tuple[str, ...]:
    if isinstance(step, Run):
        return (step.device,)
    assert isinstance(step, If)
    return (*step.then.devices, *step.otherwise.devices)


@pytest.mark.parametrize(("gain", "parts"), [(0.5 * CUT, 1), (3.0 * CUT, 2)])
def test_devices_share_a_model_where_that_gains_more_than_the_cut_costs(gain: float, parts: int) -> None:
    devices = [limited("first"), limited("second", [OperationCode.ABS])]
    costs = [Timings(0.0, 0.0, {CLASS: Cost(seconds)}) for seconds in (1e-3 + gain, 1e-3)]
    tables = dict(zip(("first", "second"), costs, strict=True))
    assert len(make_plan(chain(2), devices, FAST, None, tables).steps) == parts


def test_the_cost_of_the_only_plan_is_worked_out_on_demand() -> None:
    model, device, predicted = chain(3), limited(), list[object]()

    def seconds(*arguments: object) -> float:
        predicted.append(arguments)
        return 1.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prices, "seconds", seconds)
        plan = make_plan(model, [device], FAST).on_threads(2)
        assert (plan.devices, plan.threads, predicted) == ((device.name,), 2, [])
        assert [decision.chosen for decision in plan.decisions] == [device.name] * 3
        assert (plan.predicted, plan.alternatives) == (3, ())
        assert len(predicted) == 3


def test_a_cost_has_five_terms() -> None:
    work = Work(Kind.CONVOLUTION, Element.FLOAT32, macs=17, nbytes=19, steps=13, pixels=23, taps=29)
    assert predict(Cost(2, 3, 5, 7, 11), work) == 2 * 13 + 3 * 17 + 5 * 19 + 7 * 23 + 11 * 29


@pytest.mark.parametrize(
    ("type", "is_relaxed", "exec_time"),
    [("float32", False, 0.5), ("float32", True, 0.25), ("float16", True, 0.5), ("int32", True, 0.125)],
)
def test_the_declared_performance_is_that_of_the_first_input(type: str, is_relaxed: bool, exec_time: float) -> None:
    b = Builder()
    b.output(b.abs(b.input(tensor(type, (2,)))))
    b.model.relax_computation_float32_to_float16(is_relaxed)
    model = b.finish()
    declared = Capabilities(Performance(0.5), {OperandCode.TENSOR_INT32: Performance(0.125)}, relaxed=Performance(0.25))
    assert performance(model, model.operations[0], declared).exec_time == exec_time


def test_low_power_counts_energy() -> None:
    work = predict(NOMINAL, find_work(MODEL, CALL))
    low = PreferenceCode.PREFER_LOW_POWER
    assert Prices(DECLARED).seconds(MODEL, CALL, low) == pytest.approx(3.0 * work)
    assert Prices(DECLARED).seconds(MODEL, CALL, FAST) == pytest.approx(0.5 * work)


def test_a_loop_costs_its_condition_and_its_body_in_each_assumed_turn() -> None:
    prices, model = Prices(DECLARED._replace(while_=Performance(0.25))), counting(3.0)
    inner = sum(
        prices.seconds(part, call, FAST)
        for part in list_call_references(model, model.operations[0])
        for call in part.operations
    )
    own = 0.25 * NOMINAL.operation
    assert prices.seconds(model, model.operations[0], FAST) == pytest.approx(TURNS * (own + inner), rel=1e-9)


def test_the_inside_of_control_flow_is_never_a_refusal() -> None:
    endless = Prices(DECLARED, Timings(0.0, 0.0, {CLASS: Cost(1e12)}))
    assert endless.seconds(branch(), branch().operations[0], FAST) == pytest.approx(1e9)
