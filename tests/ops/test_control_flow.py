"""IF and WHILE: rules 47 to 58 and 61 of validation.md, and what they compute."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Execution, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.contract.driver import MAXIMUM_LOOP_TIMEOUT
from nnapi.errors import BadDataError, BadStateError, MissedDeadlineTransientError, OpFailedError
from nnapi.model.builder import Builder
from nnapi.model.operation import REGISTRY
from nnapi.ops.control_flow import _need_truth_value
from tests.graphs import finished, on_reference

TRUTH = tensor("bool8", (1,))
PAIR = tensor("float32", (2,))
REFERENCE = OperandType(OperandCode.MODEL)
ONES = np.ones(2, np.float32)


def scaled(factor: float, type: OperandType = PAIR, inputs: int = 1, outputs: int = 1) -> Model:
    """Inputs of one type; each output is the first input times the factor."""
    b = Builder(f"times {factor}")
    given = [b.input(type) for _ in range(inputs)]
    b.output(*(b.mul(given[0], factor, out=type) for _ in range(outputs)))
    return b.finish()


def below(limit: float, inputs: int = 1, type: OperandType = PAIR) -> Model:
    """Whether every element of the first input is below the limit."""
    b = Builder(f"below {limit}")
    given = [b.input(type) for _ in range(inputs)]
    b.output(b.reduce_all(b.less(given[0], limit, out="bool8"), [0], True, out=TRUTH))
    return b.finish()


def describe(code: OperationCode, operands: Sequence[Any], outputs: Sequence[OperandType]) -> Model:
    """A model of one operation: operands are finished Models, None for a reference without model, or types."""
    model = Model()
    indices, inputs = [], []
    for operand in operands:
        if operand is None or isinstance(operand, Model):
            indices.append(model.add_operand(REFERENCE))
            if operand:
                model.set_operand_value_from_model(indices[-1], operand)
        else:
            indices.append(model.add_operand(operand))
            inputs.append(indices[-1])
    results = [model.add_operand(type) for type in outputs]
    model.add_operation(code, indices, results)
    return finished(model, inputs, results)


def refuse(code: OperationCode, operands: Sequence[Any], outputs: Sequence[OperandType], message: str) -> None:
    with pytest.raises(BadDataError) as caught:
        describe(code, operands, outputs)
    assert str(caught.value).startswith(f"{code.name} (#0): {message}")


def refuse_if(operands: Sequence[Any], outputs: Sequence[OperandType], message: str) -> None:
    refuse(OperationCode.IF, operands, outputs, message)


def refuse_while(operands: Sequence[Any], outputs: Sequence[OperandType], message: str) -> None:
    refuse(OperationCode.WHILE, operands, outputs, message)


def branch(truth: bool, then: Model, otherwise: Model, *inputs: Any, out: OperandType = PAIR) -> Any:
    types = [then.operands[index].type for index in then.inputs]
    model = describe(OperationCode.IF, [TRUTH, then, otherwise, *types], [out])
    return on_reference(model).run(np.array([truth]), *inputs)[0]


def looped(condition: Model, body: Model, types: Sequence[OperandType], outputs: Sequence[OperandType]) -> Model:
    return describe(OperationCode.WHILE, [condition, body, *types], outputs)


# Signatures


def test_signatures() -> None:
    for code in (OperationCode.IF, OperationCode.WHILE):
        operation = REGISTRY[code]
        assert operation.shape_function is None
        assert operation.kernels == []


def test_rule_047_numbers_of_operands_of_if() -> None:
    then = scaled(1)
    refuse_if([TRUTH, then], [PAIR], "takes at least 3 inputs, got 2")
    model = describe(OperationCode.IF, [TRUTH, then, then, PAIR], [PAIR])
    assert [len(positions) for positions in model.operations[0].match.inputs.values()] == [1, 1, 1, 1]
    with pytest.raises(BadDataError, match="needs at least one input and one output"):
        describe(OperationCode.IF, [TRUTH, then, then, PAIR], [])


def test_rule_047_branches_without_inputs() -> None:
    numbers = []
    for value in (1.0, 2.0):
        model = Model()
        x, y = model.add_operand(PAIR), model.add_operand(PAIR)
        model.set_operand_value(x, ONES * value)
        model.add_operation(OperationCode.FLOOR, [x], [y])
        model.finish()
        numbers.append(model)
    with pytest.raises(BadDataError, match="then_model has 0 outputs, must have 1"):
        describe(OperationCode.IF, [TRUTH, *numbers], [PAIR])  # a model without inputs cannot name outputs either


@pytest.mark.parametrize(
    "type", [tensor("bool8"), tensor("bool8", (0,)), tensor("bool8", (2,)), tensor("bool8", (1, 1))]
)
def test_rule_048_the_condition_is_one_truth_value(type: OperandType) -> None:
    then = scaled(1)
    message = f"condition is {type}, must be TENSOR_BOOL8[1]"
    refuse_if([type, then, then, PAIR], [PAIR], "condition has rank 2" if type.rank == 2 else message)


@pytest.mark.parametrize("name", ["float32", "int32", "float16", "int8"])
def test_rule_048_no_other_type_is_a_truth_value(name: str) -> None:
    _need_truth_value("condition", TRUTH)
    with pytest.raises(BadDataError, match=r"condition is TENSOR_\w+\[1\], must be TENSOR_BOOL8\[1\]"):
        _need_truth_value("condition", tensor(name, (1,)))


def test_rule_048_the_condition_is_of_type_bool8() -> None:
    then = scaled(1)
    refuse_if([tensor("float32", (1,)), then, then, PAIR], [PAIR], "condition is TENSOR_FLOAT32, must be TENSOR_BOOL8")
    refuse_if([TRUTH, PAIR, then, PAIR], [PAIR], "then_model is TENSOR_FLOAT32, must be MODEL")


def test_rule_049_branches_have_the_inputs_and_outputs_of_the_operation() -> None:
    one, two, more = scaled(1), scaled(1, inputs=2), scaled(1, outputs=2)
    refuse_if([TRUTH, one, two, PAIR], [PAIR], "else_model has 2 inputs, must have 1")
    refuse_if([TRUTH, one, one, PAIR, PAIR], [PAIR], "then_model has 1 inputs, must have 2")
    refuse_if([TRUTH, one, more, PAIR], [PAIR], "else_model has 2 outputs, must have 1")
    refuse_if([TRUTH, one, one, PAIR], [PAIR, PAIR], "then_model has 1 outputs, must have 2")


@pytest.mark.parametrize(
    "other", [tensor("float16", (2,)), tensor("float32", (3,)), tensor("float32", (2, 1)), tensor("int32", (2,), 0.5)]
)
def test_rule_049_operands_of_branches_are_compatible(other: OperandType) -> None:
    one = scaled(1)
    refuse_if([TRUTH, one, one, other], [PAIR], f"then_model input 0 is {PAIR}, but inputs 0 is {other}")
    refuse_if([TRUTH, one, one, PAIR], [other], f"then_model output 0 is {PAIR}, but outputs 0 is {other}")


def test_rule_049_scales_and_zero_points_are_compatible() -> None:
    codes, other = tensor("uint8", (2,), 0.5, 1), tensor("uint8", (2,), 0.5, 2)
    b = Builder()
    b.output(b.relu(b.input(codes)))
    same = b.finish()
    describe(OperationCode.IF, [TRUTH, same, same, codes], [codes])
    refuse_if([TRUTH, same, same, other], [codes], f"then_model input 0 is {codes}, but inputs 0 is {other}")


def test_rule_049_dimensions_that_are_not_known_are_compatible() -> None:
    for inner, outer in ((tensor("float32"), PAIR), (PAIR, tensor("float32", (0,))), (tensor("float32", (0,)), PAIR)):
        then = scaled(3, inner)
        model = describe(OperationCode.IF, [TRUTH, then, then, outer], [outer])
        assert np.array_equal(on_reference(model).run([True], ONES)[0], 3 * ONES)


def test_rule_050_numbers_of_operands_of_while() -> None:
    condition, body = below(9), scaled(2)
    refuse_while([condition, body], [PAIR], "takes at least 3 inputs, got 2")
    refuse_while([below(9, 2), body, PAIR], [PAIR], "condition_model has 2 inputs, must have 1")
    refuse_while([condition, scaled(2, inputs=2), PAIR], [PAIR], "body_model has 2 inputs, must have 1")
    refuse_while([body, body, PAIR], [PAIR], "condition_model output 0 is TENSOR_FLOAT32[2], must be TENSOR_BOOL8[1]")
    one = tensor("float32", (1,))
    refuse_while(
        [scaled(1, one), body, one], [one], "condition_model output 0 is TENSOR_FLOAT32[1], must be TENSOR_BOOL8"
    )
    refuse_while([scaled(2, outputs=2), body, PAIR], [PAIR], "condition_model has 2 outputs, must have 1")
    two = [below(9, 2), scaled(2, inputs=2), PAIR, PAIR]
    refuse_while(two, [PAIR, PAIR], "body_model has 1 outputs, must have at least the 2 of the operation")
    refuse_while([condition, scaled(2, outputs=2), PAIR], [PAIR], "body_model has 2 outputs, must have at least the 1")


def test_rule_051_pairs_that_must_be_compatible() -> None:
    other = tensor("float32", (3,))
    condition, body = below(9), scaled(2)
    refuse_while([condition, body, other], [PAIR], "condition_model input 0 is TENSOR_FLOAT32[2], but inputs 0")
    refuse_while([below(9, type=other), body, other], [PAIR], "body_model input 0 is TENSOR_FLOAT32[2], but inputs 0")
    refuse_while([condition, body, PAIR], [other], "body_model output 0 is TENSOR_FLOAT32[2], but outputs 0")
    open_ = tensor("float32")
    b = Builder()
    b.output(b.concatenation(*[b.input(PAIR)] * 2, axis=0))
    growing = b.finish()
    refuse_while(
        [condition, growing, open_], [open_], "body_model output 0 is TENSOR_FLOAT32[4], but body_model input 0"
    )


def test_rule_052_models_are_given_before_the_operation_is_added() -> None:
    then = scaled(1)
    refuse_if([TRUTH, None, then, PAIR], [PAIR], "then_model has not been given its model")
    refuse_if([TRUTH, then, None, PAIR], [PAIR], "else_model has not been given its model")
    refuse_while([None, then, PAIR], [PAIR], "condition_model has not been given its model")
    refuse_while([below(9), None, PAIR], [PAIR], "body_model has not been given its model")


def test_rule_053_models_nest() -> None:
    inner = describe(OperationCode.IF, [TRUTH, scaled(2), scaled(3), PAIR], [PAIR])
    b = Builder()
    truth, x = b.input(TRUTH), b.input(PAIR)
    b.output(b.mul(x, 5.0))
    assert truth.index == 0
    outer = describe(OperationCode.IF, [TRUTH, inner, b.finish(), TRUTH, PAIR], [PAIR])
    run = on_reference(outer).run
    assert [run([a], [b], ONES)[0][0] for a, b in ((1, 1), (1, 0), (0, 1))] == [2, 3, 5]


# What they compute


def test_rule_054_one_branch_runs() -> None:
    b = Builder()
    b.output(b.gather(b.input(PAIR), 0, [7, 7]))  # fails when it runs
    failing = b.finish()
    assert np.array_equal(branch(True, scaled(2), failing, ONES), 2 * ONES)
    with pytest.raises(OpFailedError, match=r"GATHER \(#0\): "):
        branch(False, scaled(2), failing, ONES)


def test_rule_054_a_loop_looks_at_its_condition_first() -> None:
    model = looped(below(9), scaled(2), [PAIR], [PAIR])
    assert [on_reference(model).run(ONES * start)[0][0] for start in (1, 8.5, 9)] == [16, 17, 9]


def test_a_loop_that_never_runs_gives_copies() -> None:
    model, x = looped(below(0), scaled(2), [PAIR], [PAIR]), ONES.copy()
    (result,) = on_reference(model).run(x)
    assert np.array_equal(result, x)
    assert not np.shares_memory(result, x)


def test_loops_with_state_and_inputs_that_stay() -> None:
    """Sum the numbers 1 to n: the sum is an output, the counter only state, the limit only an input."""
    one = tensor("float32", (1,))
    b = Builder()
    _, counter, limit = (b.input(one) for _ in range(3))
    b.output(b.less(counter, limit))
    condition, b = b.finish(), Builder()
    total, counter, _ = (b.input(one) for _ in range(3))
    next_ = b.add(counter, 1.0)
    b.output(b.add(total, next_), next_)
    model = looped(condition, b.finish(), [one] * 3, [one])
    assert on_reference(model).run([0.0], [0.0], [10.0])[0][0] == 55


@pytest.mark.parametrize(("byte", "result"), [(0, 3), (1, 2), (2, 2), (255, 2)])
def test_rule_055_true_is_any_byte_but_zero(byte: int, result: int) -> None:
    model = describe(OperationCode.IF, [TRUTH, scaled(2), scaled(3), PAIR], [PAIR])
    assert on_reference(model).run(np.array([byte], np.uint8), ONES)[0][0] == result


def test_rule_055_a_condition_without_value() -> None:
    model = describe(OperationCode.IF, [TRUTH, scaled(2), scaled(3), PAIR], [PAIR])
    with pytest.raises(OpFailedError, match=r"IF \(#0\): the condition is omitted"):
        on_reference(model).run(None, ONES)


def test_omitted_inputs_reach_the_branch() -> None:
    b = Builder()
    x, perm = b.input(tensor("float32", (1, 2))), b.input(tensor("int32", (2,)))
    b.output(b.transpose(x, perm, out=tensor("float32", (2, 1))))
    then = b.finish()
    model = describe(OperationCode.IF, [TRUTH, then, then, x.type, perm.type], [tensor("float32", (2, 1))])
    assert on_reference(model).run([1], [[1.0, 2.0]], None)[0].shape == (2, 1)


ENDLESS = (below(np.inf), scaled(1), [PAIR], [PAIR])


def timed(model: Model, timeout: int, start: float = 1) -> Execution:
    execution = Execution(on_reference(model))
    execution.set_input(0, ONES * np.float32(start))
    execution.set_output(0, np.empty(2, np.float32))
    execution.set_loop_timeout(timeout)
    return execution


def test_rule_056_a_loop_that_runs_too_long() -> None:
    execution = timed(looped(*ENDLESS), 20_000_000)
    with pytest.raises(MissedDeadlineTransientError, match=r"WHILE \(#0\): the loop ran longer than 20000000 ns"):
        execution.compute()
    with pytest.raises(MissedDeadlineTransientError):
        timed(looped(*ENDLESS), 0).start_compute().wait()


def test_rule_056_the_condition_is_evaluated_before_the_clock_is_read() -> None:
    model = looped(below(0), scaled(2), [PAIR], [PAIR])
    timed(model, 0).compute()


class Clock:
    """A clock that goes on by 10 ms whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0

    def monotonic_ns(self) -> int:
        self.now += 10_000_000
        return self.now


