"""Preparations that fail: on the CPU instead, without the culprits, or not at all; and recorded plans."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nnapi import Device, DeviceTypeCode, compile
from nnapi.contract.driver import Capabilities, Outcome, Performance, Prepared, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    MissedDeadlinePersistentError,
    NnapiError,
    OpFailedError,
    UnexpectedNullError,
)
from nnapi.model.model import Model
from nnapi.runtime.choice import knowledge, preparation
from nnapi.runtime.choice.knowledge import Fixed, Knowledge, Predicted, keep, recall, recall_plan
from nnapi.runtime.choice.predict import predict_plan
from nnapi.runtime.choice.preparation import prepare
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, PREDICTED, Comparison, Record
from nnapi.runtime.choice.spare import Spare, find_cpu
from nnapi.runtime.executors.prepared_partitions import ClaimedError, ReadyPlan
from nnapi.runtime.executors.wrappers import Fallback
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.settings import Partitioning
from tests.runtime.choice.trial_cases import Machine, network
from tests.runtime.device_cases import ABS, GIVEN, NEG, REFERENCE, Scripted, as_it_is, chain, chained, limited

CPU = DeviceTypeCode.DEVICE_CPU


class Failing(Scripted):
    """A driver that raises an error when it prepares."""

    def __init__(self, error: Exception, failures: int = 99) -> None:
        super().__init__(as_it_is, "failing")
        self.error, self.failures = error, failures

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.failures -= 1
        if self.failures >= 0:
            raise self.error
        return super().prepare(model, options)


def ask(devices: Sequence[Device]) -> Question:
    return Question(chain(), devices, PrepareOptions())


def decide(question: Question, mode: Partitioning) -> tuple[ReadyPlan, Knowledge]:
    return prepare(question, Spare(question, mode))


def test_the_cpu_is_the_reference_else_the_first() -> None:
    one, two = limited("one", type=CPU), limited("two", type=CPU)
    assert find_cpu([limited(), one, REFERENCE, two]) is REFERENCE
    assert find_cpu([limited(), one, two]) is one
    assert find_cpu([limited()]) is None


def test_without_partitioning_the_cpu_has_the_whole_model() -> None:
    ready, knowledge = decide(ask([limited(), REFERENCE]), Partitioning.NONE)
    assert knowledge == Fixed("everything is for the CPU")
    assert ready.plan.devices == (REFERENCE.name,)
    np.testing.assert_array_equal(open_handle(ready.prepared).execute(Request([GIVEN])).outputs[0], chained())
    with pytest.raises(NnapiError, match="there is no CPU device to compile the whole model for"):
        decide(ask([limited()]), Partitioning.NONE)


LATE = MissedDeadlinePersistentError("too late")


def test_a_failed_compilation_is_repeated_on_the_cpu(caplog: pytest.LogCaptureFixture) -> None:
    ready, knowledge = decide(ask([Device(Failing(LATE)), REFERENCE]), Partitioning.WITH_FALLBACK)
    assert knowledge == Fixed("the compilation failed")
    assert ready.plan.devices == (REFERENCE.name,)
    assert "compilation failed, falling back to the CPU: too late" in caplog.text


@pytest.mark.parametrize(
    ("mode", "cpu"),
    [
        (Partitioning.WITHOUT_FALLBACK, REFERENCE),
        (Partitioning.WITH_FALLBACK, limited("cpu", [ABS], type=CPU)),
        (Partitioning.WITH_FALLBACK, limited("accelerator")),
    ],
    ids=["not wanted", "a CPU that lacks an operation", "no CPU"],
)
def test_where_no_cpu_can_replace_the_device_the_error_is_the_caller_s(mode: Partitioning, cpu: Device) -> None:
    with pytest.raises(MissedDeadlinePersistentError, match="too late"):
        decide(ask([Device(Failing(LATE)), cpu]), mode)


@pytest.mark.parametrize("error", [BadDataError("wrong"), UnexpectedNullError("none")])
def test_errors_of_the_model_are_the_caller_s(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(preparation, "_decide", fail)
    with pytest.raises(type(error), match=str(error)):
        decide(ask([limited(), REFERENCE]), Partitioning.WITH_FALLBACK)


def test_a_device_is_not_asked_again_for_what_it_failed_to_prepare(caplog: pytest.LogCaptureFixture) -> None:
    driver = Failing(OpFailedError("no"))
    ready, _ = decide(ask([Device(driver), REFERENCE]), Partitioning.WITHOUT_FALLBACK)
    assert ready.plan.devices == (REFERENCE.name,)
    assert 99 - driver.failures == 4, "the whole model, and each operation alone"
    said = "failing claimed operations #0, #1, #2, but failed to prepare: no"
    assert said in caplog.text
    assert ready.plan.notes == (said,)


def test_what_every_device_failed_to_prepare_fails_as_the_last_did() -> None:
    model = chain(1)
    devices = [limited("one"), limited("two")]
    question = Question(model, devices, PrepareOptions())
    claims = [
        ClaimedError("one", model, [0], OpFailedError("busy")),
        ClaimedError("two", model, [0], DeadObjectError("gone")),
    ]
    with pytest.raises(DeadObjectError) as caught:
        predict_plan(question, claims)
    assert str(caught.value) == (
        "one claimed operation #0, but failed to prepare: busy; two claimed operation #0, but failed to prepare: gone"
    )
    refusing = Question(chain(2), [limited("one", [ABS]), limited("two", [ABS])], PrepareOptions())
    with pytest.raises(BadDataError, match="no device supports NEG"):
        predict_plan(refusing, [])


def test_a_run_that_fails_is_repeated_where_that_is_permitted() -> None:
    question = ask([limited(), REFERENCE])
    ready, _ = decide(question, Partitioning.WITHOUT_FALLBACK)
    assert Spare(question, Partitioning.WITHOUT_FALLBACK).cover(ready) is ready
    assert isinstance(Spare(question, Partitioning.WITH_FALLBACK).cover(ready).prepared, Fallback)
    alone, _ = decide(ask([REFERENCE]), Partitioning.WITHOUT_FALLBACK)
    assert Spare(ask([REFERENCE]), Partitioning.WITH_FALLBACK).cover(alone) is alone

    def fail(request: Request, inner: Prepared) -> Outcome:
        raise OpFailedError("no")

    divided, _ = decide(ask([Device(Scripted(fail, "failing")), REFERENCE]), Partitioning.WITH_FALLBACK)
    assert divided.plan.devices == ("failing",)
    np.testing.assert_array_equal(open_handle(divided.prepared).execute(Request([GIVEN])).outputs[0], chained())


def test_where_the_cpu_fails_too_it_is_tried_once(caplog: pytest.LogCaptureFixture) -> None:
    ran: list[str] = []

    def fail(request: Request, inner: Prepared) -> Outcome:
        ran.append("run")
        raise OpFailedError("no")

    cpu = Scripted(fail, "cpu")
    cpu.info = cpu.info._replace(type=CPU)
    cpu.capabilities = lambda: Capabilities(Performance(9, 9))  # type: ignore[method-assign]
    ready, _ = decide(ask([Device(Scripted(fail, "failing")), Device(cpu)]), Partitioning.WITH_FALLBACK)
    assert ready.plan.devices == ("failing",)
    with pytest.raises(OpFailedError, match="no"):
        open_handle(ready.prepared).execute(Request([GIVEN]))
    assert len(ran) == 2
    assert caplog.text.count("falling back to the CPU") == 1


def test_the_partitions_of_the_cpu_have_no_fallback() -> None:
    cpu, other = limited("cpu", type=CPU), limited("other")
    prepared = cpu.driver.prepare(chain(), PrepareOptions())
    spare = Spare(ask([cpu, other]), Partitioning.WITH_FALLBACK)
    assert spare.guard("cpu", chain(), {"cpu"}, prepared) is prepared
    assert isinstance(spare.guard("other", chain(), {"other"}, prepared), Fallback)


def test_a_recorded_plan_is_found_by_its_device_or_by_its_identity(machine: Machine) -> None:
    question = Question(network(), machine.devices, PrepareOptions())

    def find(record: Record) -> Plan | None:
        keep(question, question.key, record)
        knowledge, plan = recall_plan(question)
        assert knowledge == Predicted(record)
        return plan

    whole = Record(PREDICTED, "second", "", "", 2, 1, 0.0, None, [])
    found = find(whole)
    assert found is not None
    assert (found.devices, found.threads) == (("second",), 1)
    assert find(whole._replace(device="third")) is None
    wanted = whole._replace(device="", identity="everything on first", threads=2)
    again = find(wanted)
    assert again is not None
    assert (again.identity, again.threads) == ("everything on first", 2)
    assert find(wanted._replace(identity="everything on third")) is None


@pytest.mark.parametrize(
    ("is_tiny", "has_file", "recorded"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_a_prediction_for_a_tiny_model_is_recorded_only_if_it_is_a_file(
    is_tiny: bool, has_file: bool, recorded: bool, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nnapi.runtime.choice.predict.is_tiny", lambda model: is_tiny)
    model = network()
    if has_file:
        model.origin = SimpleNamespace(keep=lambda model: None)
    question = Question(model, machine.devices, PrepareOptions())
    _, knowledge = decide(question, Partitioning.WITHOUT_FALLBACK)
    assert (knowledge == Fixed("the model is tiny")) is is_tiny
    found = recall(question)
    assert isinstance(found, Predicted | Fixed) is recorded
    assert isinstance(found, Fixed) is (recorded and is_tiny)


def test_a_recorded_plan_that_cannot_be_prepared_is_planned_anew(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> Prepared:
        raise OpFailedError("no")

    question = Question(network(), machine.devices, PrepareOptions())
    keep(question, question.key, Record(PREDICTED, "second", "", "", 2, 1, 0.0))
    monkeypatch.setattr(machine.second, "prepare", fail)
    ready, _ = decide(question, Partitioning.WITHOUT_FALLBACK)
    assert ready.plan.devices == ("first",)
    assert "second claimed operations #0, #1, but failed to prepare: no: planning the model again" in caplog.text


# Records


def test_a_record_describes_a_simple_or_a_divided_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compile(chain(), REFERENCE).plan.with_variant("upside down").on_threads(2)
    found = Record.of(PREDICTED, whole, 0.5)
    assert found == Record(PREDICTED, REFERENCE.name, "upside down", "", 3, 2, 0.0, 0.5)
    assert Record.of(MEASURED, whole).predicted == whole.predicted > 0
    divided = compile(chain(), [limited("positive", [ABS]), limited("negative", [NEG]), REFERENCE]).plan
    assert Record.of(PREDICTED, divided) == Record(PREDICTED, "", "", divided.identity, 0, None, 0.0)


def test_the_plan_of_a_record_has_its_times_and_what_it_was_compared_with(machine: Machine) -> None:
    compared = [
        Comparison("slow", 5e-3, [-math.log(4)] * 4, "slower"),
        Comparison("wrong", 1e-3, [0.1], "slower", "output 0 differs"),
        Comparison("untried", 3e-3, [], "on trial"),
        Comparison("even", 4e-3, [0.0] * 4, "about as fast"),
    ]
    record = Record(MEASURED, "second", "upside down", "", 2, 3, 6e-3, 2e-3, compared)
    plan = record.make_plan(Question(network(), machine.devices, PrepareOptions()))
    assert plan is not None
    assert (plan.devices, plan.variant, plan.threads) == (("second",), "upside down", 3)
    assert (plan.predicted, plan.measured) == (6e-3, 2e-3)
    assert [(each.description, each.seconds, each.measured) for each in plan.alternatives] == [
        ("even", 4e-3, 2e-3),
        ("slow", 5e-3, pytest.approx(8e-3)),
        ("wrong", 1e-3, None),
        ("untried", 3e-3, None),
    ]
    assert plan.notes == (
        "slow: slower (0 of 4 pairs faster, 0.25×)",
        "wrong: output 0 differs",
        "untried: on trial (no pair measured)",
        "even: about as fast (0 of 4 pairs faster, 1.00×)",
    )
    untimed = record._replace(seconds=None, comparisons=()).make_plan(
        Question(network(), machine.devices, PrepareOptions())
    )
    assert untimed is not None
    assert (untimed.measured, untimed.notes) == (None, ())


def test_a_record_is_labeled_with_its_device_or_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[str] = []
    monkeypatch.setattr(knowledge, "keep_record", lambda *_, model, device: labels.append(f"{model}: {device}"))
    for each in (
        Record(PREDICTED, "first", "", "", 2, 1, 0.0),
        Record(PREDICTED, "", "", "1 on a and 1 on b", 0, 1, 0.0),
    ):
        keep(ask([REFERENCE]), "key", each)
    assert labels == ["chain: first", "chain: 1 on a and 1 on b"]


@pytest.mark.parametrize(("threads", "predicted"), [(None, 1), (3, 3)])
def test_a_recorded_plan_is_explained_for_its_threads(
    threads: int | None, predicted: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "nnapi.runtime.costs.prices.find_tables", lambda devices, count, model: asked.append(count) or {}
    )
    question = Question(network(), machine.devices, PrepareOptions())
    plan = Record(MEASURED, "second", "", "", 2, threads, 0.0).make_plan(question)
    assert plan is not None
    assert [decision.chosen for decision in plan.decisions] == ["second", "second"]
    assert [name for name, _ in plan.decisions[0].verdicts] == ["first", "second"]
    assert asked == [predicted]
