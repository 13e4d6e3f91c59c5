"""Models made of examples."""

from dataclasses import replace

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.errors import NnapiError
from nnapi.model.model import Lifetime
from nnapi.testing.build import ALIGNMENT, build, describe
from nnapi.testing.example import ChannelSpec, Example, ExampleGraph, OperandSource, OperationSpec
from tests.testing.testing_cases import add, constant, endless, given, taken, tensor


def test_a_model_is_what_the_example_describes() -> None:
    model = build(add())
    assert model.is_finished
    assert [call.code for call in model.operations] == [OperationCode.ADD]
    assert (model.inputs, model.outputs) == ((0,), (3,))
    assert model.operands[1].value.tolist() == [10, 20]
    assert not model.operands[1].in_memory
    assert model.operands[3].name == "sum"


@pytest.mark.parametrize("relaxed", [False, True])
def test_relaxed_is_told(relaxed: bool) -> None:
    assert build(add(relaxed=relaxed)).relaxed is relaxed


def test_describe_leaves_the_main_model_open() -> None:
    model = describe(endless())
    assert not model.is_finished
    assert model.operands[0].value.is_finished
    model.finish()


def sums(*constants: np.ndarray) -> Example:
    """x + a, then + b, …, the constants by reference."""
    operands = [taken(tensor("TENSOR_FLOAT32", 3)), constant("INT32", np.int32(0))]
    operations = []
    last = 0
    for number, array in enumerate(constants):
        operands.append(constant("TENSOR_FLOAT32", array, OperandSource.CONSTANT_REFERENCE))
        result = tensor("TENSOR_FLOAT32", 3)
        operands.append(given(result) if number == len(constants) - 1 else result)
        operations.append(OperationSpec("ADD", (last, len(operands) - 2, 1), (len(operands) - 1,)))
        last = len(operands) - 1
    main = ExampleGraph(tuple(operands), tuple(operations), (0,), (last,))
    return Example("sums", main, {0: np.zeros(3, np.float32)}, {last: np.zeros(3, np.float32)})


def test_references_share_one_aligned_memory() -> None:
    model = build(sums(*(np.full(3, number, np.float32) for number in range(3))))
    held = [model.operands[index] for index in (2, 4, 6)]
    assert [operand.value.tolist() for operand in held] == [[0] * 3, [1] * 3, [2] * 3]
    assert all(operand.in_memory for operand in held)
    addresses = [operand.value.__array_interface__["data"][0] for operand in held]
    assert np.diff(addresses).tolist() == [ALIGNMENT, ALIGNMENT]


def convolution(*, hide: bool) -> Example:
    bias = constant("TENSOR_INT32", np.zeros(2, np.int32), channel_quant=ChannelSpec(0, (0.1, 0.2), hide=True))
    scales = ChannelSpec(0, (0.5, 0.25), hide)
    filter = constant("TENSOR_QUANT8_SYMM_PER_CHANNEL", np.ones((2, 1, 1, 1), np.int8), channel_quant=scales)
    image = tensor("TENSOR_QUANT8_ASYMM", 1, 1, 1, 1, scale=1.0)
    numbers = [constant("INT32", np.int32(value)) for value in (1, 1, 1, 0)]
    result = given(tensor("TENSOR_QUANT8_ASYMM", 1, 1, 1, 2, scale=1.0))
    operands = (taken(image), filter, bias, *numbers, result)
    main = ExampleGraph(operands, (OperationSpec("CONV_2D", (0, 1, 2, 3, 4, 5, 6), (7,)),), (0,), (7,))
    return Example("convolution", main, {0: np.zeros((1, 1, 1, 1), np.uint8)}, {7: np.zeros((1, 1, 1, 2), np.uint8)})


def test_scales_by_channel_are_told_unless_hidden() -> None:
    model = build(convolution(hide=False))
    assert model.operands[1].type.channel.scales == (0.5, 0.25)
    assert model.operands[2].type.channel is None
    with pytest.raises(NnapiError, match="scales"):
        build(convolution(hide=True))


def test_a_referenced_graph_becomes_one_model() -> None:
    model = build(endless())
    assert model.operands[0].lifetime == Lifetime.SUBGRAPH
    assert model.operands[0].value is model.operands[1].value


def test_an_omitted_operand_has_no_value() -> None:
    example = add()
    left_out = replace(example.main.operands[1], lifetime=OperandSource.NO_VALUE, data=None)
    operands = (example.main.operands[0], left_out, *example.main.operands[2:])
    model = build(replace(example, main=replace(example.main, operands=operands)))
    assert model.operands[1].lifetime == Lifetime.NO_VALUE
