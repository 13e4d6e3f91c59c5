"""The answers of devices about a model, and the problem that they pose to the partitioner."""

import pytest

from nnapi import Builder, Device, device, tensor
from nnapi.codes import PreferenceCode
from nnapi.contract.driver import Verdict
from nnapi.contract.timings import Cost, Element, Timings
from nnapi.contract.workload import find_work
from nnapi.drivers.limited import Limited
from nnapi.errors import BadDataError
from nnapi.model.facts import Kind
from nnapi.model.model import Model
from nnapi.runtime.planning.device_answers import NUMPY, DeviceAnswers
from nnapi.runtime.planning.partition import FORBIDDEN, Flow
from tests.runtime.device_cases import capabilities

FAST = PreferenceCode.PREFER_FAST_SINGLE_ANSWER


def diamond() -> Model:
    """x → ABS → a; a × a → b; b + x → y, and a is a result too."""
    b = Builder("diamond")
    x = b.input(tensor("float32", (2, 3)), name="x")
    a = b.abs(x)
    y = b.add(b.mul(a, a), x)
    b.output(a)
    b.output(y)
    return b.finish()


class Picky(Limited):
    """The reference without the operations at some positions."""

    without: tuple[int, ...] = ()

    def verdicts(self, model: Model) -> list[Verdict]:
        return [
            Verdict(False, f"{self.info.name} has no {call.name}") if position in self.without else Verdict(True)
            for position, call in enumerate(model.operations)
        ]


def picky(name: str, *without: int) -> Device:
    driver = Picky(device("nnapi-reference").driver, name, declared=capabilities())
    driver.without = without
    return Device(driver)


def test_each_tensor_flows_once_to_each_of_its_readers() -> None:
    problem = DeviceAnswers(diamond(), [device("nnapi-reference")], FAST).problem
    assert problem.flows == [
        Flow(None, (0, 2), 24, False),  # x: for ABS and ADD, from the host
        Flow(0, (1,), 24, True),  # a: for MUL, which reads it twice, and a result
        Flow(1, (2,), 24, False),
        Flow(2, (), 24, True),
    ]


def test_an_operation_that_a_device_refuses_costs_too_much_there() -> None:
    compute = DeviceAnswers(diamond(), [picky("one", 1), picky("other", 0, 2)], FAST).problem.compute
    assert [[seconds >= FORBIDDEN for seconds in row] for row in compute] == [
        [False, True],
        [True, False],
        [False, True],
    ]


def test_an_operation_that_no_device_takes_is_refused_with_all_reasons() -> None:
    answers = DeviceAnswers(diamond(), [picky("one", 0, 1), picky("other", 1, 2)], FAST)
    with pytest.raises(BadDataError, match=r"no device supports .*MUL.*; one: one has no MUL; other: other has no MUL"):
        answers.need_taken()
    DeviceAnswers(diamond(), [picky("one", 0), picky("other", 1)], FAST).need_taken()
    DeviceAnswers(diamond(), [picky("one", 0, 1, 2), picky("other")], FAST).need_taken()


def test_an_exclusion_is_a_refusal_with_its_reason() -> None:
    model = diamond()
    number = model.operations[1].number
    answers = DeviceAnswers(model, [picky("one"), picky("other")], FAST, {("one", model, number): "it crashed there"})
    assert answers.verdicts(0) == [Verdict(True), Verdict(False, "it crashed there"), Verdict(True)]
    assert answers.verdicts(1) == [Verdict(True)] * 3
    assert answers.notes == ("it crashed there",)


def cost(*seconds: float) -> dict[str, Timings]:
    """Timings of the reference, then of engines, by seconds per operation."""
    classes = [(kind, element) for kind in Kind for element in Element]
    names = ("nnapi-reference", "one", "other")
    return {
        name: Timings(0.0, 0.0, dict.fromkeys(classes, Cost(each))) for name, each in zip(names, seconds, strict=False)
    }


def test_the_reference_is_not_predicted_to_beat_an_engine_that_takes_an_operation() -> None:
    devices = [device("nnapi-reference"), picky("one", 1), picky("other")]
    compute = DeviceAnswers(diamond(), devices, FAST, None, cost(1e-3, 2e-3, 5e-3)).problem.compute
    assert [row[0] for row in compute] == pytest.approx([NUMPY * 5e-3] * 3)
    alone = DeviceAnswers(diamond(), devices[:2], FAST, None, cost(1e-3, 2e-3)).problem.compute
    assert [row[0] for row in alone] == pytest.approx([NUMPY * 2e-3, 1e-3, NUMPY * 2e-3])
    slow = DeviceAnswers(diamond(), devices[:2], FAST, None, cost(9e-3, 2e-3)).problem.compute
    assert [row[0] for row in slow] == pytest.approx([9e-3] * 3)


def test_declared_costs_and_decomposed_operations_say_nothing_about_the_reference() -> None:
    devices = [device("nnapi-reference"), picky("one")]
    declared = DeviceAnswers(diamond(), devices, FAST, None, cost(1e-3)).problem.compute
    assert [row[0] for row in declared] == pytest.approx([1e-3] * 3)
    unmeasured = DeviceAnswers(diamond(), devices, FAST, None, {"one": cost(0.0, 1.0)["one"]}).problem.compute
    assert all(row[0] < 1e-3 for row in unmeasured)
    model = diamond()
    verdicts = [[Verdict(True)] * 3, [Verdict(True, parts=(find_work(model, c),) * 2) for c in model.operations]]
    compute = DeviceAnswers(model, devices, FAST, None, cost(1e-3, 2e-3)).price(verdicts).compute
    assert [row[0] for row in compute] == pytest.approx([1e-3] * 3)
