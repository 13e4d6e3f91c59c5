"""Where the engine is wrong by itself: each of these was, and the rules keep it from being so."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode, OperationCode
from nnapi.compiling import compile
from nnapi.model.model import Model
from nnapi.model.operand import Array, ChannelQuantization, OperandType, tensor
from nnapi.runtime.device import Device, device
from tests.rows import each_row
from tests.single import run_single, scalar, single

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import lower_model

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")
MOST = 2**31 - 1
FINITE = [0, 1e-45, 1e-40, 1.2e-38, 1e-30, 1e-10, 0.5, 1, 2, 3, 7, 20, 88, 89, 104, 1e5, 1e10, 1e19, 1e30, 3.4e38]
GRID = np.array([sign * value for value in FINITE for sign in (1, -1)], np.float32)
COLUMN, ROW = GRID.reshape(-1, 1), GRID.reshape(1, -1)
PAIRS = np.stack(np.broadcast_arrays(COLUMN, ROW), -1).reshape(-1, 2)


def given(array: Any) -> tuple[Any, ...]:
    array = np.asarray(array)
    return tensor(array.dtype.name, array.shape), array


def integer(value: int) -> tuple[Any, ...]:
    return scalar(OperandCode.INT32, value)


def need_agreement(code: OperationCode, inputs: list[Any], outputs: list[Any], **how: bool) -> None:
    """The engine gives what the reference does, to a few units in the last place, wherever that is finite or not."""
    pair = (run_single(code, inputs, outputs, devices=[which], **how) for which in (ENGINE, REFERENCE))
    for ours, right in zip(*pair, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-7)


# Windows


def draw_integers(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers whose sums of products are exact in whatever order."""
    return random.integers(-9, 10, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("image", "filters", "stride"),
    [((1, 28, 4, 1), (4, 4, 4, 1), 3), ((8, 100, 7, 1), (32, 8, 7, 1), 3), ((2, 25, 5, 1), (8, 5, 4, 1), 2)],
)
def test_convolutions_of_one_channel_with_one_window_across(
    image: tuple[int, ...], filters: tuple[int, ...], stride: int
) -> None:
    random = np.random.default_rng(0)
    x, w = (draw_integers(random, shape) for shape in (image, filters))
    inputs = [given(x), given(w), given(np.zeros(len(w), np.float32)), *map(integer, (2, stride, 1, 0))]
    out = tensor("float32", (len(x), image[1] - filters[1] + 1, 1, len(w)))
    need_agreement(OperationCode.CONV_2D, inputs, [out], constant=True)


def test_grouped_and_depthwise_ones_with_one_window_across() -> None:
    random = np.random.default_rng(0)
    x = draw_integers(random, (1, 26, 6, 2))
    bias = given(np.zeros(2, np.float32))
    grouped = draw_integers(random, (2, 4, 4, 1))
    out = tensor("float32", (1, 23, 1, 2))
    inputs = [given(x), given(grouped), bias, *map(integer, (2, 3, 1, 2, 0)), scalar(OperandCode.BOOL, False)]
    need_agreement(OperationCode.GROUPED_CONV_2D, inputs, [out], constant=True)
    inputs = [given(x), given(grouped.transpose(3, 1, 2, 0).copy()), bias, *map(integer, (2, 3, 1, 1, 0))]
    need_agreement(OperationCode.DEPTHWISE_CONV_2D, inputs, [out], constant=True)


def convolution(taps: int, dilation: int) -> list[Any]:
    image = np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1)
    filters = np.arange(taps, dtype=np.float32).reshape(1, 1, taps, 1)
    bias, layout = given(np.ones(1, np.float32)), scalar(OperandCode.BOOL, False)
    return [given(image), given(filters), bias, *map(integer, (1, 1, 1, 0)), layout, *map(integer, (dilation, 1))]


@pytest.mark.parametrize("dilation", [MOST, MOST - 1])
def test_dilations_that_no_engine_counts_with(dilation: int) -> None:
    out = tensor("float32", (1, 5, 5, 1))
    need_agreement(OperationCode.CONV_2D, convolution(1, dilation), [out], constant=True)
    (verdict,) = lower_model(single(OperationCode.CONV_2D, convolution(2, dilation), [out], constant=True)).verdicts
    assert "cells of padding are more than the 65536 that engines are given" in verdict.reason


