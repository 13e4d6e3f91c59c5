"""Normalized calls: values that are known late, images as NHWC, numbers of results, declared results."""

from typing import Any

import numpy as np
import pytest

from nnapi import OperandCode, OperandType, OperationCode, tensor
from nnapi.codes import FuseCode
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.call import (
    UNKNOWN,
    Call,
    NotYetKnown,
    check_declared,
    find_fixed_quantization,
    normalize,
    number_of_results,
    output_slot,
)
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import Tensor

SCALAR, FLAG = OperandType(OperandCode.INT32), OperandType(OperandCode.BOOL)
REAL = OperandType(OperandCode.FLOAT32)


def call(code: OperationCode, *given: Any, outputs: Any = ()) -> Call:
    """Normalize a call: ``given`` are types, or types with values; an omitted operand is a type and None."""
    pairs = [each if isinstance(each, tuple) else (each, ...) for each in given]
    types = [type for type, _ in pairs]
    operation = REGISTRY[code]
    matched = operation.match(types, list(outputs))

    def type_of(index: int) -> OperandType | None:
        return None if pairs[index][1] is None else types[index]

    def value_of(index: int) -> Any:
        value = pairs[index][1]
        return None if value is ... else np.asarray(value)

    numbers = tuple(range(len(types)))
    return normalize(operation, matched, numbers, tuple(range(9, 9 + len(outputs))), tuple(outputs), type_of, value_of)


IMAGE, STORED = tensor("float32", (2, 4, 6, 3)), tensor("float32", (2, 3, 4, 6))


def pool(layout: bool, input: OperandType, padding: int = 2) -> Call:
    values = [(SCALAR, value) for value in (padding, 2, 1, 3, 2, 1)]  # stride 2 × 1, filter 3 × 2
    out = tensor("float32", (0, 0, 0, 0))
    return call(OperationCode.MAX_POOL_2D, input, *values, (FLAG, layout), outputs=[out])


def test_images_are_described_as_nhwc() -> None:
    plain, stored = pool(False, IMAGE), pool(True, STORED)
    assert plain.arguments == stored.arguments
    assert (plain.nchw, stored.nchw) == (False, True)
    assert plain.activation is stored.activation is FuseCode.FUSED_RELU
    assert plain.results[0].dimensions == stored.results[0].dimensions == (2, 3, 2, 3)
    assert plain.stored_results()[0].dimensions == (2, 3, 2, 3)
    assert stored.stored_results()[0].dimensions == (2, 3, 3, 2)
    assert stored.images == {"input", "out"}
    assert (plain.operands["input"], plain.outputs) == ((0,), (9,))


def test_arguments_are_bound_to_values() -> None:
    values = np.zeros((2, 3, 4, 6), np.float32)
    for found, shape in ((pool(False, IMAGE), (2, 3, 4, 6)), (pool(True, STORED), (2, 4, 6, 3))):
        bound = found.bind(lambda index: values if index == 0 else None, lambda array: np.moveaxis(array, 1, -1))
        assert bound["input"].shape == shape
        kept = found.bind(lambda index: values, lambda array: array, as_types=("input",))
        assert kept["input"] == found.arguments["input"]
        missing = found.bind(lambda index: None, lambda array: pytest.fail("there is nothing to transpose"))
        assert missing["input"] is None


def test_a_list_is_bound_to_the_value_of_each_operand() -> None:
    rows = tensor("float32", (2, 3))
    found = call(OperationCode.CONCATENATION, rows, rows, (SCALAR, 1), outputs=[tensor("float32", (2, 6))])
    assert found.operands["inputs"] == (0, 1)
    bound = found.bind(lambda index: f"value {index}", lambda value: value)
    assert (bound["inputs"], bound["axis"]) == (["value 0", "value 1"], 1)


@pytest.mark.parametrize("activation", [-1, 4])
def test_an_activation_is_one_of_four(activation: int) -> None:
    rows = tensor("float32", (2,))
    with pytest.raises(OpFailedError, match=f"activation is {activation}, must be a FuseCode 0..3"):
        call(OperationCode.ADD, rows, rows, (SCALAR, activation), outputs=[rows])


def test_no_activation_is_fused_into_whole_numbers() -> None:
    rows = tensor("int32", (2,))
    assert call(OperationCode.ADD, rows, rows, (SCALAR, 0), outputs=[rows]).activation == 0
    with pytest.raises(OpFailedError, match="activation FUSED_RELU cannot be fused into a result of type TENSOR_INT32"):
        call(OperationCode.ADD, rows, rows, (SCALAR, 1), outputs=[rows])


