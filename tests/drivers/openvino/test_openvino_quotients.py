"""Quotients that openvino-cpu rounds once, also where the engine would fuse them with what makes their operands."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))


def test_quotients_are_rounded_once() -> None:
    """The engine's own product with the reciprocal gives another last digit for every fourth of these."""
    draw = np.random.default_rng(0)
    x, y = draw.uniform(-4, 4, 1000).astype(np.float32), draw.uniform(0.01, 4, 1000).astype(np.float32)
    x[:3], y[:3] = (1e-40, -2, 3), (1e-39, 1e-42, 3e38)
    builder = nnapi.Builder()
    builder.output(builder.div(builder.input(tensor("float32", (1000,))), builder.input(tensor("float32", (1000,)))))
    (found,) = nnapi.compile(builder.finish(), ENGINE).run(x, y)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, x / y)


@pytest.mark.parametrize("scale", [0.013, 0.1, 5 / 255])
def test_values_halfway_between_codes_are_rounded_to_even(scale: float) -> None:
    x = (np.arange(-100, 100, dtype=np.float32) + np.float32(0.5)) * np.float32(scale)
    builder = nnapi.Builder()
    out = tensor("quant8_asymm", x.shape, scale, 100)
    builder.output(builder.quantize_to_even(builder.input(tensor("float32", x.shape)), out=out))
    (found,) = nnapi.compile(builder.finish(), ENGINE).run(x)
    np.testing.assert_array_equal(found, np.round(x / np.float32(scale)) + 100)


def test_a_computed_scale_halfway_between_codes() -> None:
    """As ONNX's DynamicQuantizeLinear: -2.5 / (5 / 255) is -127.49999, and the product with the reciprocal -127.5."""
    builder = nnapi.Builder()
    x, width = builder.input(tensor("float32", (1,))), builder.input(tensor("float32", (1,)))
    scale = builder.div(width, builder.constant(np.array([255], np.float32), tensor("float32", (1,))))
    builder.output(builder.round(builder.div(x, scale)))
    (found,) = nnapi.compile(builder.finish(), ENGINE).run(np.array([-2.5], np.float32), np.array([5], np.float32))
    assert found == -127


ZEROS = np.zeros(3, np.float32)
PRODUCERS: dict[str, Callable[[nnapi.Builder, Any], Any]] = {
    "mean": lambda b, x: b.mean(x, np.array([1], np.int32), True),
    "convolution": lambda b, x: b.conv_2d(
        x, np.full((3, 1, 1, 3), 0.7, np.float32), np.zeros(3, np.float32), 1, 1, 1, 0
    ),
    "softmax": lambda b, x: b.softmax(x, 1.0),
    "sum": lambda b, x: b.reduce_sum(x, np.array([3], np.int32), True),
    "norm": lambda b, x: b.instance_normalization(x, 0.1, 2.0, 1e-3, False),
    "input": lambda b, x: x,
}


@pytest.mark.parametrize("constant", [[1.0], [0.5, 2.0, 1e-4], [1e-38]])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_constants_are_divided_by_what_an_operation_gives(producer: str, constant: list[float]) -> None:
    """The engine fuses both operations, and would divide by the constant, or multiply by its reciprocal."""
    values = np.array(constant, np.float32)
    builder = nnapi.Builder()
    given = PRODUCERS[producer](builder, builder.input(tensor("float32", (1, 4, 4, 3))))
    number = builder.constant(values, tensor("float32", values.shape))
    builder.output(builder.div(number, given), builder.div(given, number))
    model, x = builder.finish(), np.random.default_rng(0).uniform(0.5, 3, (1, 4, 4, 3)).astype(np.float32)
    for found, right in zip(
        *(nnapi.compile(model, which).run(x) for which in (ENGINE, "nnapi-reference")), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-5)


def test_values_halfway_between_codes_behind_a_convolution() -> None:
    scale, halves = 0.013, np.arange(-100, 100, dtype=np.float32).reshape(1, 200, 1, 1) + np.float32(0.5)
    builder = nnapi.Builder()
    filters, bias = np.full((1, 1, 1, 1), scale, np.float32), np.zeros(1, np.float32)
    x = builder.conv_2d(builder.input(tensor("float32", halves.shape)), filters, bias, 1, 1, 1, 0)
    builder.output(builder.quantize_to_even(x, out=tensor("quant8_asymm", halves.shape, scale, 100)))
    (found,) = nnapi.compile(builder.finish(), ENGINE).run(halves)
    np.testing.assert_array_equal(found, np.round(halves * np.float32(scale) / np.float32(scale)) + 100)


def test_a_quotient_by_a_deviation_keeps_epsilon_in_quantized_models() -> None:
    """The engine's MVN would drop the scale of the input before it: 14 steps of difference."""
    builder, axis = nnapi.Builder(), np.array([1], np.int32)
    codes = np.random.default_rng(1).integers(90, 160, (4, 8)).astype(np.uint8)
    x = builder.dequantize(builder.input(tensor("uint8", (4, 8), 0.003, 128)), out=tensor("float32", (4, 8)))
    off = builder.sub(x, builder.mean(x, axis, True))
    epsilon = builder.constant(np.array([1e-3], np.float32), tensor("float32", (1,)))
    variance = builder.mean(builder.mul(off, off), axis, True)
    normal = builder.div(off, builder.sqrt(builder.add(variance, epsilon)))
    builder.output(builder.quantize(normal, out=tensor("uint8", (4, 8), 0.02, 128)))
    model = builder.finish()
    ours, right = (nnapi.compile(model, which).run(codes)[0].astype(int) for which in (ENGINE, "nnapi-reference"))
    assert np.abs(ours - right).max() <= 1