def test_strides_that_no_engine_counts_with() -> None:
    image = given(np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1))
    inputs = [image, *map(integer, (2, MOST, MOST, 3, 3, 0))]
    need_agreement(OperationCode.MAX_POOL_2D, inputs, [tensor("float32", (1, 1, 1, 1))])
    cell, filters = given(np.ones((1, 1, 1, 1), np.float32)), given(np.ones((1, 2, 2, 1), np.float32))
    tail = [*map(integer, (0, 0, 0, 0, MOST, MOST, 0)), scalar(OperandCode.BOOL, False)]
    inputs = [cell, filters, given(np.zeros(1, np.float32)), *tail]
    need_agreement(OperationCode.TRANSPOSE_CONV_2D, inputs, [tensor("float32", (1, 2, 2, 1))], constant=True)
    scalars = [scalar(OperandCode.FLOAT32, np.float32(value)) for value in (1, 1, 0.5)]
    inputs = [given(np.ones((1, 1, 1, 5), np.float32)), integer(MOST), *scalars]
    need_agreement(OperationCode.LOCAL_RESPONSE_NORMALIZATION, inputs, [inputs[0][0]])


# Codes


@each_row("activation", [0, 1, 2, 3])
@each_row("code", [OperationCode.MUL, OperationCode.SUB])
@each_row(("scale", "zero_point"), [(3.40787, 152), (0.8, 100), (1.5, 3)])
def test_activations_of_a_product_with_a_negative_constant(
    code: OperationCode, activation: int, scale: float, zero_point: int
) -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(1, 16, 4, 4)
    builder = nnapi.Builder()
    x = builder.input(tensor("uint8", codes.shape, 1.72568, 182))
    constant = builder.constant(np.array([146], np.uint8), tensor("uint8", (1,), 0.428121, 249))
    out = tensor("uint8", codes.shape, scale, zero_point)
    operation = builder.mul if code == OperationCode.MUL else builder.sub
    builder.output(operation(constant, x, activation, out=out))
    need_codes_of(builder.finish(), codes)


def need_codes_of(model: Model, *codes: Array) -> None:
    """The engine gives the reference's codes, or those next to them."""
    ours, right = (compile(model, [which]).run(*codes)[0].astype(int) for which in (ENGINE, REFERENCE))
    assert abs(ours - right).max() <= 1


def test_strides_over_single_cells_behind_a_concatenation() -> None:
    """The engine makes these sums, which are not rounded before, a product of matrices and forgets the strides."""
    random = np.random.default_rng(0)
    codes, factors = (random.integers(0, 200, shape).astype(np.uint8) for shape in ((1, 6, 7, 8), (3, 1, 1, 8)))
    builder = nnapi.Builder()
    coarse, fine = (tensor("uint8", codes.shape, scale, 128) for scale in (0.5, 0.3))
    joined = builder.concatenation(
        builder.constant(codes, fine), builder.input(coarse), axis=0, out=tensor("uint8", (2, 6, 7, 8), 0.5, 128)
    )
    weights = builder.constant(factors, tensor("uint8", factors.shape, 0.1, 99))
    bias = builder.constant(np.arange(3, dtype=np.int32) * 100, tensor("int32", (3,), 0.05))
    out = tensor("uint8", (2, 3, 2, 3), 2.0, 100)
    builder.output(builder.conv_2d(joined, weights, bias, padding_scheme=2, stride_w=4, stride_h=2, out=out), joined)
    need_codes_of(builder.finish(), codes)


@pytest.mark.parametrize("activation", [1, 2, 3])
@pytest.mark.parametrize(
    ("input", "constant", "out", "number"),
    [((2, 69), (3.46275, 128), (0.1362662, 128), 255), ((23.60913, 128), (1.057626, 128), (1.057626, 128), 90)],
)
def test_activations_of_a_sum_with_a_constant(
    activation: int, input: tuple[float, int], constant: tuple[float, int], out: tuple[float, int], number: int
) -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(1, 16, 4, 4)
    builder = nnapi.Builder()
    x = builder.input(tensor("uint8", codes.shape, *input))
    offset = builder.constant(np.full((1, 1, 1, 1), number, np.uint8), tensor("uint8", (1, 1, 1, 1), *constant))
    builder.output(builder.add(x, offset, activation, out=tensor("uint8", codes.shape, *out)))
    need_codes_of(builder.finish(), codes)