def test_a_value_that_is_computed_is_not_yet_known() -> None:
    rows = tensor("float32", (2, 3))
    with pytest.raises(NotYetKnown, match=r"beta \(operand 1\) is not known") as caught:
        call(OperationCode.SOFTMAX, rows, REAL, outputs=[rows])
    assert caught.value.operand == 1
    with pytest.raises(NotYetKnown, match=r"shape \(operand 1\) is not known") as caught:
        call(OperationCode.RESHAPE, rows, tensor("int32", (1,)), outputs=[tensor("float32")])
    assert caught.value.operand == 1


@pytest.mark.parametrize(("beta", "fits"), [(0.5, True), (0.0, False), (-0.5, False)])
def test_the_value_of_a_scalar_is_checked(beta: float, fits: bool) -> None:
    rows = tensor("float32", (2, 3))
    if fits:
        assert call(OperationCode.SOFTMAX, rows, (REAL, np.float32(beta)), outputs=[rows]).arguments["beta"] == beta
    else:
        with pytest.raises(OpFailedError, match=f"beta is {beta}, must be above 0"):
            call(OperationCode.SOFTMAX, rows, (REAL, np.float32(beta)), outputs=[rows])


def test_omitted_and_empty_operands() -> None:
    rows, empty = tensor("float32", (2, 3)), tensor("float32", (0, 3))
    with pytest.raises(OpFailedError, match="input is omitted, but needed"):
        call(OperationCode.SOFTMAX, (rows, None), (REAL, 1.0), outputs=[rows])
    with pytest.raises(OpFailedError, match="beta is omitted, but needed"):
        call(OperationCode.SOFTMAX, rows, (REAL, None), outputs=[rows])
    with pytest.raises(OpFailedError, match=r"input has no elements: TENSOR_FLOAT32\[\?, 3\]"):
        call(OperationCode.L2_NORMALIZATION, empty, outputs=[empty])
    assert call(OperationCode.RELU, empty, outputs=[empty]).results[0].dimensions == (0, 3)


@pytest.mark.parametrize(("rank", "fits"), [(1, False), (2, True), (3, True), (4, True), (5, False)])
def test_a_late_rank_is_checked_when_computing(rank: int, fits: bool) -> None:
    type = tensor("float32", (2,) * rank)
    if fits:
        assert call(OperationCode.BATCH_MATMUL, type, type, (FLAG, 0), (FLAG, 1), outputs=[type]).results[0] == type
    else:
        with pytest.raises(OpFailedError, match=f"lhs has rank {rank}, must have rank 2 or 3 or 4"):
            call(OperationCode.BATCH_MATMUL, type, type, (FLAG, 0), (FLAG, 1), outputs=[type])


def test_truth_values_are_truth_values() -> None:
    type = tensor("float32", (2, 2))
    found = call(OperationCode.BATCH_MATMUL, type, type, (FLAG, 0), (FLAG, 1), outputs=[type])
    assert (found.arguments["adj_x"], found.arguments["adj_y"]) == (False, True)
    assert isinstance(found.arguments["adj_y"], bool)


def test_what_is_left_out_has_its_default() -> None:
    rows = tensor("float32", (2, 3))
    assert call(OperationCode.SOFTMAX, rows, (REAL, 1.0), outputs=[rows]).arguments["axis"] == -1


# Numbers of results


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (1, "gives 3 outputs, 1 are listed: out 1, out 2 are missing"),
        (2, "gives 3 outputs, 2 are listed: out 2 is missing"),
        (3, None),
        (4, "gives 3 outputs, 4 are listed: out 2 is the last, 1 too many"),
        (5, "gives 3 outputs, 5 are listed: out 2 is the last, 2 too many"),
    ],
)
def test_the_number_of_outputs_of_a_split(count: int, message: str | None) -> None:
    given = tensor("float32", (2, 6)), (SCALAR, 1), (SCALAR, 3)
    outputs = [tensor("float32", (2, 2))] * count
    if message is None:
        assert [result.dimensions for result in call(OperationCode.SPLIT, *given, outputs=outputs).results] == [
            (2, 2)
        ] * 3
    else:
        with pytest.raises(BadDataError) as caught:
            call(OperationCode.SPLIT, *given, outputs=outputs)
        assert str(caught.value) == message


def test_results_are_counted_without_their_declaration() -> None:
    operation = REGISTRY[OperationCode.SPLIT]
    types = [tensor("float32", (2, 6)), SCALAR, SCALAR]
    matched = operation.match(types, [tensor("float32")])
    values = [None, np.array(1), np.array(3)]
    assert number_of_results(operation, matched, (0, 1, 2), types.__getitem__, values.__getitem__) == 3


