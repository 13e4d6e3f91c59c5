"""Predictions: threads, tiny models, and impossible timings."""

import logging
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import PreferenceCode
from nnapi.contract.driver import PrepareOptions, Verdict
from nnapi.contract.precision import Offer
from nnapi.contract.timings import Cost, Element, Timings
from nnapi.contract.winograd import IN_BOTH
from nnapi.model.facts import Kind
from nnapi.model.precision import Precision
from nnapi.runtime.choice import predict
from nnapi.runtime.choice.predict import (
    WORTH_SHARING,
    choose_threads,
    is_tiny,
    list_challengers,
    list_plans,
    predict_plan,
)
from nnapi.runtime.choice.question import Question
from nnapi.runtime.costs import prices
from nnapi.runtime.costs.prices import GAINS, find_tables
from nnapi.runtime.planning.plan import Run
from tests.runtime.choice.trial_cases import Machine, network
from tests.runtime.device_cases import chain

CLASS = Kind.ELEMENTWISE, Element.FLOAT32
IS_TINY = predict.is_tiny


def question(machine: Machine, **options: object) -> Question:
    return Question(network(), machine.devices, PrepareOptions(**options))  # type: ignore[arg-type]


def ship(machine: Machine, seconds: float, mac: float = 0.0) -> None:
    timings = Timings(1e-6, 0.0, {CLASS: Cost(seconds, mac), (Kind.CONVOLUTION, Element.SIGNED): Cost(1e-6, mac)})
    machine.first.timings = machine.second.timings = lambda: timings  # type: ignore[attr-defined]


@pytest.mark.parametrize(("seconds", "threads"), [(WORTH_SHARING / 4, 1), (WORTH_SHARING, 3)])
def test_long_runs_take_all_processors(
    seconds: float, threads: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1, 2}}.__getitem__)
    ship(machine, seconds, 1e-9)
    assert choose_threads(question(machine)) == (threads, False)
    assert choose_threads(question(machine, threads=2)) == (2, False)
    assert choose_threads(question(machine, preference=PreferenceCode.PREFER_SUSTAINED_SPEED)) == (1, False)
    monkeypatch.setattr(predict, "is_tiny", lambda model: True)
    assert choose_threads(question(machine)) == (1, True)
    assert choose_threads(question(machine, threads=2)) == (2, True)


def test_threads_share_amounts_of_work(machine: Machine) -> None:
    ship(machine, 1.0, 4e-9)
    assert find_tables(machine.devices, 4, network())["first"].costs[CLASS] == Cost(1.0, 1e-9)


def test_precision_divides_the_cost_of_floats(machine: Machine) -> None:
    ship(machine, 1.0, 4e-9)
    machine.first.offer_precision = lambda model: Offer(model.precision)  # type: ignore[attr-defined]
    model = network().with_precision(Precision.BFLOAT16)
    costs = {name: table.costs for name, table in find_tables(machine.devices, 1, model).items()}
    assert costs["first"][CLASS] == Cost(1.0, 4e-9 / GAINS[Precision.BFLOAT16])
    assert costs["second"][CLASS] == Cost(1.0, 4e-9)
    signed = Kind.CONVOLUTION, Element.SIGNED
    assert costs["first"][signed] == costs["second"][signed]


