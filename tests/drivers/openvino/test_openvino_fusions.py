"""Fusions of the engine that are wrong, or fail to compile, for graphs that the random tester found."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import FuseCode
from nnapi.compiling import compile
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device, device
from tests.rows import each_row

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import lower_model

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_factors_of_rows_after_a_convolution(channels: int) -> None:
    """One of them is 0. In one node, the engine would take rows for channels, or fail if these differ in number."""
    draw, image = np.random.default_rng(0), tensor("int8", (1, 3, 2, channels), 0.5)
    builder = nnapi.Builder()
    weights, bias = tensor("int8", (channels, 1, 1, 2), 0.01), tensor("int32", (channels,), 0.005)
    filters = builder.constant(draw.integers(1, 99, weights.dimensions).astype(np.int8), weights)
    nothing = builder.constant(np.zeros(channels, np.int32), bias)
    x = builder.input(tensor("int8", (1, 3, 2, 2), 0.5))
    x = builder.conv_2d(x, filters, nothing, 2, 1, 1, 0, out=image)
    rows = builder.constant(np.array([[[[7]], [[0]], [[3]]]], np.int8), tensor("int8", (1, 3, 1, 1), 0.25))
    builder.output(builder.mul(x, rows, FuseCode.FUSED_NONE, out=image))
    model, values = builder.finish(), draw.integers(-128, 128, (1, 3, 2, 2)).astype(np.int8)
    (ours,), (right,) = (compile(model, [which]).run(values) for which in (ENGINE, REFERENCE))
    assert np.abs(ours.astype(int) - right).max() <= 2


@pytest.mark.parametrize("activation", [FuseCode.FUSED_NONE, FuseCode.FUSED_RELU])
def test_factors_of_single_pixels_after_a_convolution(activation: FuseCode) -> None:
    """The convolution has strides. In one node, the engine would take 17 rows of a pixel for 9 channels, and fail."""
    draw, image = np.random.default_rng(0), tensor("int8", (1, 17, 1, 9), 0.5)
    builder = nnapi.Builder()
    weights, rows = tensor("int8", (9, 1, 1, 3), 0.01), tensor("int8", (1, 17, 1, 1), 0.25)
    filters = builder.constant(draw.integers(-99, 99, weights.dimensions).astype(np.int8), weights)
    nothing = builder.constant(np.zeros(9, np.int32), tensor("int32", (9,), 0.005))
    x = builder.input(tensor("int8", (1, 33, 1, 3), 0.5))
    x = builder.conv_2d(x, filters, nothing, 2, 2, 2, 0, out=image)
    factors = builder.constant(draw.integers(1, 9, rows.dimensions).astype(np.int8), rows)
    builder.output(builder.mul(x, factors, activation, out=image))
    model, values = builder.finish(), draw.integers(-128, 128, (1, 33, 1, 3)).astype(np.int8)
    (ours,), (right,) = (compile(model, [which]).run(values) for which in (ENGINE, REFERENCE))
    assert np.abs(ours.astype(int) - right).max() <= 2


@pytest.mark.parametrize("type", ["float32", "int8"])
def test_products_by_one_number(type: str) -> None:
    """With one thread, the engine failed to compile a chain of products that begins with a matrix of 1 × 1."""
    builder, scale = nnapi.Builder(), 0.0 if type == "float32" else 1.0

    def constant(*numbers: int) -> Any:
        values = np.array(numbers, type).reshape(-1, 1)
        return builder.constant(values, tensor(type, values.shape, scale / 2))

    def multiply(x: Any, weights: Any, units: int) -> Any:
        nothing = tensor("float32", (units,)) if type == "float32" else tensor("int32", (units,), 0.5)
        bias = builder.constant(np.zeros(units, nothing.dtype), nothing)
        return builder.fully_connected(x, weights, bias, 0, out=tensor(type, (3, units), scale))

    x = builder.relu(multiply(builder.input(tensor(type, (3, 1), scale)), constant(4), 1))
    builder.output(multiply(x, constant(2, -6), 2))
    (ours,) = compile(builder.finish(), [ENGINE]).run(np.array([[-1], [0], [2]], type))
    assert ours.tolist() == ([[0, 0], [0, 0], [16, -48]] if type == "float32" else [[0, 0], [0, 0], [4, -12]])


def test_a_filter_that_is_also_an_image() -> None:
    """The engine wanted a constant, as it found the filter of the groups to be quantized for the other convolution."""
    image, out = tensor("uint8", (1, 1, 1, 4), 0.5, 128), tensor("uint8", (1, 1, 1, 1), 1.0, 128)
    builder = nnapi.Builder()
    x, filter = builder.input(image), builder.input(image)
    nothing = builder.constant(np.zeros(1, np.int32), tensor("int32", (1,), 0.25))
    fixed = builder.constant(np.full((1, 1, 1, 4), 130, np.uint8), image)
    builder.output(builder.grouped_conv_2d(x, filter, nothing, 2, 1, 1, 1, 0, out=out))
    builder.output(builder.conv_2d(filter, fixed, nothing, 2, 1, 1, 0, out=out))
    first, second = compile(builder.finish(), [ENGINE]).run(
        *(np.full((1, 1, 1, 4), each, np.uint8) for each in (140, 120))
    )
    assert [first.item(), second.item()] == [128 - 4 * 6 * 4, 128 - 4 * 4]


def test_a_strided_convolution_of_a_clamped_sum_of_scale_1() -> None:
    """The engine drops a factor 1, and then failed to compile the slice that a stride becomes."""
    image, out = tensor("uint8", (1, 1, 2, 1), 1.0, 128), tensor("uint8", (1, 1, 1, 1), 4.0, 128)
    builder = nnapi.Builder()
    x = builder.input(tensor("uint8", (1, 1, 2, 1), 0.5, 128))
    x = builder.max_pool_2d(x, 0, 0, 0, 0, 1, 1, 1, 1, 0)
    offset = builder.constant(np.full((1, 1, 2, 1), 131, np.uint8), image)
    x = builder.add(x, offset, FuseCode.FUSED_RELU, out=image)
    weights = builder.constant(np.full((1, 1, 1, 1), 3, np.uint8), tensor("uint8", (1, 1, 1, 1), 1.0, 0))
    nothing = builder.constant(np.zeros(1, np.int32), tensor("int32", (1,), 1.0))
    builder.output(builder.depthwise_conv_2d(x, weights, nothing, 2, 8, 3, 1, 0, True, out=out))
    (ours,) = compile(builder.finish(), [ENGINE]).run(np.array([148, 200], np.uint8).reshape(1, 1, 2, 1))
    assert ours.item() == 128 + round(3 * (10 + 3) / 4)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("factor", [1, 2])
def test_an_extreme_that_is_quantized(name: str, factor: int) -> None:
    """In one node, the engine would compare the floats as bytes."""
    rows = np.array([[0.3, -0.9], [-0.4, -0.2], [0.7, 0.1]], np.float32)
    builder = nnapi.Builder()
    x = getattr(builder, name)(builder.input(tensor("float32", rows.shape)), np.array([1], np.int32), True)
    x = builder.mul(x, np.array([factor], np.float32)) if factor > 1 else x
    builder.output(builder.quantize(x, out=tensor("int8", (3, 1), 1 / 64, 10)))
    (ours,) = compile(builder.finish(), [ENGINE]).run(rows)
    extremes = rows.max(1) if name == "reduce_max" else rows.min(1)
    assert np.abs(ours[:, 0] - (factor * extremes * 64 + 10)).max() <= 1


@each_row("name", ["reduce_max", "reduce_sum", "mean"])
@each_row("function", ["add", "mul"])
@each_row("axis", [0, 2])
@each_row("before", ["", "relu"])
def test_a_constant_per_channel_after_a_reduction(name: str, function: str, axis: int, before: str) -> None:
    """In one node, the engine would read other elements of the constant, also those behind it."""
    block = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    builder = nnapi.Builder()
    x = getattr(builder, name)(builder.input(tensor("float32", block.shape)), np.array([axis], np.int32), True)
    x = getattr(builder, before)(x) if before else x
    builder.output(getattr(builder, function)(x, np.array([[1], [10], [100]], np.float32)))
    model = builder.finish()
    (ours,), (right,) = (compile(model, [which]).run(block) for which in (ENGINE, REFERENCE))
    np.testing.assert_allclose(ours, right, rtol=1e-6)


def test_a_pooling_with_a_limit_behind_a_convolution_with_another() -> None:
    """The engine's limit of the floats was one step off."""
    image, filter = tensor("uint8", (1, 1, 1, 1), 0.4210329, 255), tensor("uint8", (1, 1, 1, 1), 1.0, 0)
    builder = nnapi.Builder()
    weights = builder.constant(np.full(filter.dimensions, 141, np.uint8), type=filter)
    bias = builder.constant(np.zeros(1, np.int32), type=tensor("int32", (1,), 0.4210329))
    result = tensor("uint8", (1, 1, 1, 1), 0.4210329, 15)
    limited = builder.conv_2d(builder.input(image), weights, bias, 0, 0, 0, 0, 1, 1, FuseCode.FUSED_RELU1, out=result)
    builder.output(builder.max_pool_2d(limited, 1, 8, 4, 1, 1, FuseCode.FUSED_RELU6))
    model, codes = builder.finish(), np.zeros((1, 1, 1, 1), np.uint8)
    for which in (ENGINE, REFERENCE):
        assert compile(model, [which]).run(codes)[0].item() == 15