@pytest.mark.parametrize(("position", "name"), [(0, "values"), (1, "indices"), (2, "indices")])
def test_a_slot_of_each_output(position: int, name: str) -> None:
    assert output_slot(REGISTRY[OperationCode.TOPK_V2], position).name == name


# Declared results


@pytest.mark.parametrize(
    ("given", "declared", "fits"),
    [
        ((2, 3), (2, 3), True),
        ((2, 3), (0, 3), True),
        ((2, 3), (), True),
        ((UNKNOWN, 3), (2, 3), True),
        ((UNKNOWN, 3), (2, 4), False),
        ((2, 3), (3, 2), False),
        ((2, 3), (2, 3, 1), False),
        ((0, 3), (0, 3), True),
        ((0, 3), (2, 3), False),  # no elements are not an unspecified number of them
        ((0, 3), (), True),
        ((0, UNKNOWN), (0, 2), True),
    ],
)
def test_dimensions_that_contradict_the_declared_ones(given: Any, declared: Any, fits: bool) -> None:
    result, wanted = (OperandType(OperandCode.TENSOR_FLOAT32, each) for each in (given, declared))
    if fits:
        check_declared(result, wanted, is_model_output=True)
    else:
        with pytest.raises(OpFailedError, match="gives .*, but the model declares "):
            check_declared(result, wanted, is_model_output=True)


@pytest.mark.parametrize(("size", "fits"), [(0x3FFFFFFF, True), (0x40000000, False)])
def test_a_result_is_below_4_gib(size: int, fits: bool) -> None:
    result = tensor("float32", (size,))
    if fits:
        check_declared(result, tensor("float32"), is_model_output=True)
    else:
        with pytest.raises(OpFailedError, match="takes 4294967296 bytes, more than 4294967295"):
            check_declared(result, tensor("float32"), is_model_output=True)


@pytest.mark.parametrize(("is_output", "role"), [(True, "model output"), (False, "tensor between operations")])
@pytest.mark.parametrize(("scale", "zero_point"), [(0.25, 3), (0.5, 4)])
def test_quantization_that_contradicts_the_declared_one(
    scale: float, zero_point: int, is_output: bool, role: str
) -> None:
    result, declared = tensor("quant8_asymm", (2,), 0.5, 3), tensor("quant8_asymm", (2,), scale, zero_point)
    check_declared(result, declared, is_model_output=is_output, lax=True)
    message = f"gives scale 0.5 and zero point 3, but the {role} is declared with {scale} and {zero_point}"
    with pytest.raises(OpFailedError, match=message):
        check_declared(result, declared, is_model_output=is_output)


def test_quantization_that_an_operation_fixes() -> None:
    leader = tensor("quant8_asymm", (2,), 0.5, 3)
    follows = Tensor("out", like="input", quant="input")
    assert find_fixed_quantization(follows, leader.code, {"input": leader}) == (0.5, 3)
    assert find_fixed_quantization(follows, leader.code, {"input": [leader, leader]}) == (0.5, 3)
    fixed = Tensor("out", quant={OperandCode.TENSOR_QUANT8_ASYMM: (1 / 256, 7)})
    assert find_fixed_quantization(fixed, leader.code, {}) == (1 / 256, 7)
    assert find_fixed_quantization(fixed, OperandCode.TENSOR_FLOAT32, {}) is None
    assert find_fixed_quantization(Tensor("out"), leader.code, {}) is None


def test_results_that_pass_through_keep_the_declared_quantization() -> None:
    given, declared = tensor("quant8_asymm", (2, 3), 0.5, 3), tensor("quant8_asymm", (3, 2), 0.25, 7)
    shape = tensor("int32", (2,)), [3, 2]
    found = call(OperationCode.RESHAPE, given, shape, outputs=[declared])
    assert found.results == (declared.replace(scale=0.5, zero_point=3),)
    assert found.requantized_results() == (declared,)
    free = call(OperationCode.ADD, given, given, (SCALAR, 0), outputs=[declared.with_dimensions((2, 3))])
    assert free.requantized_results() == free.results == (declared.with_dimensions((2, 3)),)


def test_an_operation_of_the_old_dispatch_fails_with_bad_data() -> None:
    operation = REGISTRY[OperationCode.RNN]
    assert operation.failure is BadDataError
    x, state, bias = (tensor("float32", shape) for shape in ((2, 3), (2, 4), (4,)))
    weights, recurrent = tensor("float32", (4, 3)), tensor("float32", (4, 4))
    with pytest.raises(BadDataError, match="bias is omitted, but needed"):
        call(OperationCode.RNN, x, weights, recurrent, (bias, None), state, (SCALAR, 0), outputs=[state, state])