def test_impossible_timings_are_discarded(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    ship(machine, 1e-6, 1e-20)
    with caplog.at_level(logging.WARNING):
        assert find_tables(machine.devices, 1, network()) == {}
    assert "the timings of first are discarded" in caplog.text


def test_tiny_models_are_told_by_a_nominal_processor() -> None:
    assert IS_TINY(chain())
    b = nnapi.Builder()
    b.output(b.add(b.input(nnapi.tensor("float32", (1, 100_000))), np.zeros(100_000, np.float32)))
    assert not IS_TINY(b.finish())
    assert is_tiny is IS_TINY


def test_the_plan_of_the_device_predicted_to_be_fastest(machine: Machine) -> None:
    ship(machine, 1e-6, 1e-9)
    slower = Timings(1e-6, 0.0, {CLASS: Cost(1e-3, 1e-9)})
    machine.first.timings = lambda: slower  # type: ignore[attr-defined]
    asked = question(machine)
    assert predict_plan(asked, []).plan.devices == ("second",)
    assert [plan.devices[0] for plan in list_plans(asked, 1)] == ["second", "first"]


@pytest.mark.parametrize(("threads", "predicted"), [(None, 1), (2, 2)])
def test_plans_are_predicted_for_one_thread_unless_more_are_asked_for(
    threads: int | None, predicted: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        prices, "find_tables", lambda devices, *rest: asked.append(rest[0]) or find_tables(devices, *rest)
    )
    assert list_plans(question(machine), threads)
    assert asked == [predicted]


def test_a_device_that_takes_more_threads_is_neither_first_nor_a_challenger(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runs would seem fast, as they use more processors than the others may."""
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1}}.__getitem__)
    machine.second.find_thread_fault = lambda: "no way to limit them"  # type: ignore[attr-defined]
    for threads, names in ((1, ["first"]), (2, ["first", "second"]), (None, ["first", "second"])):
        assert [plan.devices[0] for plan in list_challengers(question(machine), threads, ())] == names
    machine.second.find_thread_fault = lambda: ""  # type: ignore[attr-defined]
    assert len(list_challengers(question(machine), 1, ())) == 2
    machine.first.find_thread_fault = lambda: "no way to limit them"  # type: ignore[attr-defined]
    plan = predict_plan(question(machine, threads=1), []).plan
    assert plan.devices == ("second",)
    assert plan.notes == ("first may take more than 1 thread",)
    assert predict_plan(question(machine, threads=2), []).plan.devices == ("first",)


def test_each_engine_gets_a_trial_and_the_reference_only_if_it_is_near(machine: Machine) -> None:
    """However slow the timings say that it is: on a processor that nobody measured, they may be wrong."""
    machine.devices.append(nnapi.device("nnapi-reference"))
    costs = {each.name: cost for each, cost in zip(machine.devices, (1e-4, 3e-4, 3e-2), strict=True)}

    def list_names(*excluded: str) -> list[str]:
        for each in machine.devices:
            timings = Timings(1e-6, 0.0, {CLASS: Cost(costs[each.name], 0.0)})
            each.driver.timings = lambda timings=timings: timings  # type: ignore[attr-defined]
        return [plan.identity for plan in list_challengers(question(machine), 1, excluded) if plan.is_simple]

    first, second = "everything on first", "everything on second"
    assert list_names() == [first, second]
    costs["second"] = 1e-1
    assert list_names() == [first, second]
    assert list_names(first) == [second]
    assert list_names(first, second) == []


def test_variants_follow_engines_and_plans_with_several_devices_are_last(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(predicted: float, *devices: str, variant: str = "") -> Any:
        name, is_simple = f"{devices}{variant}", len(devices) == 1
        return SimpleNamespace(
            predicted=predicted, devices=devices, variant=variant, identity=name, is_simple=is_simple
        )

    mixed, variant = plan(1.0, "first", "second"), plan(1.5, "first", variant="sums")
    compared = plan(2.5, "first", variant=IN_BOTH)  # with direct convolutions, which the other may replace
    direct = [plan(2.0, "first"), plan(3.0, "second"), plan(9.0, "third")]
    reference = plan(1.9, "nnapi-reference")
    plans = [mixed, variant, compared, reference, *direct]
    monkeypatch.setattr(predict, "list_plans", lambda *given: plans)
    found = list_challengers(question(machine), 1, ())
    assert found == [*direct, compared, variant, reference, mixed]


def test_a_device_that_takes_more_threads_keeps_the_operations_that_no_other_takes(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", {0: {0, 1}}.__getitem__)
    machine.first.find_thread_fault = lambda: "no way to limit them"  # type: ignore[attr-defined]
    find = machine.second.verdicts
    refusal = Verdict(False, "not here")
    monkeypatch.setattr(machine.second, "verdicts", lambda model: [refusal, *find(model)[1:]])
    plan = predict_plan(question(machine, threads=1), []).plan
    assert [step.device for step in plan.steps if isinstance(step, Run)] == ["first", "second"]
