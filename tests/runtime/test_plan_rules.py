"""Rules 78 to 89 and 140 of validation.md: which device computes what, and who helps out."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import (
    Builder,
    Device,
    Execution,
    Model,
    OperandCode,
    OperandType,
    OperationCode,
    Partitioning,
    PreferenceCode,
    PriorityCode,
    compile,
    settings,
    tensor,
)
from nnapi.contract.driver import Capabilities, LoopTimeoutError, Outcome, Performance, Prepared, Request, Verdict
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    MissedDeadlineTransientError,
    NnapiError,
    OpFailedError,
    OutputInsufficientSizeError,
)
from nnapi.runtime.costs.prices import TURNS, Prices
from nnapi.runtime.planning.plan import Run
from tests.graphs import finished
from tests.runtime.control_cases import PAIR, branch, counting
from tests.runtime.device_cases import (
    ABS,
    GIVEN,
    NEG,
    REFERENCE,
    Scripted,
    as_it_is,
    capabilities,
    chain,
    chained,
    limited,
)
from tests.runtime.planning_cases import make_plan

FAST = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
LOW_POWER = PreferenceCode.PREFER_LOW_POWER


@pytest.fixture
def automatic(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make these devices, and the reference, all that automatic compilations find."""

    def find(*found: Device) -> None:
        monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [*found, REFERENCE])

    return find


@pytest.fixture(autouse=True)
def default_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBUG_NN_PARTITION", raising=False)


# F. Partitioning and fallback