def test_codes_with_a_scale_by_channel() -> None:
    codes = np.array([[-4, 94], [37, 41]], np.int8)
    type = OperandType(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 2), channel=ChannelQuantization(1, (0.5, 0.25)))
    need_agreement(OperationCode.DEQUANTIZE, [(type, codes)], [tensor("float32", (2, 2))])


@pytest.mark.parametrize(("scale", "zero_point"), [(1.9112481, 130), (0.12387960, 59), (0.05056638, 44)])
@pytest.mark.parametrize("computed", [False, True])
def test_the_code_of_zero_is_zero(scale: float, zero_point: int, computed: bool) -> None:
    codes = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)
    builder = nnapi.Builder()
    type = tensor("uint8", codes.shape, scale, zero_point)
    x = builder.input(type)
    if computed:
        x = builder.add(x, x, out=tensor("uint8", codes.shape, scale * 2, zero_point))
    builder.output(builder.dequantize(x, out=tensor("float32", codes.shape)))
    model = builder.finish()
    ours, right = (compile(model, [which]).run(codes) for which in (ENGINE, REFERENCE))
    np.testing.assert_array_equal(ours, right)
    assert ours[0].flat[zero_point] == 0


@pytest.mark.parametrize("activation", [0, 1, 2, 3])
def test_activations_of_a_transposed_convolution_of_codes(activation: int) -> None:
    """Cells that no filter reaches have the bias alone, which is far below 0."""
    image = tensor("uint8", (1, 1, 2, 1), 2.0, 0), np.array([[[[150], [250]]]], np.uint8)
    codes = np.array([164, 148, 152, 164, 160, 148, 140, 132, 144], np.uint8).reshape(1, 3, 3, 1)
    filters = tensor("uint8", codes.shape, 0.25, 128), codes
    bias = tensor("int32", (1,), 0.5), np.array([-2000], np.int32)
    shape = given(np.array([1, 3, 4, 1], np.int32))
    inputs = [image, filters, bias, shape, *map(integer, (1, 3, 3, activation)), scalar(OperandCode.BOOL, False)]
    out = tensor("uint8", (1, 3, 4, 1), 20.0, 50)
    ours, right = (
        run_single(OperationCode.TRANSPOSE_CONV_2D, inputs, [out], constant=True, devices=[which])[0].astype(int)
        for which in (ENGINE, REFERENCE)
    )
    assert abs(ours - right).max() <= 1


def need_codes(build: Any, *codes: Any) -> Any:
    """The engine gives the reference's codes, or one beside them."""
    builder = nnapi.Builder()
    builder.output(build(builder))
    model = builder.finish()
    ours, right = (compile(model, [which]).run(*codes)[0].astype(int) for which in (ENGINE, REFERENCE))
    assert abs(ours - right).max() <= 1
    return ours


@pytest.mark.parametrize("out", [tensor("uint8", (4,), 0.00049, 0), tensor("uint8", (4,), 3.0, 200)], ids=str)
def test_a_cast_of_computed_codes_keeps_them_whatever_the_scales(out: OperandType) -> None:
    type = tensor("uint8", (4,), 0.001, 0)
    codes = np.array([0, 4, 5, 255], np.uint8)
    ours = need_codes(lambda b: b.cast(b.relu(b.input(type), out=type), out=out), codes)
    assert ours.tolist() == codes.tolist()


@pytest.mark.parametrize("then", ["logistic", "hard_swish", "l2_normalization", "mul"])
def test_parts_of_codes_are_computed_with(then: str) -> None:
    whole, part = tensor("uint8", (1, 8), 0.05, 120), tensor("uint8", (1, 4), 0.05, 120)
    outs = {
        "logistic": tensor("uint8", (1, 4), 1 / 256, 0),
        "l2_normalization": tensor("uint8", (1, 4), 1 / 128, 128),
    }

    def build(builder: Any) -> Any:
        first, second = builder.split(builder.input(whole), 1, 2)
        operands = (first, second) if then == "mul" else (second,)
        return getattr(builder, then)(*operands, out=outs.get(then, part))

    need_codes(build, np.array([[3, 140, 255, 0, 99, 121, 120, 200]], np.uint8))


