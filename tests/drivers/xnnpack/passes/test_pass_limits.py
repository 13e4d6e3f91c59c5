"""Passes for XNNPACK at their limits, on graphs of a few operators."""

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.drivers.xnnpack.passes.cost_model import ALL_FLOAT, ALL_SIGNED, use_timings
from nnapi.drivers.xnnpack.passes.float_weights import (
    dequantize_bias,
    dequantize_constant,
    is_dynamic_range,
    use_faster_weights,
    use_float_weights,
)
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers
from nnapi.drivers.xnnpack.passes.signed_weights.dead_channels import _clamp, clear_weights, find_dead_channels
from nnapi.drivers.xnnpack.passes.signed_weights.split_depthwise import _cut
from nnapi.formats.tflite.graph import Graph, Operator, Tensor

NONE, RELU, RELU1, RELU6 = range(4)


def real(*shape: int) -> Tensor:
    return Tensor("f32", shape)


def number(value: float, *shape: int) -> Tensor:
    return Tensor("f32", shape or (1,), data=np.full(shape or (1,), value, np.float32))


# Reductions


# Weights


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (Tensor("i8", (2, 3), 0.5, 1, data=np.array([[1, 3, 5], [-1, 0, 1]], np.int8)), [[0, 1, 2], [-1, -0.5, 0]]),
        (
            Tensor("i8", (2, 3), np.array([1, 10], np.float32), 0, 0, np.array([[1, 2, 3], [4, 5, 6]], np.int8)),
            [[1, 2, 3], [40, 50, 60]],
        ),
        (
            Tensor("i8", (2, 3), np.array([1, 10, 100], np.float32), 0, 1, np.array([[1, 2, 3], [4, 5, 6]], np.int8)),
            [[1, 20, 300], [4, 50, 600]],
        ),
    ],
)
def test_weights_are_dequantized_by_their_scales(tensor: Tensor, expected: list[list[float]]) -> None:
    found = dequantize_constant(tensor)
    assert (found.type, found.scale, found.zero_point, found.axis) == ("f32", 0.0, 0, 0)
    assert found.value.tolist() == expected


def test_biases_are_dequantized_in_64_bits() -> None:
    bias = Tensor("i32", (2,), np.array([0.5, 2], np.float32), data=np.array([2**24 + 1, 3], np.int32))
    found = dequantize_bias(bias)
    assert (found.type, found.scale) == ("f32", 0.0)
    assert found.value.dtype == np.float32
    assert found.value.tolist() == [2.0**23, 6]


def product(x: Tensor, type: str = "i8", is_constant: bool = True, kind: str = "FULLY_CONNECTED") -> Operator:
    data = np.full((4, 6), 3, np.int8) if is_constant else None
    weights = Tensor(type, (4, 6), np.full(4, 0.5, np.float32), data=data)
    return Operator(kind, [x, weights, None], [Tensor(x.type, (2, 4), x.scale)])


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (product(real(2, 6)), True),
        (product(Tensor("i8", (2, 6), 0.5)), False),
        (product(real(2, 6), is_constant=False), False),
        (product(real(2, 6), type="u8"), False),
        (product(real(2, 6), kind="ADD"), False),
    ],
)
def test_products_of_floats_and_quantized_constants(operator: Operator, expected: bool) -> None:
    assert is_dynamic_range(operator) == expected


def test_weights_that_several_operators_read_are_dequantized_once() -> None:
    first = product(real(2, 6))
    second = first.like(first.inputs, [real(2, 4)])
    plain = Operator("RELU", [first.output], [real(2, 4)])
    found = use_float_weights(Graph([first, second, plain])).operators
    assert found[0].inputs[1] is found[1].inputs[1]
    assert found[0].input(1).type == "f32"
    assert found[0].inputs[2] is None
    assert found[2] is plain


def test_faster_weights_are_for_processors_that_were_measured() -> None:
    graph = Graph([product(real(2, 6))])
    with use_timings(ALL_SIGNED):
        assert use_faster_weights(graph) is graph
    with use_timings(ALL_FLOAT):
        assert use_faster_weights(graph).operators[0].input(1).type == "f32"
        slow = ALL_FLOAT._replace(real=ALL_FLOAT.signed, signed=ALL_FLOAT.real)
        with use_timings(slow):
            assert use_faster_weights(graph).operators[0].input(1).type == "i8"
        other = Graph([Operator("RELU", [real(2)], [real(2)])])
        assert use_faster_weights(other) is other