@pytest.mark.parametrize(
    ("text", "devices"), [("0", "nnapi-reference"), ("1", "quick"), ("2", "quick"), ("7", "quick")]
)
def test_rule_078_the_environment_decides(
    text: str, devices: str, automatic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUG_NN_PARTITION", text)
    failing = Device(Scripted(fails, "quick"))
    automatic(failing)
    compilation = compile(chain())
    assert compilation.plan.devices == (devices,)
    if text in ("0", "1"):
        assert np.array_equal(compilation.run(GIVEN)[0], chained())
    else:
        with pytest.raises(OpFailedError, match="a general failure"):
            compilation.run(GIVEN)


def test_rule_078_python_stands_above_the_environment(automatic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG_NN_PARTITION", "2")
    automatic(limited())
    for mode, devices in (
        (Partitioning.NONE, "nnapi-reference"),
        (Partitioning.WITH_FALLBACK, "quick"),
        (None, "quick"),
    ):
        with settings(partitioning=mode):
            assert compile(chain()).plan.devices == (devices,)


def fails(request: Request, inner: Prepared) -> Outcome:
    raise OpFailedError("a general failure")


def test_rule_079_chosen_devices_are_kept_to() -> None:
    for mode in Partitioning:
        with settings(partitioning=mode):
            compilation = compile(chain(), [Device(Scripted(fails)), REFERENCE])
        assert compilation.plan.devices == ("scripted",)
        with pytest.raises(OpFailedError, match="a general failure"):
            compilation.run(GIVEN)


def seconds(model: Model, declared: Capabilities, preference: PreferenceCode = FAST) -> float:
    return Prices(declared).seconds(model, model.operations[0], preference)


def one(type: OperandType, relaxed: bool = False) -> Model:
    model = Model()
    x, y = model.add_operand(type), model.add_operand(type)
    model.add_operation(ABS, [x], [y])
    model.relax_computation_float32_to_float16(relaxed)
    return finished(model, [x], [y])


def test_rule_080_the_figure_is_that_of_the_first_input_s_type() -> None:
    declared = Capabilities(
        Performance(1, 1), {OperandCode.TENSOR_INT32: Performance(3, 5)}, relaxed=Performance(7, 11)
    )
    floats, integers = one(tensor("float32", (2,))), one(tensor("int32", (2,)))
    base = seconds(floats, declared)
    assert seconds(integers, declared) == pytest.approx(3 * base)
    assert seconds(integers, declared, LOW_POWER) == pytest.approx(5 * base)
    assert seconds(integers, declared, PreferenceCode.PREFER_SUSTAINED_SPEED) == pytest.approx(3 * base)
    assert seconds(one(tensor("float32", (2,)), relaxed=True), declared) == pytest.approx(7 * base)
    assert seconds(one(tensor("int32", (2,)), relaxed=True), declared) == pytest.approx(3 * base)


@pytest.mark.parametrize(("preference", "chosen"), [(FAST, "sprinter"), (LOW_POWER, "saver")])
def test_rule_080_the_preference_decides(preference: PreferenceCode, chosen: str) -> None:
    sprinter = limited("sprinter", declared=capabilities(time=0.1, power=9))
    saver = limited("saver", declared=capabilities(time=0.5, power=0.1))
    assert compile(chain(), [sprinter, saver, REFERENCE], preference).plan.devices == (chosen,)


def test_rule_080_ties_go_to_the_cpu_then_to_the_earlier_device() -> None:
    equal = REFERENCE.driver.capabilities()
    first, second = (limited(name, declared=equal) for name in ("first", "second"))
    assert compile(chain(), [first, second, REFERENCE]).plan.devices == ("nnapi-reference",)
    assert compile(chain(), [first, second]).plan.devices == ("first",)
    assert compile(chain(), [second, first]).plan.devices == ("second",)


def test_rule_081_control_flow_costs_its_figure_and_what_is_inside() -> None:
    """A loop costs both for each assumed turn, on every device alike."""
    declared = Capabilities(Performance(2), if_=Performance(3), while_=Performance(4))
    nominal = Capabilities()
    inner = [Prices(declared).seconds(m, m.operations[0], FAST) for m in (one(PAIR), one(PAIR))]
    own = seconds(branch(), nominal) - sum(inner) / 4  # figures 1: half of both branches at half the cost
    assert seconds(branch(), declared) == pytest.approx(3 * own + sum(inner) / 2)
    loop = counting(5)
    parts = [operand.value for operand in loop.operands if isinstance(operand.value, Model)]
    whole = sum(Prices(declared).seconds(part, call, FAST) for part in parts for call in part.operations)
    assert seconds(loop, declared) == pytest.approx(TURNS * (4 * own + whole))


def test_rule_082_simple_and_compound_plans() -> None:
    model = chain(3)
    simple = make_plan(model, [limited(), REFERENCE], FAST)
    assert simple.is_simple
    (step,) = simple.steps
    assert isinstance(step, Run)
    assert step.model is model
    compound = make_plan(model, [limited("positive", [ABS]), limited("negative", [NEG])], FAST)
    assert not compound.is_simple
    assert [step.device for step in compound.steps if isinstance(step, Run)] == ["positive", "negative", "positive"]


def test_rule_083_tensors_between_steps_have_the_dimensions_that_came_out() -> None:
    b = Builder()
    x, size = b.input(PAIR), b.input(tensor("int32", (1,)))
    part = b.slice(x, [0], size, out=tensor("float32", (0,)))
    b.output(b.abs(part, out=tensor("float32", (0,))))
    compilation = compile(b.finish(), [limited("slicer", [OperationCode.SLICE]), REFERENCE])
    assert len(compilation.plan.devices) == 2
    for count in (1, 2, 1):
        (result,) = compilation.run(np.array([-1, -2], np.float32), np.array([count], np.int32))
        assert result.tolist() == [1, 2][:count]


def too_small(request: Request, inner: Prepared) -> Outcome:
    raise OutputInsufficientSizeError("it holds less")


def too_long(request: Request, inner: Prepared) -> Outcome:
    raise LoopTimeoutError("the loop ran too long")


@pytest.mark.parametrize(("execute", "error"), [(too_small, OutputInsufficientSizeError), (too_long, LoopTimeoutError)])
@pytest.mark.parametrize("compound", [False, True])
def test_rule_084_085_what_the_caller_must_decide_is_final(
    execute: Any, error: type[NnapiError], compound: bool, automatic: Any
) -> None:
    scripted = Scripted(execute)
    automatic(limited("negative", [NEG], capabilities(0.001)), Device(scripted)) if compound else automatic(
        Device(scripted)
    )
    compilation = compile(chain())
    assert compilation.plan.is_simple is not compound
    with pytest.raises(error):
        compilation.run(GIVEN)


def test_rule_084_a_simple_plan_is_repeated_on_the_cpu(automatic: Any, caplog: pytest.LogCaptureFixture) -> None:
    automatic(Device(Scripted(fails)))
    compilation = compile(chain())
    assert compilation.plan.is_simple
    with caplog.at_level("WARNING", "nnapi.ExecutionBuilder"):
        assert np.array_equal(compilation.run(GIVEN)[0], chained())
    assert "falling back to the CPU: a general failure" in caplog.text


def test_rule_084_an_error_on_the_cpu_is_final(automatic: Any) -> None:
    b = Builder()
    x, size = b.input(PAIR), b.input(tensor("int32", (1,)))
    b.output(b.slice(x, [0], size, out=tensor("float32", (0,))))
    automatic()
    with pytest.raises(OpFailedError):
        compile(b.finish()).run(np.array([1, 2], np.float32), np.array([5], np.int32))


def test_rule_085_first_the_failing_step_alone(automatic: Any) -> None:
    good, bad = Scripted(as_it_is, "good"), Scripted(fails, "bad")
    automatic(only(good, NEG), only(bad, ABS))
    compilation = compile(chain())
    assert set(compilation.plan.devices) == {"good", "bad"}
    assert np.array_equal(compilation.run(GIVEN)[0], chained())
    assert (len(good.requests), len(bad.requests)) == (1, 2)


def test_rule_085_then_the_whole_model(automatic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Scripted(fails, "bad")
    automatic(limited("good", [NEG]), only(bad, ABS))
    prepared: list[int] = []
    inner = REFERENCE.driver.prepare

    def only_whole_models(model: Model, options: Any) -> Prepared:
        prepared.append(len(model.operations))
        if len(model.operations) < 3 and len(prepared) > 3:  # 3: the parts, when the model is compiled
            raise OpFailedError("not a part of it")
        return inner(model, options)

    compilation = compile(chain())
    monkeypatch.setattr(type(REFERENCE.driver), "prepare", lambda _, model, options: only_whole_models(model, options))
    prepared.extend([0, 0, 0])
    assert np.array_equal(compilation.run(GIVEN)[0], chained())
    assert prepared[3:] == [1, 3]


def only(driver: Scripted, code: int) -> Device:
    """A device that takes one kind of operation."""
    inner = driver.verdicts

    def verdicts(model: Model) -> Sequence[Any]:
        return [
            verdict if call.code == code else Verdict(False, f"{call}: no")
            for call, verdict in zip(model.operations, inner(model), strict=True)
        ]

    driver.verdicts = verdicts  # type: ignore[method-assign]
    return Device(driver)


def test_a_device_that_prepares_late_is_not_passed_over() -> None:
    def prepare(model: Model, options: Any) -> Prepared:
        raise MissedDeadlineTransientError("too late")

    late = Scripted(as_it_is)
    late.prepare = prepare  # type: ignore[method-assign]
    with pytest.raises(MissedDeadlineTransientError, match="^too late$"):
        compile(chain(), [only(late, ABS), REFERENCE])


def test_rule_087_the_repetition_knows_no_deadline_but_the_loop_timeout(automatic: Any) -> None:
    automatic(Device(Scripted(fails)))
    compilation = compile(counting(np.inf), priority=PriorityCode.PRIORITY_LOW)
    execution = Execution(compilation)
    execution.set_input(0, np.zeros(2, np.float32))
    execution.set_output(0, np.zeros(2, np.float32))
    execution.set_loop_timeout(10_000_000)
    with pytest.raises(LoopTimeoutError, match="longer than 10000000 ns"):
        execution.compute()
    late = Request([GIVEN], deadline=time.monotonic_ns() - 1)
    automatic(Device(Scripted(fails)))
    (result,) = compile(chain()).need_active().handle.execute(late).outputs
    assert np.array_equal(result, chained())


def test_rule_089_timing_needs_one_chosen_device(automatic: Any) -> None:
    automatic(Device(Scripted(fails)))
    with pytest.raises(BadDataError, match="exactly one chosen device"):
        Execution(compile(chain())).set_measure_timing(True)


def test_a_dead_device_costs_an_attempt_each_time(automatic: Any) -> None:
    def dies(request: Request, inner: Prepared) -> Outcome:
        raise DeadObjectError("gone")

    scripted = Scripted(dies)
    automatic(Device(scripted))
    compilation = compile(chain())
    for count in (1, 2):
        assert np.array_equal(compilation.run(GIVEN)[0], chained())
        assert len(scripted.requests) == count


# K. Dynamic shapes


@pytest.mark.parametrize("dimensions", [(), (0,)])
def test_rule_140_old_devices_get_known_shapes(dimensions: tuple[int, ...]) -> None:
    b = Builder()
    b.output(b.floor(b.input(tensor("float32", dimensions)), out=tensor("float32", dimensions)))
    model = b.finish()
    for level, devices in ((2, "nnapi-reference"), (3, "old")):
        compilation = compile(model, [limited("old", level=level), REFERENCE])
        assert compilation.plan.devices == (devices,)
    with pytest.raises(BadDataError, match="unknown dimensions, which a device of level 1 or 2 does not understand"):
        compile(model, limited("old", level=2))