@pytest.mark.parametrize(("kind", "zero_point"), [("uint8", 255), ("int8", 0)])
@pytest.mark.parametrize("shape", [(1, 4), (1, 1, 4)])
def test_a_product_of_constants_with_a_bias_that_is_none(kind: str, zero_point: int, shape: tuple[int, ...]) -> None:
    x, weights = np.arange(4, dtype=kind).reshape(shape), np.arange(100, 116, dtype=kind).reshape(4, 4)

    def build(builder: Any) -> Any:
        return builder.fully_connected(
            builder.constant(x, tensor(kind, shape, 0.5, 1)),
            builder.constant(weights, tensor(kind, (4, 4), 0.25, zero_point)),
            builder.input(tensor("int32", (4,), 0.125)),
            out=tensor(kind, (1, 4), 4.0, 100),
        )

    need_codes(build, np.array([0, 100, 200, -300], np.int32))


@pytest.mark.parametrize(("kind", "zero_point"), [("uint8", 255), ("uint8", 77), ("uint8", 128), ("int8", -5)])
@pytest.mark.parametrize("computed", [False, True])
def test_zeros_around_codes(kind: str, zero_point: int, computed: bool) -> None:
    cell, image = (tensor(kind, shape, 0.3, zero_point) for shape in ((1, 1, 1, 1), (1, 1, 2, 1)))

    def x(builder: Any) -> Any:
        given = builder.input(cell)
        return builder.relu(given, out=cell) if computed else given

    def pad(builder: Any) -> Any:
        return builder.pad(x(builder), np.array([[0, 0], [0, 0], [0, 1], [0, 0]], np.int32), out=image)

    def space_to_batch(builder: Any) -> Any:
        paddings = np.array([[0, 0], [0, 1]], np.int32)
        return builder.space_to_batch_nd(x(builder), np.array([1, 1], np.int32), paddings, out=image)

    for build in (pad, space_to_batch):
        codes = np.full((1, 1, 1, 1), zero_point, kind)
        assert need_codes(build, codes).reshape(-1).tolist() == [zero_point, zero_point]


