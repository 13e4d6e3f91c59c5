"""The lowering that engines share, tested with an engine that adds and multiplies floats with NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Device, NnapiError, OperandCode, OperationCode, compile, device, tensor
from nnapi.codes import DeviceTypeCode, FuseCode
from nnapi.contract.driver import (
    Capabilities,
    DeviceInfo,
    Driver,
    Outcome,
    Performance,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.prepared import PerShapes, Pool, PreparedPerShapes, Shapes, check_deadline
from nnapi.drivers.limited import Limited
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError
from nnapi.lowering.lower import Context, Lowering, assume_shapes, need_supported
from nnapi.lowering.refusal import require
from nnapi.model.call import UNKNOWN, Call, check_declared
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import NAMES
from nnapi.pauses import resting_by
from nnapi.rule_table import LoweringRules
from nnapi.testing.random.calls import random_call
from tests.comparison import Agreement, compare_devices

FLOATS = tensor("float32", (2, 3))

# The driver: rules, what a value is, and how a list of steps runs.

RULES = LoweringRules()
lower = RULES.register


class Value:
    """A value that a step computes, or an input; a constant has its array."""

    def __init__(self, array: Array | None = None) -> None:
        self.array = array


Step = tuple[Callable[..., Array], Sequence[Value], Value]


class NumpyContext(Context):
    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.steps: list[Step] = []

    def emit(self, function: Callable[..., Array], *inputs: Value) -> Value:
        self.steps.append((function, inputs, Value()))
        return self.steps[-1][2]

    def activate(self, value: Value) -> Value:
        if self.activation == FuseCode.FUSED_NONE:
            return value
        low, high = {1: (0, np.inf), 2: (-1, 1), 3: (0, 6)}[self.activation]
        return self.emit(lambda x: x.clip(low, high), value)


@lower(OperationCode.ADD)
def add(context: NumpyContext, lhs: Value, rhs: Value) -> Value:
    return context.activate(context.emit(np.add, lhs, rhs))


@lower(OperationCode.SUB)
def subtract(context: NumpyContext, lhs: Value, rhs: Value) -> Value:
    return context.activate(context.emit(np.subtract, lhs, rhs))


@lower(OperationCode.MUL)
def multiply(context: NumpyContext, lhs: Value, rhs: Value) -> Value:
    return context.activate(context.emit(np.multiply, lhs, rhs))


@lower(OperationCode.MAXIMUM)
def maximum(context: NumpyContext, a: Value, b: Value) -> Value:
    return context.emit(np.maximum, a, b)


@lower(OperationCode.TANH)
def tanh(context: NumpyContext, input: Value) -> Value:
    return context.emit(np.tanh, input)


@lower(OperationCode.RELU)
def relu(context: NumpyContext, input: Value) -> Value:
    return context.emit(lambda x: x.clip(0), input)


@lower(OperationCode.FULLY_CONNECTED)
def fully_connected(context: NumpyContext, input: Value, weights: Value, bias: Value) -> Value:
    require(weights.array is not None, "weights is computed, the engine needs it constant")
    return context.activate(context.emit(lambda x, w, b: x.reshape(-1, w.shape[1]) @ w.T + b, input, weights, bias))


@lower(OperationCode.CONCATENATION)
def concatenate(context: NumpyContext, inputs: Sequence[Value], axis: int) -> Value:
    return context.emit(lambda *arrays: np.concatenate(arrays, axis), *inputs)


@lower(OperationCode.RESHAPE)
def reshape(context: NumpyContext, input: Value, shape: Array) -> Value:
    return context.emit(lambda x: x.reshape(shape), input)


@lower(OperationCode.DEPTH_TO_SPACE)
def depth_to_space(context: NumpyContext, input: Value, block_size: int) -> Value:
    n, height, width, depth = context.call.results[0].dimensions
    cells = n, height // block_size, width // block_size, block_size, block_size, depth
    return context.emit(lambda x: x.reshape(cells).swapaxes(2, 3).reshape(n, height, width, depth), input)


class NumpyLowering(Lowering[Value, NumpyContext]):
    rules = RULES

    def __init__(self, model: Model, shapes: Shapes) -> None:
        super().__init__(model, shapes)
        self.steps: list[Step] = []

    def context(self, call: Call) -> NumpyContext:
        return NumpyContext(call)

    def make_value(self, operand: Operand) -> Value:
        type = self.types[operand.index]
        require(type and type.code == OperandCode.TENSOR_FLOAT32, f"{operand} is no float tensor")
        return Value(self.constants.get(operand.index))

    def transpose(self, context: NumpyContext, value: Value, order: tuple[int, ...]) -> Value:
        return context.emit(partial(np.transpose, axes=order), value)

    def accept_results(self, call: OperationCall, context: NumpyContext, results: list[Value]) -> list[Value]:
        self.steps += context.steps
        return results


class PreparedNumpy:
    def __init__(self, model: Model, shapes: Shapes) -> None:
        lowering = NumpyLowering(model, shapes).run()
        need_supported(lowering.verdicts)
        self.steps = lowering.steps
        self.inputs, self.outputs = (
            [lowering.value(index) for index in ends] for ends in (model.inputs, model.outputs)
        )

    def execute(self, request: Request) -> Outcome:
        check_deadline(request)
        arrays = dict(zip(self.inputs, request.inputs, strict=True))
        for function, inputs, output in self.steps:
            arrays[output] = function(*[arrays[x] if x.array is None else x.array for x in inputs])
        return Outcome([np.array(arrays[output], np.float32, order="C") for output in self.outputs])

    def close(self) -> None:
        pass


class NumpyDriver:
    info = DeviceInfo("numpy-cpu", "1", DeviceTypeCode.DEVICE_ACCELERATOR, 8)

    def capabilities(self) -> Capabilities:
        return Capabilities(Performance(0.01, 0.01))

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return NumpyLowering(model, tuple(assume_shapes(model))).run().verdicts

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedPerShapes[PreparedNumpy]:
        return PreparedPerShapes(model, partial(PreparedNumpy, model), tuple(assume_shapes(model)))


def test_what_is_open_is_assumed_to_be_1_or_omitted_where_it_may_be() -> None:
    b = Builder()
    b.output(b.add(b.input(tensor("float32", (0, 3))), b.input(FLOATS), out=FLOATS))
    model = b.finish()
    assert assume_shapes(model) == [(1, 3), (2, 3)]
    assert assume_shapes(model, model.inputs) == [None, (2, 3)]


# The tests

ENGINE, REFERENCE = Device(NumpyDriver()), device("nnapi-reference")


def test_the_driver_is_small() -> None:
    """An engine needs rules and how it runs what they make; the rest is shared."""
    lines = Path(__file__).read_text().splitlines()
    begin, end = lines.index("RULES = LoweringRules()"), lines.index("# The tests")
    assert end - begin < 150
    assert isinstance(NumpyDriver(), Driver)


@pytest.mark.parametrize("code", sorted(RULES), ids=lambda code: NAMES[code])
def test_random_calls_agree_with_the_reference(code: int) -> None:
    agreed = 0
    for seed in count():
        result = compare_devices(REFERENCE, ENGINE, random_call(REGISTRY[code], np.random.default_rng([seed, code])))
        assert result.agreement != Agreement.DIFFER, f"seed {seed}: {result.reason}"
        agreed += result.agreement == Agreement.AGREE
        if agreed == 4:
            return
        assert seed < 200


def reasons(model: Model) -> list[str]:
    return [verdict.reason for verdict in NumpyDriver().verdicts(model)]


def test_lowering_pauses_at_each_operation() -> None:
    b = Builder()
    x = b.input(FLOATS)
    b.output(b.relu(b.add(b.add(x, x), x)))
    rests: list[None] = []
    with resting_by(lambda: rests.append(None)):
        assert all(ENGINE.supports(b.finish()))
    assert len(rests) == 3


def test_an_operation_without_a_rule_is_refused_and_those_behind_it_are_not() -> None:
    b = Builder("m")
    x = b.input(FLOATS, "x")
    b.output(b.add(b.floor(b.tanh(x)), x))
    assert reasons(b.finish()) == ["", "FLOOR (#1): the engine has no operator with this meaning", ""]


def test_what_a_rule_requires_is_the_reason() -> None:
    b = Builder("m")
    x, w, bias = b.input(FLOATS, "x"), b.input(FLOATS, "w"), b.input(tensor("float32", (2,)), "bias")
    b.output(b.fully_connected(x, w, bias))
    assert reasons(b.finish()) == ["FULLY_CONNECTED (#0): weights is computed, the engine needs it constant"]


def test_types_that_an_engine_has_no_value_for_are_refused() -> None:
    b = Builder("m")
    b.output(b.relu(b.input(tensor("int8", (2, 3), 0.5, 0), "x")))
    (reason,) = reasons(b.finish())
    assert reason.startswith("RELU (#0): x")
    assert reason.endswith("is no float tensor")


def test_what_must_be_known_before_the_run_and_is_not_is_named() -> None:
    b = Builder("m")
    x, shape = b.input(FLOATS, "x"), b.input(tensor("int32", (2,)), "shape")
    b.output(b.reshape(x, shape))
    assert reasons(b.finish()) == ["RESHAPE (#0): shape (operand 1) is not known before the model runs"]


def test_a_call_that_can_only_fail_is_refused_with_its_failure() -> None:
    b = Builder("m")
    x = b.input(tensor("float32", (0, 3)), "x")
    b.output(b.add(x, b.constant(np.ones((2, 4), np.float32))))
    (reason,) = reasons(b.finish())
    assert reason.startswith("ADD (#0): it fails when it runs: ")


def test_what_the_engine_itself_refuses_is_told_by_the_last_line_of_what_it_raises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(context: NumpyContext, input: Value) -> Value:
        raise RuntimeError("somewhere deep inside\nno such kernel\n")

    monkeypatch.setitem(RULES.own, OperationCode.TANH, fail)
    b = Builder("m")
    b.output(b.tanh(b.input(FLOATS, "x")))
    model = b.finish()
    with pytest.raises(RuntimeError):
        reasons(model)
    monkeypatch.setattr(NumpyLowering, "failures", (RuntimeError,))
    assert reasons(model) == ["TANH (#0): the engine refuses it: no such kernel"]


def test_results_that_an_engine_does_not_take_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(self: NumpyLowering, operand: Operand, type: OperandType) -> None:
        require(type.rank != 2, "the result has rank 2")

    monkeypatch.setattr(NumpyLowering, "check_result", check)
    b = Builder("m")
    b.output(b.tanh(b.input(FLOATS, "x")))
    assert reasons(b.finish()) == ["TANH (#0): the result has rank 2"]


def test_the_plan_gives_the_engine_what_it_takes_and_says_why_not_the_rest() -> None:
    b = Builder("m")
    x = b.input(FLOATS, "x")
    b.output(b.mul(b.floor(b.add(x, x)), x))
    model = b.finish()
    floor = Device(Limited(REFERENCE.driver, "floor", lambda _, call: None if call.name == "FLOOR" else "no floor"))
    compilation = compile(model, [ENGINE, floor])
    assert [decision.chosen for decision in compilation.plan.decisions] == ["numpy-cpu", "floor", "numpy-cpu"]
    said = dict(compilation.plan.decisions[1].verdicts)["numpy-cpu"]
    assert said == Verdict(False, "FLOOR (#1): the engine has no operator with this meaning")
    given = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    np.testing.assert_array_equal(compilation.run(given)[0], compile(model, REFERENCE).run(given)[0])
    with pytest.raises(NnapiError, match="FLOOR"):
        NumpyDriver().prepare(model, PrepareOptions())


def test_images_reach_rules_as_nhwc() -> None:
    b = Builder("m")
    x = b.input(tensor("float32", (1, 8, 2, 3)), "x")
    b.output(b.depth_to_space(x, 2, True))
    model = b.finish()
    given = np.arange(48, dtype=np.float32).reshape(1, 8, 2, 3)
    ours, right = (compile(model, which).run(given)[0] for which in (ENGINE, REFERENCE))
    assert ours.shape == (1, 2, 4, 6)
    np.testing.assert_array_equal(ours, right)


def test_calls_of_many_inputs_are_told_apart_by_what_they_read() -> None:
    """Those of equal types are normalized once; their operands are their own."""
    b = Builder("m")
    x, y = b.input(FLOATS, "x"), b.input(FLOATS, "y")
    longer = b.input(tensor("float32", (3, 3)), "longer")
    for inputs in ([x] * 16, [y] * 16, [x, y] * 8, [longer] * 16):
        b.output(b.concatenation(inputs, 0))
    model = b.finish()
    given = [np.full(shape, value, np.float32) for value, shape in enumerate([(2, 3), (2, 3), (3, 3)])]
    for ours, right in zip(*(compile(model, which).run(*given) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_array_equal(ours, right)


def test_a_model_with_open_dimensions_is_prepared_once_for_each_shape() -> None:
    b = Builder("m")
    b.output(b.tanh(b.input(tensor("float32", (0, 3)), "x")))
    prepared = NumpyDriver().prepare(b.finish(), PrepareOptions())
    assert prepared.prepare_for(((1, 3),)) is prepared.first
    for rows in (5, 2, 5):
        x = np.ones((rows, 3), np.float32)
        np.testing.assert_array_equal(prepared.execute(Request([x])).outputs[0], np.tanh(x))
    five = prepared.prepare_for(((5, 3),))
    for rows in range(10, 60):
        prepared.prepare_for(((rows, 3),))
    assert prepared.prepare_for(((5, 3),)) is five


def test_a_run_whose_time_is_over_does_not_begin() -> None:
    b = Builder("m")
    b.output(b.tanh(b.input(FLOATS, "x")))
    prepared = NumpyDriver().prepare(b.finish(), PrepareOptions())
    with pytest.raises(MissedDeadlinePersistentError, match="before the computation began"):
        prepared.execute(Request([np.ones((2, 3), np.float32)], deadline=time.monotonic_ns() - 1))


def test_a_pool_gives_what_is_idle_and_makes_what_is_missing() -> None:
    pool: Pool[int] = Pool(count(1).__next__, 0)
    taken = [pool.take(), pool.take()]
    pool.put(taken[0])
    assert [*taken, pool.take()] == [0, 1, 0]


def test_what_is_closed_gives_nothing_any_more_and_takes_back_what_a_run_has() -> None:
    pool: Pool[int] = Pool(count().__next__)
    running = pool.take()
    pool.close()
    pool.put(running)
    with pytest.raises(OpFailedError, match="the prepared model is closed"):
        pool.take()
    shapes = PerShapes(Model(), len)
    shapes.get(((2, 3),))
    assert shapes.close() == [1]
    with pytest.raises(OpFailedError, match="the prepared model is closed"):
        shapes.get(((2, 3),))


def test_an_unknown_dimension_of_a_result_agrees_with_any_declared() -> None:
    partial, other = (OperandType(OperandCode.TENSOR_FLOAT32, (UNKNOWN, size)) for size in (2, 4))
    check_declared(partial, tensor("float32", (3, 2)), is_model_output=True)
    with pytest.raises(OpFailedError, match=r"gives TENSOR_FLOAT32\[-1, 4\], but the model declares"):
        check_declared(other, tensor("float32", (3, 2)), is_model_output=True)
