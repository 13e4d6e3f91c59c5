"""Random calls of every operation, and devices compared on them."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.errors import NnapiError
from nnapi.model.operation import REGISTRY, Operation
from nnapi.operation_codes import CODES
from nnapi.runtime.device import Device
from nnapi.testing.build import build
from nnapi.testing.example import Example, OperandSource, OperandSpec
from nnapi.testing.random.calls import NoCall, random_attempt, random_call
from tests.comparison import Agreement, Comparison, compare_devices, compute_expected
from tests.rows import each_row
from tests.testing.testing_cases import REFERENCE, add, refusing, spoilt

OPERATIONS = sorted(REGISTRY.values(), key=lambda operation: operation.name)
DRAWS, CALLS = 30, 2
VALUE = r"\d|omitted|given|true|false|none|nan|inf"
"""The details of an operand in a message: a number, or whether it is present."""


def names_an_operand(operation: Operation, message: str) -> bool:
    """Whether a word of the message is an operand as the declaration calls it, or an output of the model."""
    slots = [slot for form in operation.overloads for slot in form.inputs] + list(operation.outputs)
    names = {slot.name for slot in slots} | {"the model output"}
    return re.search(rf"\b({'|'.join(map(re.escape, names))})\b", message) is not None


def drawn(example: Example) -> tuple[object, ...]:
    """Everything that was drawn, in a form that compares."""
    operands = [replace(operand, data=None).__dict__ for operand in example.main.operands]
    data = [None if o.data is None else o.data.tolist() for o in example.main.operands]
    inputs = {index: None if array is None else array.tolist() for index, array in example.inputs.items()}
    return operands, data, inputs, example.main.operations


@pytest.mark.slow
@each_row("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_computes_or_refuses_with_a_message(operation: Operation) -> None:
    for seed in range(DRAWS):
        refusal = refused(random_attempt(operation, np.random.default_rng(seed)))
        if refusal:
            assert str(refusal).startswith(f"{operation.name} (#0): ")
            assert names_an_operand(operation, refusal.message), str(refusal)
            assert re.search(VALUE, refusal.message), str(refusal)


def refused(example: Example) -> NnapiError | None:
    try:
        compute_expected(example, REFERENCE)
    except NnapiError as error:
        return error
    return None


@each_row("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_random_calls_are_accepted_by_the_shape_function(operation: Operation) -> None:
    for seed in range(CALLS):
        example = random_call(operation, np.random.default_rng(seed))
        model = build(example)
        assert [call.code for call in model.operations] == [operation.code]
        if refused(example):
            continue  # the data may still be wrong
        shapes = [array.shape for array in compute_expected(example, REFERENCE).outputs.values()]
        declared = [model.operands[index].type.dimensions for index in model.outputs]
        assert [len(shape) for shape in shapes] == [len(dimensions) for dimensions in declared]
        assert all(
            dimension in (0, actual)
            for dimensions, shape in zip(declared, shapes, strict=True)
            for dimension, actual in zip(dimensions, shape, strict=True)
        )


@pytest.mark.parametrize("code", ["CONV_2D", "LSTM", "IF", "WHILE", "CONCATENATION"])
def test_a_seed_gives_the_same_call_again(code: str) -> None:
    operation = REGISTRY[CODES[code]]
    first, again, other = (random_call(operation, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert drawn(first) == drawn(again)
    assert drawn(first) != drawn(other)


def test_calls_vary_in_form_type_rank_and_constants() -> None:
    calls = [random_call(REGISTRY[OperationCode.CONV_2D], np.random.default_rng(seed)) for seed in range(40)]
    assert len({len(call.main.operations[0].inputs) for call in calls}) >= 4
    assert len({call.main.operands[0].type for call in calls}) >= 3
    assert len({call.main.operands[1].lifetime for call in calls}) == 3
    assert any(operand.channel_quant for call in calls for operand in call.main.operands)
    sums = [random_call(REGISTRY[OperationCode.ADD], np.random.default_rng(seed)) for seed in range(40)]
    assert {len(call.main.operands[0].dimensions) for call in sums} == {1, 2, 3, 4, 5, 6}


def test_optional_operands_are_there_or_not() -> None:
    counts = Counter(
        operand.lifetime == OperandSource.NO_VALUE
        for seed in range(10)
        for operand in random_call(REGISTRY[OperationCode.LSTM], np.random.default_rng(seed)).main.operands
    )
    assert counts[True] >= 10
    assert counts[False] >= 100


def test_no_call_says_why() -> None:
    five = OperandSpec("TENSOR_FLOAT32", (1, 1, 1, 1, 1))
    with pytest.raises(NoCall, match=r"DEPTHWISE_CONV_2D: none of 3 draws is accepted, the last because \w+"):
        random_call(REGISTRY[OperationCode.DEPTHWISE_CONV_2D], np.random.default_rng(0), attempts=3, given=[five])


SOFTMAX = REGISTRY[OperationCode.SOFTMAX]


def compare_softmax(other: Device, seed: int = 0) -> Comparison:
    """One random call on the reference and another device."""
    return compare_devices(REFERENCE, other, random_call(SOFTMAX, np.random.default_rng(seed), is_high=False))


def test_a_device_agrees_with_itself() -> None:
    for seed in range(5):
        comparison = compare_softmax(REFERENCE, seed)
        assert (comparison.agreement, comparison.reason) == (Agreement.AGREE, "")


def test_a_device_that_is_wrong_differs() -> None:
    comparison = compare_softmax(spoilt(2), seed=1)
    assert comparison.agreement == Agreement.DIFFER
    assert "expected" in comparison.reason
    assert comparison.example.operations == ("SOFTMAX",)


def test_a_device_that_takes_no_such_call_is_unsupported() -> None:
    comparison = compare_softmax(refusing("not today"))
    assert (comparison.agreement, comparison.reason) == (Agreement.UNSUPPORTED, "borrowed: not today")


def bad_activation() -> Example:
    operands = list(add().main.operands)
    operands[2] = replace(operands[2], data=np.array(77, np.int32))
    return replace(add(), main=replace(add().main, operands=tuple(operands)))


def test_refusals_agree_with_refusals_only() -> None:
    comparison = compare_devices(REFERENCE, spoilt(0), bad_activation())
    assert comparison.agreement == Agreement.AGREE
    assert "refuses" in comparison.reason


def test_shared_nans_agree() -> None:
    nans = add(inputs={0: np.array([np.nan, 1], np.float32)})
    assert compare_devices(REFERENCE, spoilt(0), nans).agreement == Agreement.AGREE
    assert compare_devices(REFERENCE, spoilt(np.nan), add()).agreement == Agreement.DIFFER


def test_computed_fills_in_what_comes_out() -> None:
    unknown = nnapi.testing.example.with_dynamic_outputs(add(outputs={}))
    filled = compute_expected(unknown, REFERENCE)
    assert filled.outputs[3].tolist() == [11, 22]
    assert filled.main.operands[3].dimensions == (2,)
