"""Prices: what is measured counts before what is declared."""

import pytest

from nnapi import Device, OperationCode, PreferenceCode
from nnapi.drivers.base import Capabilities, Performance
from nnapi.drivers.limited import Limited
from nnapi.model.nesting import list_called
from nnapi.runtime.costs.cost_tables import Cost, Table
from nnapi.runtime.costs.prices import NOMINAL, Prices, list_prices
from nnapi.runtime.costs.workload import Element, Kind, find_work
from nnapi.runtime.planning.plan import If, Run, Step
from nnapi.runtime.planning.planner import CUT, make_plan
from tests.runtime.control_cases import branch
from tests.runtime.device_cases import REFERENCE, chain, limited

FAST = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
CLASS = Kind.ELEMENTWISE, Element.FLOAT32
DECLARED = Capabilities(Performance(0.5, 3.0), launch_seconds=7e-6, seconds_per_byte=5e-10)
MEASURED = Table(1e-6, 2e-11, {CLASS: Cost(3e-6, 0.0, 1e-9)})
MODEL = chain(1)
CALL = MODEL.operations[0]
NBYTES = 2 * 16


def test_measured_costs_replace_declared_ones() -> None:
    prices = Prices(DECLARED, MEASURED)
    assert (prices.launch, prices.byte) == (1e-6, 2e-11)
    assert prices.seconds(MODEL, CALL, FAST) == pytest.approx(3e-6 + 1e-9 * NBYTES)


def test_what_was_not_measured_is_as_declared() -> None:
    untried, failed = Prices(DECLARED), Prices(DECLARED, Table(None, None, {CLASS: None}))
    nominal = NOMINAL.seconds(find_work(MODEL, CALL))
    for prices in (untried, failed):
        assert (prices.launch, prices.byte) == (7e-6, 5e-10)
        assert prices.seconds(MODEL, CALL, FAST) == pytest.approx(0.5 * nominal)


def test_declared_figures_are_relative_to_the_measured_reference() -> None:
    prices = Prices(DECLARED, reference=MEASURED)
    assert prices.seconds(MODEL, CALL, FAST) == pytest.approx(0.5 * (3e-6 + 1e-9 * NBYTES))
    assert prices.launch == 7e-6


def test_what_was_not_measured_yet_is_as_it_is_on_a_device_that_declares_the_same() -> None:
    alike = Table(None, None, {CLASS: Cost(4e-6, 0.0, 0.0)})
    tables = {"alike": alike, "better": Table(None, None, {CLASS: Cost(1e-9, 0.0, 0.0)})}
    other = DECLARED._replace(default=Performance(0.1, 0.1))
    devices = [
        Device(Limited(REFERENCE.driver, name, declared=declared))
        for name, declared in (("asked", DECLARED._replace(launch_seconds=1.0)), ("alike", DECLARED), ("better", other))
    ]

    def asked(table: Table) -> float:
        return list_prices(devices, tables | {"asked": table})[0].seconds(MODEL, CALL, FAST)

    assert asked(Table()) == 4e-6
    assert asked(Table(None, None, {CLASS: Cost(5e-6, 0.0, 0.0)})) == 5e-6
    failed = Table(None, None, {CLASS: None})
    assert asked(failed) == pytest.approx(0.5 * NOMINAL.seconds(find_work(MODEL, CALL)))


def test_of_two_branches_one_is_taken() -> None:
    """An IF costs half of what both cost, and itself."""
    prices, model = Prices(DECLARED), branch()
    inner = sum(prices.seconds(part, part.operations[0], FAST) for part in list_called(model, model.operations[0]))
    own = NOMINAL.operation * DECLARED.if_.exec_time
    assert prices.seconds(model, model.operations[0], FAST) == pytest.approx(own + inner / 2, rel=1e-9)


def test_the_plan_follows_what_was_measured() -> None:
    devices = [limited("quick"), REFERENCE]
    slow = Table(0.0, 0.0, {CLASS: Cost(1.0, 0.0, 0.0)})
    assert make_plan(MODEL, devices, FAST).devices == ("quick",)
    plan = make_plan(MODEL, devices, FAST, None, {"quick": slow})
    assert plan.devices == (REFERENCE.name,)
    assert dict(plan.decisions[0].costs)["quick"] == 1.0


def test_so_do_the_plans_inside_control_flow() -> None:
    devices = [limited("quick"), REFERENCE]
    slow = Table(0.0, 0.0, {(kind, element): Cost(1.0, 0.0, 0.0) for kind in Kind for element in Element})
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
def test_measured_devices_share_a_model_where_that_gains_more_than_the_cut_costs(gain: float, parts: int) -> None:
    devices = [limited("first"), limited("second", [OperationCode.ABS])]
    costs = [Table(0.0, 0.0, {CLASS: Cost(seconds, 0.0, 0.0)}) for seconds in (1e-3 + gain, 1e-3)]
    tables = dict(zip(("first", "second"), costs, strict=True))
    assert len(make_plan(chain(2), devices, FAST, None, tables).steps) == parts


def test_what_the_only_plan_costs_is_worked_out_when_somebody_asks() -> None:
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