@pytest.mark.parametrize(("milliseconds", "enough"), [(65, True), (45, False)])
def test_rule_056_nested_loops_have_clocks_of_their_own(
    milliseconds: int, enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One turn of the outer loop holds two loops of 60 ms each: 140 ms on a clock that all three shared."""
    b = Builder()
    x = b.input(PAIR)
    for limit in (2**6, 2**12):
        (x,) = b.while_(below(limit), scaled(2), x)
    b.output(x)
    execution = timed(looped(below(2), b.finish(), [PAIR], [PAIR]), milliseconds * 1_000_000)
    monkeypatch.setattr("nnapi.drivers.reference.control_flow.time", Clock())
    if enough:
        execution.compute()
    else:
        with pytest.raises(MissedDeadlineTransientError, match=r"WHILE \(#0\): the loop ran longer than 45000000 ns"):
            execution.compute()


def test_rule_057_the_loop_timeout_is_cut_to_its_maximum() -> None:
    execution = timed(looped(below(0), scaled(2), [PAIR], [PAIR]), 1 << 63)
    assert execution._loop_timeout == MAXIMUM_LOOP_TIMEOUT == 15_000_000_000
    execution.set_loop_timeout(0)
    execution.compute()
    with pytest.raises(BadStateError, match="cannot set the loop timeout: the execution is in completed"):
        execution.set_loop_timeout(1)


def doubled(type: OperandType) -> Model:
    """The input twice, one after the other."""
    b = Builder()
    x = b.input(type)
    b.output(b.concatenation(x, x, axis=0, out=type))
    return b.finish()


def short(type: OperandType, limit: int) -> Model:
    """Whether the input has fewer elements than the limit: its sum, where it is all ones."""
    b = Builder()
    b.output(b.less(b.reduce_sum(b.input(type), [0], True, out="float32"), float(limit), out=TRUTH))
    return b.finish()


def test_rule_058_the_state_of_a_loop_may_grow() -> None:
    open_ = tensor("float32", (0,))
    model = looped(short(open_, 50), doubled(open_), [PAIR], [open_])
    assert np.array_equal(on_reference(model).run(ONES)[0], np.ones(64))


def test_rule_058_a_declared_dimension_must_be_that_of_the_end() -> None:
    open_, fixed = tensor("float32", (0,)), tensor("float32", (16,))
    for limit, fits in ((16, True), (17, False)):
        compilation = on_reference(looped(short(open_, limit), doubled(open_), [PAIR], [fixed]))
        if fits:
            assert compilation.run(ONES)[0].shape == (16,)
            continue
        with pytest.raises(OpFailedError, match=r"WHILE \(#0\): gives .*\[32\], but the model declares .*\[16\]"):
            compilation.run(ONES)


def test_a_branch_refuses_dimensions_that_contradict_its_own() -> None:
    model = describe(OperationCode.IF, [TRUTH, scaled(2), scaled(3), tensor("float32", (0,))], [PAIR])
    with pytest.raises(OpFailedError, match=r"IF \(#0\): .*TENSOR_FLOAT32\[2\] is given an array of shape \[3\]"):
        on_reference(model).run([1], np.ones(3, np.float32))


def test_rule_061_level() -> None:
    assert describe(OperationCode.IF, [TRUTH, scaled(2), scaled(3), PAIR], [PAIR]).feature_level == 4
    assert looped(below(9), scaled(2), [PAIR], [PAIR]).feature_level == 4


def test_operations_after_a_branch_run() -> None:
    b = Builder()
    truth, x = b.input(TRUTH), b.input(PAIR)
    (y,) = b.if_(truth, scaled(2), scaled(3), x)
    b.output(b.softmax(b.add(y, 1.0), 1.0), y)
    run = on_reference(b.finish()).run
    assert np.array_equal(run([1], ONES)[0], np.full(2, 0.5, np.float32))
    assert np.array_equal(run([0], ONES)[1], 3 * ONES)


def test_scalars_pass_through() -> None:
    number = OperandType(OperandCode.FLOAT32)
    then = Model()
    x, y = then.add_operand(PAIR), then.add_operand(PAIR)
    beta = then.add_operand(number)
    then.add_operation(OperationCode.SOFTMAX, [x, beta], [y])
    finished(then, [x, beta], [y])
    model = describe(OperationCode.IF, [TRUTH, then, then, PAIR, number], [PAIR])
    assert np.array_equal(on_reference(model).run([1], ONES, 2.0)[0], np.full(2, 0.5, np.float32))