# Channels that are zero


@pytest.mark.parametrize(
    ("scale", "zero_point", "activation", "expected"),
    [
        (0.5, -10, NONE, (-118, 137)),
        (0.5, -10, RELU, (0, 137)),
        (0.5, -10, RELU1, (-2, 2)),
        (0.5, -10, RELU6, (0, 12)),
        (0.01, 0, RELU1, (-100, 100)),
        (0.01, 0, RELU6, (0, 127)),
        (0.5, -128, RELU1, (0, 2)),
        (0.5, 127, RELU6, (0, 0)),
        (4.0, 0, RELU6, (0, 2)),
    ],
)
def test_the_range_of_a_result(scale: float, zero_point: int, activation: int, expected: tuple[int, int]) -> None:
    assert _clamp(Tensor("i8", (1,), scale, zero_point), activation) == expected


def pointwise(x: Tensor, weights: list[list[int]], scale: float, activation: int = NONE) -> Operator:
    data = np.array(weights, np.uint8).reshape(len(weights), 1, 1, -1)
    filter, bias = Tensor("u8", data.shape, 1.0, 100, data=data), Tensor("i32", (len(weights),), 1.0)
    bias.data = np.zeros(len(weights), np.int32)
    y = Tensor("i8", (*x.shape[:3], len(weights)), scale)
    return Operator("CONV_2D", [x, filter, bias], [y], {"activation": activation})


@pytest.mark.parametrize(
    ("scale", "dead"),
    [(256.0, [False, False]), (256.4, [False, False]), (256.6, [True, True]), (254.2, [False, False])],
)
def test_a_channel_is_dead_where_rounding_leaves_nothing(scale: float, dead: list[bool]) -> None:
    """Of ±128 times a factor: half a step, and a thousandth for the rounding of the factor."""
    x = Tensor("i8", (1, 1, 1, 1), 1.0, 0)
    operator = pointwise(x, [[101], [99]], scale)
    found = find_dead_channels(Graph([operator], [x], operator.outputs))
    assert found.get(operator.output, np.zeros(2, bool)).tolist() == dead


@pytest.mark.parametrize(("depth", "found"), [(4096, 1), (4097, 0)])
def test_large_filters_are_not_examined(depth: int, found: int) -> None:
    x = Tensor("i8", (1, 1, 1, depth), 1.0, 0)
    operator = pointwise(x, [[100] * depth], 1.0)
    assert len(find_dead_channels(Graph([operator], [x], operator.outputs))) == found


def test_depthwise_filters_are_cleared_beside_dead_channels() -> None:
    """The first channel is dead before, the third after it."""
    x = Tensor("i8", (1, 1, 1, 1), 1.0, 0)
    first = pointwise(x, [[100], [101], [102]], 1.0, RELU)
    data = np.array([[250, 100, 1], [250, 250, 98]], np.uint8).reshape(1, 2, 1, 3)
    filter = Tensor("u8", (1, 2, 1, 3), 1.0, 100, axis=3, data=data)
    bias = Tensor("i32", (3,), 1.0, data=np.array([0, 0, -5], np.int32))
    y = Tensor("i8", (1, 1, 1, 3), 1.0)
    second = Operator("DEPTHWISE_CONV_2D", [first.output, filter, bias], [y], {"activation": RELU})
    graph = Graph([first, second], [x], [y])
    assert find_dead_channels(graph)[y].tolist() == [True, False, True]
    cleared = clear_weights(graph, Outliers()).operators[1].input(1)
    assert cleared.value.reshape(2, 3).tolist() == [[100, 100, 100], [100, 250, 100]]


@pytest.mark.parametrize(
    ("depth", "slow", "parts"),
    [
        (6, [1, 4], ([0, 5, 2, 3], [4, 1], [0, 5, 2, 3, 4, 1])),
        (5, [3, 4], ([0, 1, 2], [3, 4], [0, 1, 2, 3, 4])),
        (5, [0, 1], ([3, 4, 2], [0, 1], [3, 4, 2, 0, 1])),
    ],
)
def test_slow_channels_are_swapped_to_the_end(depth: int, slow: list[int], parts: tuple[list[int], ...]) -> None:
    assert tuple(each.tolist() for each in _cut(depth, slow)) == parts
