"""Convolutions of codes computed in float32: where that is estimated to be much faster, and what becomes of them."""

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.drivers.xnnpack.passes.cost_model import NOMINAL, Dense, Depthwise, KernelTimings, use_timings
from nnapi.drivers.xnnpack.passes.signed_weights.in_float import compute_in_float
from nnapi.formats.tflite.graph import Graph, Operator, Tensor

FLOAT = NOMINAL._replace(signed=Dense(1e-8, 0.0, 1e-10), unsigned=Dense(1e-8, 0.0, 1e-10))
"""A processor that is slow on bytes."""


def make_bias(count: int) -> Tensor:
    return Tensor("i32", (count,), 0.05, data=np.full(count, 3, np.int32))


def two_readers(type: str = "i8") -> Graph:
    """Two convolutions of the same tensor."""
    x = Tensor(type, (1, 8, 8, 2), 0.1, 7)
    scales = np.array([0.5, 0.25, 0.125], np.float32)
    numbers = np.array([[4, -8], [16, 0], [8, 8]], np.int8).reshape(3, 1, 1, 2)
    filter = Tensor("i8", numbers.shape, scales, data=numbers)
    ends = [Tensor(type, (1, 8, 8, 3), 0.2, 1) for _ in range(2)]
    return Graph([Operator("CONV_2D", [x, filter, make_bias(3)], [end]) for end in ends], [x], ends)


def rewritten(graph: Graph, timings: KernelTimings = FLOAT) -> Graph:
    with use_timings(timings):
        return compute_in_float(graph)


def test_an_input_is_converted_once_and_each_result_is_rounded() -> None:
    graph = rewritten(two_readers())
    assert [op.kind for op in graph.operators] == ["DEQUANTIZE", "CONV_2D", "QUANTIZE", "CONV_2D", "QUANTIZE"]
    assert [(end.type, end.scale, end.zero_point) for end in graph.outputs] == [("i8", 0.2, 1)] * 2
    between = [operator.output for operator in graph.operators if operator.output not in graph.outputs]
    assert [(real.type, real.scale, real.zero_point) for real in between] == [("f32", 0.0, 0)] * 3


def test_filters_and_biases_are_the_numbers_behind_the_codes() -> None:
    convolution = rewritten(two_readers()).operators[1]
    assert convolution.input(1).value.reshape(3, 2).tolist() == [[2, -4], [4, 0], [1, 1]]
    np.testing.assert_allclose(convolution.input(2).value, [0.15] * 3, rtol=1e-6)


def test_it_has_to_be_worth_it() -> None:
    alike = FLOAT._replace(real=FLOAT.signed._replace(output=0.9 * FLOAT.signed.output), conversion=0.0)
    for timings in (NOMINAL, FLOAT._replace(unsigned=None), alike._replace(signed=Dense(1e-8, 0.0, 0.0))):
        assert [op.kind for op in rewritten(two_readers(), timings).operators] == ["CONV_2D", "CONV_2D"]


def depthwise() -> Graph:
    x, filter = Tensor("i8", (1, 8, 8, 16), 0.1, 7), Tensor("i8", (1, 3, 3, 16), np.full(16, 0.5, np.float32), axis=3)
    filter.data = np.ones(filter.shape, np.int8)
    y = Tensor("i8", (1, 8, 8, 16), 0.2, 1)
    return Graph([Operator("DEPTHWISE_CONV_2D", [x, filter, make_bias(16)], [y], {"multiplier": 1})], [x], [y])


@pytest.mark.parametrize(("seconds", "is_gain"), [(79.0, True), (81.0, False)])
@pytest.mark.parametrize("graph", [two_readers(), depthwise()], ids=["dense", "depthwise"])
def test_a_fifth_of_the_time_has_to_be_saved(graph: Graph, seconds: float, is_gain: bool) -> None:
    """Of timings that a conversion does not change: 100 seconds for each signed pixel."""
    dense, single = (Dense(each, 0.0, 0.0, 1) for each in (100.0, seconds))
    timings = KernelTimings(dense, single, dense, Depthwise(100.0, 0.0), Depthwise(seconds, 0.0), conversion=0.0)
    kinds = [operator.kind for operator in rewritten(graph, timings).operators]
    assert ("DEQUANTIZE" in kinds) == is_gain


def test_other_codes_stay() -> None:
    graph = two_readers("u8")
    assert rewritten(graph).operators == graph.operators


def test_computed_filters_and_other_operators_stay() -> None:
    graph = two_readers()
    graph.operators[0].input(1).data = None
    graph.operators.append(Operator("RELU", [graph.outputs[0]], [Tensor("i8", (1, 8, 8, 3), 0.2, 1)]))
    assert rewritten(graph).operators == graph.operators
