"""A device's verdicts: its level first, then its driver; the same for queries and compilations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Model, OperandCode, OperationCode, compile, tensor
from nnapi.contract.driver import Capabilities, DriverDiedError, Verdict
from nnapi.errors import BadDataError, DeadObjectError, OpFailedError
from nnapi.model.operand import OperandType
from nnapi.runtime.verdicts import exclusions
from nnapi.runtime.verdicts.verdicts import find_verdicts, need_verdicts
from tests.runtime.device_cases import REFERENCE, Scripted, as_it_is, capabilities, limited
from tests.runtime.memory_cases import Allocating

FLAT = tensor("float32", (2, 2))


class Old(Scripted):
    """A driver of an older level that takes whatever it is shown, and remembers what that was."""

    def __init__(self, level: int) -> None:
        super().__init__(as_it_is, "old")
        self.info = self.info._replace(feature_level=level)
        self.shown: list[list[int]] = []

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        self.shown.append([call.code for call in model.operations])
        return [Verdict(True) for _ in model.operations]


def levels() -> Model:
    """MUL is of level 1, ABS of level 3, SUB of level 2, and BATCH_MATMUL of level 6."""
    b = Builder("levels")
    x = b.input(tensor("float32", (1, 2, 2)))
    b.output(b.batch_matmul(b.sub(b.abs(b.mul(x, x)), x), x, False, False))
    return b.finish()


@pytest.mark.parametrize(
    ("level", "answers"),
    [
        (1, [True, False, False, False]),
        (2, [True, False, True, False]),
        (3, [True, True, True, False]),
        (6, [True, True, True, True]),
    ],
)
def test_a_driver_is_shown_what_its_level_knows(level: int, answers: list[bool]) -> None:
    driver, model = Old(level), levels()
    device = Device(driver)
    assert model.supported_operations([device]) == answers
    known = [call.code for call, answer in zip(model.operations, answers, strict=True) if answer]
    assert [sorted(codes) for codes in driver.shown] == [sorted(known)]
    compilation = Compilation(model, [device, REFERENCE])
    compilation.finish()
    given = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
    assert np.array_equal(compilation.run(given)[0], (given * given - given) @ given)


def test_a_type_of_a_higher_level_is_beyond_it_too() -> None:
    model = Model()
    x, y = (model.add_operand(tensor("int8", (2,), 0.5)) for _ in range(2))
    model.add_operation(OperationCode.RELU, [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    (verdict,) = find_verdicts(driver := Old(3), model)
    assert not verdict.supported
    assert verdict.reason.startswith("RELU (#0) needs feature level 4 (")
    assert verdict.reason.endswith("), old has 3")
    assert not driver.shown  # there is nothing that it could be shown


def test_answers_follow_the_operations_not_the_order_in_which_they_are_added() -> None:
    model = Model()
    x, y, z = (model.add_operand(FLAT) for _ in range(3))
    model.add_operation(OperationCode.ABS, [y], [z])
    model.add_operation(OperationCode.FLOOR, [x], [y])
    model.identify_inputs_and_outputs([x], [z])
    model.finish()
    assert model.supported_operations([Device(Old(2))]) == [False, True]
    assert model.supported_operations([Device(Allocating(takes=OperationCode.ABS))]) == [True, False]


def test_queries_and_compilations_agree_on_open_control_flow() -> None:
    branch = Model("branch")
    x, y = (branch.add_operand(tensor("float32", (0,))) for _ in range(2))
    branch.add_operation(OperationCode.ABS, [x], [y])
    branch.identify_inputs_and_outputs([x], [y])
    branch.finish()
    model = Model("open")
    condition = model.add_operand(tensor("bool8", (1,)))
    x, y = (model.add_operand(tensor("float32", (0,))) for _ in range(2))
    both = [model.add_operand(OperandType(OperandCode.MODEL)) for _ in range(2)]
    for index in both:
        model.set_operand_value_from_model(index, branch)
    model.add_operation(OperationCode.IF, [condition, *both, x], [y])
    model.identify_inputs_and_outputs([condition, x], [y])
    model.finish()
    device = limited("accelerator")
    assert model.supported_operations([device]) == [False]
    assert model.supported_operations([REFERENCE]) == [True]
    with pytest.raises(BadDataError, match="control flow on unknown dimensions runs on the CPU only"):
        Compilation(model, [device]).finish()


class Deadly(Scripted):
    """A driver whose process ends when it is shown certain operations together."""

    def __init__(self, *deadly: int) -> None:
        super().__init__(as_it_is, "deadly")
        self.deadly, self.shown, self.by_itself = {*deadly}, list[list[int]](), True

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        codes = [call.code for call in model.operations]
        self.shown.append(codes)
        if self.deadly <= {*codes}:
            error = DriverDiedError("deadly has died: it burns")
            error.by_itself, error.was_alone = self.by_itself, True
            raise error
        return [Verdict(True) for _ in codes]


ABS, MUL, SUB = OperationCode.ABS, OperationCode.MUL, OperationCode.SUB


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))


def four_operations() -> Model:
    """ABS, two MULs that are equal, and a SUB."""
    b = Builder("four")
    x, y = b.input(FLAT), b.input(FLAT)
    b.output(b.sub(b.mul(b.abs(x), y), b.mul(x, y)))
    return b.finish()


@pytest.mark.usefixtures("kept")
def test_what_ends_the_process_when_it_is_asked_is_not_asked_again() -> None:
    """The others are, without it, and in later processes nobody is asked for it at all."""
    model = four_operations()
    taken = [call.code != MUL for call in model.operations]
    for shown in ([[ABS, MUL, MUL, SUB], [ABS], [MUL], [SUB], [ABS, SUB]], [[ABS, SUB]]):
        driver = Deadly(MUL)
        verdicts = find_verdicts(driver, model)
        assert [verdict.supported for verdict in verdicts] == taken
        assert sorted(map(sorted, driver.shown)) == sorted(map(sorted, shown))
        said = "MUL (#2) ended the driver's process twice, the last time when it was asked about: deadly has died: it"
        assert any(verdict.reason.startswith(said) for verdict in verdicts)
        exclusions._exclusions.cache_clear()


@pytest.mark.usefixtures("kept")
def test_what_ends_the_process_together_is_not_asked_again() -> None:
    driver = Deadly(ABS, SUB)
    assert not any(verdict.supported for verdict in find_verdicts(driver, four_operations()))
    exclusions._exclusions.cache_clear()
    driver.shown.clear()
    assert not any(verdict.supported for verdict in find_verdicts(driver, four_operations()))
    assert driver.shown == []


@pytest.mark.usefixtures("kept")
def test_what_somebody_else_ended_is_asked_again() -> None:
    driver = Deadly(MUL)
    driver.by_itself = False
    with pytest.raises(DriverDiedError):
        need_verdicts(driver, four_operations())
    assert len(driver.shown) == 1
    driver.deadly = {OperationCode.RELU}
    assert all(verdict.supported for verdict in find_verdicts(driver, four_operations()))


class Failing(Scripted):
    """A driver that raises when it is asked what it takes, or answers with too few verdicts."""

    def __init__(self, raised: Exception | None) -> None:
        super().__init__(as_it_is, "failing")
        self.raised = raised

    def capabilities(self) -> Capabilities:
        return capabilities(1e-6)  # it would be chosen

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        if self.raised:
            raise self.raised
        return [Verdict(True)] * (len(model.operations) - 1)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (AttributeError("no such node"), "AttributeError: no such node"),
        (BadDataError("odd"), "BadDataError: odd"),
        (DeadObjectError("gone"), "DeadObjectError: gone"),
        (None, "OpFailedError: failing gives 3 verdicts on 4 operations"),
    ],
)
def test_a_device_that_fails_when_it_is_asked_is_planned_around(
    raised: Exception | None, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, failing = levels(), Device(Failing(raised))
    assert model.supported_operations([failing]) == [False] * 4
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [failing, REFERENCE])
    for compilation in (compile(model), compile(model, [failing, REFERENCE])):
        assert compilation.plan.devices == (REFERENCE.name,)
        reasons = {dict(decision.verdicts)["failing"].reason for decision in compilation.plan.decisions}
        assert f"SUB (#2): the support query of failing fails: {said}" in reasons
    assert f"failing runs no operations of levels, because its support query fails: {said}" in caplog.text
    with pytest.raises(type(raised) if raised else OpFailedError, match=said.partition(": ")[2]):
        compile(model, failing)


def test_a_model_with_an_input_without_elements_runs_on_the_cpu_only() -> None:
    model = levels()
    assert any(verdict.supported for verdict in find_verdicts(Old(6), model))
    model.empty_inputs = frozenset(model.inputs[:1])
    refused = find_verdicts(Old(6), model)
    assert not any(verdict.supported for verdict in refused)
    assert "has no elements; such models run on the CPU only" in refused[0].reason


def _count(dimensions: tuple[int, int]) -> Model:
    b = Builder("positions")
    b.output(b.abs(b.cast(b.nonzero(b.abs(b.input(tensor("float32", dimensions)))), out=tensor("float32"))))
    return b.finish()


def test_dimensions_that_depend_on_data_are_for_the_cpu() -> None:
    """An engine would compile anew for each size. Unknown inputs have the sizes of a run, which may be the same."""
    driver = Old(8)
    answers = find_verdicts(driver, _count((2, 3)))
    assert [each.supported for each in answers] == [True, True, False, False]
    assert answers[2].reason.startswith("CAST (#2): the dimensions of ")
    assert "depend on data" in answers[2].reason
    assert all(each.supported for each in find_verdicts(driver, _count((0, 3))))
    assert all(each.supported for each in find_verdicts(REFERENCE.driver, _count((2, 3))))
