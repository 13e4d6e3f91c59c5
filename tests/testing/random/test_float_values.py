"""Operations on the numbers that codes stand for."""

import numpy as np

from nnapi.model.operand import Array
from nnapi.ops.quantized_values import dequantize
from nnapi.testing.example import ChannelSpec, Example, ExampleGraph, OperationSpec
from nnapi.testing.random.deviation import Computation
from nnapi.testing.random.float_values import on_float_values
from nnapi.testing.random.subgraphs import part_of
from tests.testing.testing_cases import Q8, constant, given, relu, taken, tensor


def test_real_numbers_say_what_codes_mean() -> None:
    codes = tensor(Q8, 3, scale=0.5, zero_point=128)
    graph = ExampleGraph((taken(codes), given(codes)), (OperationSpec("RELU6", (0,), (1,)),), (0,), (1,))
    computation = Computation(Example("relu6", graph, {0: np.array([100, 131, 250], np.uint8)}, {}))
    computation.run(0)
    assert computation.real(0)[1].tolist() == [128, 131, 140]


def test_numbers_take_the_place_of_codes() -> None:
    example = relu()
    twin = on_float_values(part_of(example, 0), dict(example.inputs))
    assert [operand.type for operand in twin.main.operands] == ["TENSOR_FLOAT32"] * 2
    assert twin.inputs[0].tolist() == [-64, 0, 63.5]


def test_a_code_is_worth_its_scale() -> None:
    assert dequantize(tensor(Q8, 2, scale=0.25, zero_point=2).full_type, np.array([0, 6], np.uint8)).tolist() == [
        -0.5,
        1.0,
    ]


def test_a_bias_beside_scales_by_channel_has_none_of_its_own() -> None:
    """Codes of 0.5 times 0.5 and times 0.25, whatever scale the bias says it has."""
    operands = (
        taken(tensor(Q8, 1, 1, 1, 1, scale=0.5, zero_point=128)),
        taken(tensor("TENSOR_QUANT8_SYMM_PER_CHANNEL", 1, 1, 1, 2, channel_quant=ChannelSpec(3, (0.5, 0.25)))),
        taken(tensor("TENSOR_INT32", 2, scale=7.0)),
        *(constant("INT32", np.int32(number)) for number in (2, 1, 1, 2, 0)),
        given(tensor(Q8, 1, 1, 1, 2, scale=1.0, zero_point=128)),
    )
    graph = ExampleGraph(operands, (OperationSpec("DEPTHWISE_CONV_2D", tuple(range(8)), (8,)),), (0, 1, 2), (8,))
    data: dict[int, Array | None] = {
        0: np.full((1, 1, 1, 1), 128, np.uint8),
        1: np.zeros((1, 1, 1, 2), np.int8),
        2: np.array([40, 40], np.int32),
    }
    computation = Computation(Example("depthwise", graph, data, {}))
    computation.run(0)
    assert computation.real(0)[8].ravel().tolist() == [138, 133]
    assert computation.values[8].ravel().tolist() == [138, 133]
