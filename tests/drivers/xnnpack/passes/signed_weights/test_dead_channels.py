"""Channels that are always zero: found, and the weights beside them cleared."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi import compile
from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.signed_weights.channel_splitting import Outliers
from nnapi.drivers.xnnpack.passes.signed_weights.dead_channels import clear_weights, find_dead_channels
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import sign_weights
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import Net, both, reference

SAME, RELU, RELU1, RELU6 = 1, 1, 2, 3
IMAGE = tensor("uint8", (1, 5, 5, 4), 0.05, 120)


def pointwise(x: Tensor, filter: list[Any], bias: list[int], activation: int, zero_point: int = 0) -> Operator:
    """A 1×1 convolution in the engine's terms; scales are 1."""
    codes = np.array(filter, np.uint8).reshape(len(filter), 1, 1, -1)
    w = Tensor("u8", codes.shape, 1.0, 100, data=codes)
    b = Tensor("i32", (len(filter),), 1.0, data=np.array(bias, np.int32))
    y = Tensor("i8", (*x.shape[:3], len(filter)), 1.0, zero_point)
    return Operator("CONV_2D", [x, w, b], [y], {"activation": activation})


def test_a_bias_below_all_that_can_be_summed_silences_a_channel() -> None:
    x = Tensor("i8", (1, 1, 1, 2), 1.0, -128)
    operator = pointwise(x, [[101, 99], [101, 99], [98, 98]], [-255, -254, 0], RELU, -128)
    found = find_dead_channels(Graph([operator], [x], operator.outputs))
    assert found[operator.outputs[0]].tolist() == [True, False, True]


def test_silence_passes_on_where_nothing_is_added() -> None:
    x = Tensor("i8", (1, 1, 1, 1), 1.0, 0)
    first = pointwise(x, [[100], [101]], [-1, 0], RELU)
    second = pointwise(first.outputs[0], [[250, 100], [100, 101]], [0, 0], RELU)
    found = find_dead_channels(Graph([first, second], [x], second.outputs))
    assert found[second.outputs[0]].tolist() == [True, False]


def test_numbers_that_only_silent_channels_see_are_struck_out() -> None:
    x = Tensor("i8", (1, 1, 1, 1), 1.0, 0)
    first = pointwise(x, [[100], [101]], [-1, 0], RELU)
    second = pointwise(first.outputs[0], [[250, 101], [103, 250], [102, 40]], [0, 0, -100000], RELU)
    graph = Graph([first, second], [x], second.outputs)
    struck = clear_weights(graph, Outliers()).operators[1].inputs[1]
    assert struck.data.reshape(3, 2).tolist() == [[100, 101], [100, 250], [100, 100]]


def test_a_bound_between_two_values_is_rounded_away_from_zero() -> None:
    """RELU1 permits -1/2 to 1/2, which kernels round to -1 and 1: no channel is silent."""
    x = Tensor("i8", (1, 1, 1, 1), 2.0, 0)
    operator = pointwise(x, [[101], [100]], [0, 0], RELU1)
    operator.outputs[0].scale = 2.0
    found = find_dead_channels(Graph([operator], [x], operator.outputs))
    assert found[operator.outputs[0]].tolist() == [False, True]


def thin_network(random: Any) -> tuple[Any, ...]:
    """Three convolutions, the middle one of each channel, with biases that dead some channels."""
    net = Net()
    x, type = net.input(IMAGE), IMAGE
    results = []
    for code, shape in [(0, (6, 1, 1, 4)), (1, (1, 3, 3, 6)), (0, (5, 1, 1, 6))]:
        codes = random.integers(60, 141, shape, np.uint8)
        codes.reshape(-1)[random.integers(codes.size, size=3)] = 250
        w = net.constant(tensor("uint8", shape, 0.01, 100), codes)
        units = shape[3] if code else shape[0]
        scale = float(np.float32(type.scale) * np.float32(0.01))
        biases = random.choice([0, -3000, -60000], units) * random.integers(0, 2, units)
        b = net.constant(tensor("int32", (units,), scale), biases)
        out = tensor("uint8", (1, 5, 5, units), 0.02, int(random.choice([0, 3])))
        tail = net.numbers(SAME, 1, 1, 1, RELU6) if code else net.numbers(SAME, 1, 1, RELU6)
        kind = OperationCode.DEPTHWISE_CONV_2D if code else OperationCode.CONV_2D
        x, type = net.call(kind, [x, w, b, *tail], out), out
        results.append(x)
    return net, results


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_found_is_zero_on_the_reference(seed: int) -> None:
    random = np.random.default_rng(seed)
    net, results = thin_network(random)
    model = net.finished(*results)
    outputs = compile(model, [reference()]).run(random.integers(0, 256, IMAGE.dimensions, np.uint8))
    graph = lower_model(model).graph
    found = find_dead_channels(graph)
    for result, index, output in zip(graph.outputs, results, outputs, strict=True):
        if result in found:
            assert (output[..., found[result]] == model.operands[index].type.zero_point).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_networks_with_silent_channels_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    net, results = thin_network(random)
    model = net.finished(results[-1])
    assert {tensor.type for tensor in sign_weights(lower_model(model).graph).tensors()} <= {"i8", "i32", "f32"}
    (ours,), (theirs,) = both(model, random.integers(0, 256, IMAGE.dimensions, np.uint8))
    assert np.abs(ours.astype(int) - theirs).max() <= 4