@pytest.mark.parametrize("activation", [0, 1, 2, 3])
@pytest.mark.parametrize("image", [(1, 1, 1, 1), (1, 2, 3, 1), (1, 9, 9, 1)])
def test_dilated_windows_with_scales_by_channel(image: tuple[int, ...], activation: int) -> None:
    random = np.random.default_rng(0)
    shape = (3, 7, 2, 1)
    filters = OperandType(
        OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, shape, channel=ChannelQuantization(0, (0.02, 0.01, 0.03))
    )
    inputs = [
        (tensor("uint8", image, 0.5, 129), random.integers(0, 256, image).astype(np.uint8)),
        (filters, random.integers(-127, 128, shape).astype(np.int8)),
        (tensor("int32", (3,)), np.array([-90, 0, 90], np.int32)),
        *map(integer, (1, 3, 2, activation)),
        scalar(OperandCode.BOOL, False),
        *map(integer, (3, 2)),
    ]
    out = tensor("uint8", (1, -(-image[1] // 2), -(-image[2] // 3), 3), 0.5, 129)
    ours, right = (
        run_single(OperationCode.CONV_2D, inputs, [out], constant=True, devices=[which])[0].astype(int)
        for which in (ENGINE, REFERENCE)
    )
    assert abs(ours - right).max() <= 1


# Numbers at the ends of the range


def test_large_exponents_whose_result_is_finite() -> None:
    x = np.array([88.37, 88.6, 88.72, 89, 88, -87.5, -104, 0], np.float32)
    need_agreement(OperationCode.EXP, [given(x)], [given(x)[0]])


def test_the_code_of_zero_is_zero_to_who_divides_by_its_root() -> None:
    x = tensor("int8", (4, 64), 5.705385, 127)
    codes = np.full((4, 64), 127), np.arange(-128, 128).reshape(4, 64)
    for values in codes:
        need_agreement(OperationCode.RSQRT, [(x, values)], [tensor("int8", (4, 64), 5.705385, -128)])


def test_computed_slopes_of_codes_are_decomposed_where_the_code_of_zero_would_count() -> None:
    x, alpha = tensor("uint8", (1, 6), 9.094845, 128), tensor("uint8", (1, 6), 0.3466255, 128)
    given = [(x, np.zeros((1, 6))), (alpha, np.full((1, 6), 128))]
    for scale, is_decomposed in ((0.00048828, True), (0.5, False)):
        made = [tensor("uint8", (1, 6), scale, 128)]
        (verdict,) = lower_model(single(OperationCode.PRELU, given, made)).verdicts
        assert bool(verdict.parts) is is_decomposed
        need_agreement(OperationCode.PRELU, given, made)


ONE = "RELU RELU1 RELU6 TANH LOGISTIC HARD_SWISH ABS EXP FLOOR LOG NEG SIN SQRT RSQRT".split()  # noqa: SIM905
TWO = "ADD SUB MUL DIV MAXIMUM MINIMUM POW PRELU".split()  # noqa: SIM905
COMPARISONS = "EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL".split()  # noqa: SIM905
FUSED = TWO[:4]


@pytest.mark.parametrize("name", ONE)
def test_each_number(name: str) -> None:
    need_agreement(OperationCode[name], [given(GRID)], [given(GRID)[0]])


@pytest.mark.parametrize("activation", [0, 1, 2, 3])
@pytest.mark.parametrize("name", TWO)
def test_each_pair_of_numbers(name: str, activation: int) -> None:
    if activation and name not in FUSED:
        pytest.skip("the operation has no activation")
    inputs = [given(COLUMN), given(ROW)] + [integer(activation)] * (name in FUSED)
    need_agreement(OperationCode[name], inputs, [tensor("float32", (len(GRID), len(GRID)))])


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_each_pair_and_of_what_is_not_a_number(name: str) -> None:
    numbers = np.append(GRID, np.array([np.nan, np.inf, -np.inf], np.float32))
    out = tensor("bool", (len(numbers), len(numbers)))
    need_agreement(OperationCode[name], [given(numbers.reshape(-1, 1)), given(numbers.reshape(1, -1))], [out])


@pytest.mark.parametrize("beta", [0.5, 1, 3])
def test_softmax_of_each_pair(beta: float) -> None:
    need_agreement(
        OperationCode.SOFTMAX, [given(PAIRS), scalar(OperandCode.FLOAT32, np.float32(beta))], [given(PAIRS)[0]]
    )


@pytest.mark.parametrize("type", ["int32", "uint8"])
def test_casts_of_each_number(type: str) -> None:
    out = tensor(type, GRID.shape) if type == "int32" else tensor(type, GRID.shape, 1.0, 0)
    need_agreement(OperationCode.CAST, [given(GRID)], [out])


@pytest.mark.parametrize("operation", [OperationCode.RELU1, OperationCode.RELU6])
@pytest.mark.parametrize(
    ("type", "scale", "zero_point", "finer"),
    [
        ("int8", 10.4, 3, 0.3),
        ("int8", 5.9, -59, 0.3),
        ("uint8", 4.343, 131, 0.3),
        ("uint8", 0.7, 150, 0.3),
        ("uint8", 0.0388, 128, 0.0078),
    ],
)
def test_limits_of_codes_that_are_kept_in_a_finer_scale(
    operation: OperationCode, type: str, scale: float, zero_point: int, finer: float
) -> None:
    """A step off in the coarse scale is many in the fine one."""
    codes = np.arange(np.iinfo(type).min, np.iinfo(type).max + 1).astype(type)
    model = Model()
    x = model.add_operand(tensor(type, codes.shape, scale, zero_point))
    limited = model.add_operand(tensor(type, codes.shape, finer, zero_point))
    model.add_operation(operation, [x], [limited])
    model.identify_inputs_and_outputs([x], [limited])
    model.finish()
    ours, right = (compile(model, [which]).run(codes)[0].astype(int) for which in (ENGINE, REFERENCE))
    assert abs(ours - right).max() <= 1
