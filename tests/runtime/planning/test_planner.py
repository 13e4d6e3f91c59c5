"""The first plan, and plans for which no other device is asked; variants of a model, which are plans of their own."""

from collections.abc import Sequence

import pytest

from nnapi import Device, device
from nnapi.codes import OperandCode, OperationCode, PreferenceCode
from nnapi.contract.driver import Performance, Verdict
from nnapi.contract.timings import Cost, Element, Timings
from nnapi.contract.workload import find_work
from nnapi.drivers.limited import Limited
from nnapi.model.builder import Builder
from nnapi.model.facts import Kind
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from nnapi.runtime.planning.device_answers import Asked, DeviceAnswers
from nnapi.runtime.planning.planner import make_first_plan, make_plans, make_sure_plan
from tests.runtime.choice.trial_cases import network
from tests.runtime.device_cases import capabilities, chain, limited


class Shaping(Limited):
    """The reference with a variant of every model."""

    def list_variants(self, model: Model) -> list[str]:
        return ["upside down"]

    def predict_variant(self, model: Model) -> str:
        return ""


def test_plans_that_are_not_compared_have_the_usual_variant() -> None:
    reference = device("nnapi-reference")
    devices = [Device(Shaping(reference.driver, "shaping", declared=capabilities())), reference]
    answers = DeviceAnswers(network(), devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER)
    (only,) = make_plans(answers, compared=False)
    assert only.variant == ""
    assert [plan.variant for plan in make_plans(answers)] == ["", "upside down", ""]


class SlowlyStarting(Limited):
    """The reference, as an engine that takes long to start."""

    starts_slowly = True

    def verdicts(self, model: Model) -> list[Verdict]:
        return [Verdict(True)] * len(model.operations)


@pytest.mark.parametrize(("seconds", "chosen"), [(1e-3, "quick"), (0.2, "slow to start")])
def test_a_slow_start_is_worth_less_than_long_runs(seconds: float, chosen: str) -> None:
    """Where a run takes long, the engine that is predicted to be 1.5 times as fast is the first."""
    reference = device("nnapi-reference").driver
    devices = [
        Device(Shaping(reference, "quick", declared=capabilities())),
        Device(SlowlyStarting(reference, "slow to start", declared=capabilities())),
    ]
    costs = {"quick": seconds, "slow to start": seconds / 1.5}
    tables = {name: Timings(0, 0, {(Kind.ELEMENTWISE, Element.FLOAT32): Cost(cost)}) for name, cost in costs.items()}
    plan = make_first_plan(DeviceAnswers(chain(), devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER, None, tables))
    assert plan is not None
    assert plan.devices == (chosen,)


class Decomposing(Limited):
    """The reference, as an engine that takes composites as ten operations, each as expensive as the composite."""

    def verdicts(self, model: Model) -> list[Verdict]:
        return [Verdict(True, parts=(find_work(model, call),) * PARTS) for call in model.operations]


PARTS = 10


@pytest.mark.parametrize("faster", [PARTS / 2, PARTS * 2])
def test_plans_are_compared_where_decomposed_composites_are_slower_than_predicted(faster: float) -> None:
    """Whether the engine remains the fastest or not."""
    builder = Builder()
    builder.output(builder.gelu(builder.input(tensor("float32", (4,))), False))
    model, reference = builder.finish(), device("nnapi-reference").driver
    devices = [
        Device(Decomposing(reference, "decomposing", declared=capabilities())),
        Device(Shaping(reference, "whole", declared=capabilities())),
    ]
    costs = {"decomposing": 1e-3 / faster, "whole": 1e-3}
    kind = (Kind.TRANSCENDENTAL, Element.FLOAT32)
    tables = {name: Timings(0, 0, {kind: Cost(cost)}) for name, cost in costs.items()}
    answers = DeviceAnswers(model, devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER, None, tables)
    assert make_first_plan(answers) is None
    best = make_plans(answers, compared=False)[0]
    assert best.devices == (("whole",) if faster < PARTS else ("decomposing",))


def test_a_decomposed_composite_costs_as_declared_where_nothing_is_measured() -> None:
    """The first of equal devices is sure to be the best: the number of parts says nothing of their seconds."""
    builder = Builder()
    builder.output(builder.gelu(builder.input(tensor("float32", (4,))), False))
    model, reference = builder.finish(), device("nnapi-reference").driver
    devices = [
        Device(Decomposing(reference, "decomposing", declared=capabilities(0.1))),
        Device(Shaping(reference, "whole", declared=capabilities(0.1))),
    ]
    known: Asked = {}
    answers = DeviceAnswers(model, devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER, asked=known)
    plan = make_sure_plan(answers)
    assert plan is not None
    assert plan.devices == ("decomposing",)
    assert [found.name for found, *_ in known] == ["decomposing"]
    (costs,) = answers.problem.compute
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    ("costs", "takes", "chosen", "asked"),
    [
        ((0.02, 0.05), (), "first", {"first"}),
        ((0.05, 0.02), (), "second", {"second"}),
        ((0.02, 0.02), (), "first", {"first"}),
        ((0.02, 0.05), (OperationCode.ADD,), None, {"first"}),
    ],
)
def test_a_plan_that_no_other_can_beat_asks_no_other_device(
    costs: tuple[float, float], takes: Sequence[int], chosen: str | None, asked: set[str]
) -> None:
    first, second = (capabilities(cost) for cost in costs)
    devices = [limited("first", takes or None, first), limited("second", None, second), device("nnapi-reference")]
    known: Asked = {}
    answers = DeviceAnswers(network(), devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER, asked=known)
    plan = make_sure_plan(answers)
    assert (plan and plan.devices) == (chosen and (chosen,))
    assert {found.name for found, *_ in known} == asked
    if plan is not None:
        (other,) = make_plans(answers, compared=False)
        assert (plan.identity, plan.predicted) == (other.identity, other.predicted)


def test_devices_that_are_cheapest_for_different_operations_are_compared() -> None:
    fast, slow = Performance(0.01, 0.01), Performance(0.9, 0.9)
    floats = capabilities(0.01)._replace(by_type={OperandCode.TENSOR_QUANT8_ASYMM: slow})
    bytes_ = capabilities(0.9)._replace(by_type={OperandCode.TENSOR_QUANT8_ASYMM: fast})
    b = Builder()
    size = 999, 999
    x = b.dequantize(b.input(tensor("quant8_asymm", size, 0.5, 3)), out=tensor("float32", size))
    b.output(b.add(x, x))
    devices = [limited("floats", None, floats), limited("bytes", None, bytes_)]
    answers = DeviceAnswers(b.finish(), devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER)
    assert make_sure_plan(answers) is None
    assert make_plans(answers, compared=False)[0].devices == ("bytes", "floats")
