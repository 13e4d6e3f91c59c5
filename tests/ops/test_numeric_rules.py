"""Rules 141 and 179 to 184 of validation.md: numbers that operations share, on whole models."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from nnapi import (
    Builder,
    ChannelQuantization,
    FuseCode,
    Model,
    OperandCode,
    OperandType,
    OperationCode,
    PaddingCode,
    compile,
    tensor,
)
from nnapi.errors import BadDataError, OpFailedError
from nnapi.ops.fixed_point import multiplier

NONE, RELU, RELU1, RELU6 = FuseCode


def run(model: Model, *inputs: Any) -> Any:
    return compile(model, "nnapi-reference").run(*inputs)[0]


def pooled(dimension: int, kernel: int, stride: int, padding: PaddingCode | tuple[int, int]) -> Any:
    """Sums over windows of an axis of ones: how many elements each window covers."""
    b = Builder()
    x = b.input(tensor("float32", (1, 1, dimension, 1)))
    weights = np.ones((1, 1, kernel, 1), np.float32)
    same = (padding,) if isinstance(padding, PaddingCode) else (*padding, 0, 0)
    b.output(b.conv_2d(x, weights, np.zeros(1, np.float32), *same, stride, 1, NONE))  # type: ignore[call-overload]
    return run(b.finish(), np.ones((1, 1, dimension, 1), np.float32)).reshape(-1)


@pytest.mark.parametrize("dimension", [4, 5, 7])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_rule_179_padding(dimension: int, kernel: int, stride: int) -> None:
    out = math.ceil(dimension / stride)
    total = max(0, (out - 1) * stride + kernel - dimension)
    before = total // 2
    assert pooled(dimension, kernel, stride, PaddingCode.PADDING_SAME).tolist() == covered(
        dimension, kernel, stride, before, out
    )
    valid = (dimension - kernel) // stride + 1
    assert pooled(dimension, kernel, stride, PaddingCode.PADDING_VALID).tolist() == covered(
        dimension, kernel, stride, 0, valid
    )
    if kernel <= 2:
        return  # padding as wide as the window is refused
    given = (dimension + 1 + 2 - kernel) // stride + 1
    assert pooled(dimension, kernel, stride, (1, 2)).tolist() == covered(dimension, kernel, stride, 1, given)


def covered(dimension: int, kernel: int, stride: int, before: int, out: int) -> list[float]:
    starts = [position * stride - before for position in range(out)]
    return [float(sum(0 <= start + i < dimension for i in range(kernel))) for start in starts]


@pytest.mark.parametrize(
    ("activation", "low", "high"), [(NONE, 0, 255), (RELU, 10, 255), (RELU1, 8, 12), (RELU6, 10, 22)]
)
def test_rule_180_bounds_of_activations_on_codes(activation: FuseCode, low: int, high: int) -> None:
    b = Builder()
    type = tensor("quant8_asymm", (256,), 0.5, 10)
    b.output(b.add(b.input(type), b.input(type), activation, out=type))
    codes = np.arange(256, dtype=np.uint8)
    result = run(b.finish(), codes, np.full(256, 10, np.uint8))
    assert result.tolist() == codes.clip(low, high).tolist()


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [((2, 3), (3,), (2, 3)), ((2, 1, 3), (4, 1), (2, 4, 3)), ((1,), (2, 2), (2, 2)), ((2, 2), (2, 2), (2, 2))],
)
def test_rule_181_broadcasting(left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]) -> None:
    b = Builder()
    b.output(b.add(b.input(tensor("float32", left)), b.input(tensor("float32", right))))
    rng = np.random.default_rng(0)
    x, y = rng.random(left, np.float32), rng.random(right, np.float32)
    found = run(b.finish(), x, y)
    assert found.shape == result
    assert np.array_equal(found, x + y)


def test_rule_181_dimensions_that_do_not_fit() -> None:
    b = Builder()
    x, y = b.input(tensor("float32", (2, 3))), b.input(tensor("float32", (2,)))
    with pytest.raises((BadDataError, OpFailedError), match="do not broadcast"):
        b.output(b.add(x, y))


@pytest.mark.parametrize("rows", [0, 1])
def test_rule_141_181_zero_dimensions_arise_inside_and_broadcast_like_others(rows: int) -> None:
    b = Builder()
    x, size = b.input(tensor("float32", (2, 3))), b.input(tensor("int32", (2,)))
    part = b.slice(x, [0, 0], size, out=tensor("float32", (0, 0)))
    b.output(b.add(part, np.ones((1, 3), np.float32), out=tensor("float32", (0, 0))))
    found = run(b.finish(), np.zeros((2, 3), np.float32), np.array([rows, 3], np.int32))
    assert found.shape == (rows, 3)
    assert found.tolist() == [[1, 1, 1]] * rows


def test_rule_139_dimensions_are_resolved_by_the_run_or_computed() -> None:
    b = Builder()
    b.output(b.abs(b.floor(b.input(tensor("float32")), out=tensor("float32")), out=tensor("float32")))
    model = b.finish()
    for shape in ((2,), (3, 1), (1, 1, 1, 1)):
        assert run(model, np.full(shape, -1.5, np.float32)).tolist() == np.full(shape, 2.0).tolist()
    with pytest.raises(BadDataError):
        run(model, np.float32(1))


def test_rule_141_what_does_not_take_zero_dimensions_fails() -> None:
    b = Builder()
    x, size = b.input(tensor("float32", (2, 3))), b.input(tensor("int32", (2,)))
    part = b.slice(x, [0, 0], size, out=tensor("float32", (0, 0)))
    b.output(b.reduce_max(part, [0], False, out=tensor("float32", (0,))))
    model = b.finish()
    assert run(model, np.ones((2, 3), np.float32), np.array([1, 3], np.int32)).tolist() == [1, 1, 1]
    with pytest.raises((BadDataError, OpFailedError)):
        run(model, np.ones((2, 3), np.float32), np.array([0, 3], np.int32))


def convolution(bias_scale: float, input_scale: float = 0.5, filter_scale: float = 0.25, zero_point: int = 0) -> Model:
    """One output of 3 × 3 inputs; the output's scale is 1."""
    model = Model()
    x = model.add_operand(tensor("quant8_asymm", (1, 3, 3, 1), input_scale, 0))
    weights = model.add_operand(tensor("quant8_asymm", (1, 3, 3, 1), filter_scale, 0))
    bias = model.add_operand(OperandType(OperandCode.TENSOR_INT32, (1,), bias_scale, zero_point))
    y = model.add_operand(tensor("quant8_asymm", (1, 1, 1, 1), 1.0, 0))
    model.set_operand_value(weights, np.full((1, 3, 3, 1), 4, np.uint8))
    model.set_operand_value(bias, np.array([8], np.int32))
    scalars = []
    for value in (PaddingCode.PADDING_VALID, 1, 1, NONE):
        scalars.append(model.add_operand(OperandType(OperandCode.INT32)))
        model.set_operand_value(scalars[-1], int(value))
    model.add_operation(OperationCode.CONV_2D, [x, weights, bias, *scalars], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    return model


SIXES = np.full((1, 3, 3, 1), 6, np.uint8)


def test_rule_182_the_bias_has_the_product_of_the_scales() -> None:
    assert run(convolution(0.125), SIXES).item() == (9 * 24 + 8) // 8
    product = float(np.float32(0.5) * np.float32(0.25))
    for factor, legal in ((1 + 5e-7, True), (1 - 5e-7, True), (1 + 1e-5, False), (0.5, False)):
        model = convolution(product * factor)
        if legal:
            run(model, SIXES)
        else:
            with pytest.raises(OpFailedError, match="bias"):
                run(model, SIXES)


def test_rule_182_per_channel_the_declared_scale_of_the_bias_is_not_looked_at() -> None:
    b = Builder()
    x = b.input(tensor("quant8_asymm", (1, 1, 1, 1), 0.5, 0))
    type = tensor("quant8_symm_per_channel", (2, 1, 1, 1), channel=ChannelQuantization(0, (0.25, 0.5)))
    weights = b.constant(np.array([[[[4]]], [[[4]]]], np.int8), type)
    bias = b.constant(np.array([8, 8], np.int32), OperandType(OperandCode.TENSOR_INT32, (2,)))
    out = tensor("quant8_asymm", (1, 1, 1, 2), 1.0, 0)
    b.output(b.conv_2d(x, weights, bias, PaddingCode.PADDING_VALID, 1, 1, NONE, out=out))
    assert run(b.finish(), np.array([[[[6]]]], np.uint8)).reshape(-1).tolist() == [(24 + 8) // 8, (24 + 8) // 4]


@pytest.mark.parametrize("scale", [1 / 3, 0.9999, 0.5, 0.001, 1.7, 3e-5])
def test_rule_183_the_multiplier_has_31_bits(scale: float) -> None:
    mantissa, exponent = multiplier(scale)
    assert 1 << 30 <= mantissa < 1 << 31
    exact = Fraction(mantissa, 1 << 31) * Fraction(2) ** exponent  # type: ignore[arg-type]
    assert abs(exact / Fraction(scale) - 1) <= Fraction(1, 1 << 31)


@pytest.mark.parametrize("seed", range(3))
def test_rule_183_results_differ_by_one_step_at_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales = [float(np.float32(rng.uniform(0.01, 0.5))) for _ in range(2)]
    scales.append(float(np.float32(scales[0] * scales[1] * rng.uniform(1.1, 80))))
    b = Builder()
    x, y = (b.input(tensor("quant8_asymm", (500,), scale, 128)) for scale in scales[:2])
    b.output(b.mul(x, y, out=tensor("quant8_asymm", (500,), scales[2], 128)))
    codes = [rng.integers(0, 256, 500).astype(np.uint8) for _ in range(2)]
    found = run(b.finish(), *codes).astype(int)
    real = [(code.astype(np.float64) - 128) * scale for code, scale in zip(codes, scales, strict=False)]
    wanted = (real[0] * real[1] / scales[2] + 128).clip(0, 255)
    assert np.abs(found - wanted).max() <= 1.0


def test_rule_184_half_precision_is_binary16() -> None:
    b = Builder()
    type = tensor("float16", (4,))
    b.output(b.add(b.input(type), b.input(type)))
    bits = np.array([0x3C00, 0x0001, 0x7BFF, 0x8000], np.uint16)  # 1, the smallest, the largest, -0
    found = run(
        b.finish(), bits.view(np.float16), np.array([0x1400, 0x0001, 0x7BFF, 0x8000], np.uint16).view(np.float16)
    )
    assert found.dtype == np.float16
    assert found.view(np.uint16).tolist() == [0x3C01, 0x0002, 0x7C00, 0x8000]


def test_rule_184_halves_are_computed_with_more_precision() -> None:
    b = Builder()
    type = tensor("float16", (1, 2048))
    b.output(b.reduce_sum(b.input(type), [1], False, out=tensor("float16", (1,))))
    assert run(b.finish(), np.ones((1, 2048), np.float16)).tolist() == [2048]