@pytest.mark.parametrize("type", ["float16", "float32"])
def test_a_concatenation_that_is_rounded(type: str) -> None:
    """The engine took absolute values in its memory, which the rounding to float16 still needed."""
    builder = nnapi.Builder()
    quantized, floats = builder.input(tensor("int8", (1,), 0.5, -128)), builder.input(tensor(type, (4,)))
    joined = builder.concatenation([builder.dequantize(quantized, out=tensor(type, (1,))), floats], 0)
    builder.output(builder.quantize(joined, out=tensor("int8", (5,), 1.0)))
    model, given = builder.finish(), (np.array([-128], np.int8), np.array([59, -46, 79, -46], type))
    for which in (ENGINE, REFERENCE):
        assert compile(model, [which]).run(*given)[0].tolist() == [0, 59, -46, 79, -46]


def test_constants_are_dequantized_before_the_engine_gets_them() -> None:
    builder = nnapi.Builder()
    codes = builder.constant(np.arange(-6, 6, dtype=np.int8).reshape(3, 4), tensor("int8", (3, 4), 0.5, 1))
    real = builder.dequantize(codes, out=tensor("float32", (3, 4)))
    builder.output(builder.add(builder.input(tensor("float32", (3, 4))), real))
    nodes = [node.get_type_name() for node in lower_model(builder.finish()).graph().get_ordered_ops()]
    assert sorted(nodes) == ["Add", "Constant", "Parameter", "Result"]
