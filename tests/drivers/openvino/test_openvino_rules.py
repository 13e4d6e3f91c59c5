"""Every lowering rule against the reference, on random calls and on those that the engine is known to get wrong."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode, OperationCode
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.lowering.windows import WIDEST
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import NAMES, CompositeCode
from nnapi.runtime.device import Device, device
from nnapi.testing.example import Criterion
from nnapi.testing.random.calls import random_call
from tests.comparison import Agreement, compare_devices
from tests.rows import each_row
from tests.single import run_single, scalar, single

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.context import RULES
from nnapi.drivers.openvino.engine import core, lower_model
from nnapi.drivers.openvino.value import round_half

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))
CALLS = 4
DECOMPOSED = {OperationCode.CHANNEL_SHUFFLE, OperationCode.L2_POOL_2D}
"""Operations without a rule."""
RARELY_TAKEN = {OperationCode.FILL, OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM}
SUMS = {
    OperationCode.CONV_2D,
    OperationCode.DEPTHWISE_CONV_2D,
    OperationCode.GROUPED_CONV_2D,
    OperationCode.TRANSPOSE_CONV_2D,
    OperationCode.FULLY_CONNECTED,
    OperationCode.BATCH_MATMUL,
    OperationCode.INSTANCE_NORMALIZATION,
    CompositeCode.GROUP_NORM,
}
"""Add up products in another order than the reference: where these cancel, the last places of floats differ."""

UINT8, INT8 = tensor("uint8", (), 0.5, 128), tensor("int8", (), 0.5, -1)


def both(code: OperationCode, inputs: list[Any], outputs: list[Any], **how: bool) -> tuple[Any, ...]:
    """Return the results of the engine and the reference."""
    ours = run_single(code, inputs, outputs, devices=[ENGINE], **how)
    return ours, run_single(code, inputs, outputs, devices=[device("nnapi-reference")], **how)


def need_close(pair: tuple[Any, ...], tolerance: float = 1) -> None:
    for ours, right in zip(*pair, strict=True):
        assert ours.shape == right.shape
        np.testing.assert_allclose(ours.astype(float), right.astype(float), atol=tolerance, rtol=1e-5)


def refusal(code: OperationCode, inputs: list[Any], outputs: list[Any], **how: Any) -> str:
    (verdict,) = lower_model(single(code, inputs, outputs, **how)).verdicts
    assert not verdict.supported
    return verdict.reason


def need_parts(code: OperationCode, inputs: list[Any], outputs: list[Any], tolerance: float = 0) -> None:
    """Check that the engine decomposes an operation, and gives what the reference does."""
    (verdict,) = lower_model(single(code, inputs, outputs)).verdicts
    assert len(verdict.parts) > 1
    need_close(both(code, inputs, outputs), tolerance)


def int32s(*values: Any) -> tuple[Any, ...]:
    return tensor("int32", np.shape(values)), np.array(values, np.int32)


def integer(value: int) -> tuple[Any, ...]:
    return scalar(OperandCode.INT32, value)


@each_row("code", sorted({*RULES, *DECOMPOSED}), ids=lambda code: NAMES[code])
def test_random_calls_agree(code: OperationCode) -> None:
    agreed = 0
    for seed in range(3 * CALLS):
        example = random_call(REGISTRY[code], np.random.default_rng([seed, code]))
        if code in SUMS:
            example = replace(example, tolerance=Criterion("fp16"))
        result = compare_devices(device("nnapi-reference"), ENGINE, example)
        assert result.agreement != Agreement.DIFFER, f"seed {seed}: {result.reason}"
        agreed += result.agreement == Agreement.AGREE
        if agreed == CALLS:
            return
    assert agreed or code in RARELY_TAKEN, "every call was refused"


@pytest.mark.parametrize("zero_point", [0, 3])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_fully_connected_whose_sums_need_no_scaling(scale: float, zero_point: int) -> None:
    random = np.random.default_rng(0)
    types = tensor("int8", (2, 16), 1 / 256, zero_point), tensor("int8", (2, 16), scale)
    inputs = [(type, random.integers(-128, 128, type.dimensions).astype(np.int8)) for type in types]
    inputs += [(tensor("int32", (2,), scale / 256), np.array([-45, 47], np.int32)), integer(0)]
    need_close(both(OperationCode.FULLY_CONNECTED, inputs, [tensor("int8", (2, 2), 1 / 256)], constant=True))


@pytest.mark.parametrize("zero_point", [0, 100, 255])
def test_unsigned_weights_beyond_signed_bytes(zero_point: int) -> None:
    random = np.random.default_rng(1)
    types = tensor("uint8", (1, 5, 5, 4), 0.5, 128), tensor("uint8", (8, 3, 3, 4), 0.25, zero_point)
    inputs = [(type, random.integers(0, 256, type.dimensions).astype(np.uint8)) for type in types]
    inputs += [(tensor("int32", (8,), 0.125), np.arange(8, dtype=np.int32)), *map(integer, (1, 1, 1, 0))]
    need_close(both(OperationCode.CONV_2D, inputs, [tensor("uint8", (1, 5, 5, 8), 200, 127)], constant=True))


def test_blocks_of_a_constant_that_is_rounded() -> None:
    """The engine folds the operations before, and would not finish its own ones for blocks."""
    builder = nnapi.Builder()
    x = builder.constant(np.full((1, 1, 1, 1), 116, np.uint8), tensor("uint8", (1, 1, 1, 1), 0.6))
    image, split, joined = (tensor("uint8", shape, 0.8) for shape in ((2, 2, 4, 3), (4, 3, 3, 3), (1, 2, 8, 3)))
    whole, block = builder.prelu(x, builder.input(image), out=image), np.array([1, 2], np.int32)
    builder.output(builder.space_to_batch_nd(whole, block, np.array([[1, 0], [1, 1]], np.int32), out=split))
    builder.output(builder.batch_to_space_nd(whole, block, out=joined))
    first, second = nnapi.compile(builder.finish(), [Device(OpenVinoDriver(threads=1))]).run(
        np.zeros((2, 2, 4, 3), np.uint8)
    )
    assert first[:, 1:].reshape(2, -1).tolist() == [[0, 0, 0, *[87] * 6] * 4, [*[87] * 6, 0, 0, 0] * 4]
    assert not first[:, 0].any()
    assert (second == 87).all()


def test_zeros_around_a_difference_stay() -> None:
    """Between quantized values the engine took the 1 from the padding, too."""
    builder = nnapi.Builder()
    x = builder.dequantize(builder.input(tensor("int8", (1, 2), 0.5)), out=tensor("float32", (1, 2)))
    difference = builder.sub(x, np.array([1], np.float32))
    builder.output(builder.pad(difference, np.array([[1, 0], [0, 0]], np.int32)))
    builder.output(builder.quantize(difference, out=tensor("uint8", (1, 2), 0.5, 128)))
    padded, _ = nnapi.compile(builder.finish(), [Device(OpenVinoDriver(threads=1))]).run(np.array([[6, 8]], np.int8))
    assert padded.tolist() == [[0, 0], [2, 3]]


def test_space_to_batch_pads_with_the_zero_point() -> None:
    image = UINT8.with_dimensions((1, 2, 2, 1)), np.array([1, 2, 3, 4], np.uint8).reshape(1, 2, 2, 1)
    inputs = [image, int32s(2, 2), int32s([1, 1], [1, 1])]
    pair = both(OperationCode.SPACE_TO_BATCH_ND, inputs, [UINT8.with_dimensions((4, 2, 2, 1))], constant=True)
    need_close(pair, 0)
    assert pair[0][0][0].reshape(-1).tolist() == [128, 128, 128, 4]


def test_blocks_of_batches_go_to_rows_and_columns() -> None:
    x = np.arange(24, dtype=np.float32).reshape(6, 2, 1, 2)
    inputs = [(tensor("float32", x.shape), x), (tensor("int32", (2,)), np.array([2, 3], np.int32))]
    pair = both(OperationCode.BATCH_TO_SPACE_ND, inputs, [tensor("float32", (1, 4, 3, 2))], constant=True)
    need_close(pair, 0)
    assert pair[0][0][0, :, :, 0].tolist() == [[0, 4, 8], [12, 16, 20], [2, 6, 10], [14, 18, 22]]


@pytest.mark.parametrize("type", [tensor("float32", ()), tensor("float16", ()), UINT8, INT8], ids=str)
@pytest.mark.parametrize("how", [(False, False), (False, True), (True, False)], ids=["", "half pixels", "corners"])
def test_nearest_cells_are_the_specified_ones(type: Any, how: tuple[bool, ...]) -> None:
    flags = [scalar(OperandCode.BOOL, flag) for flag in (False, *how)]
    for (rows, columns), (height, width) in [
        ((13, 25), (39, 175)),
        ((1, 7), (5, 7)),
        ((6, 10), (12, 15)),
        ((9, 4), (3, 4)),
        ((49, 3), (49 * 11, 9)),
    ]:
        cells = np.arange(rows * columns * 3).reshape(1, rows, columns, 3) % 128
        image = type.with_dimensions(cells.shape), cells.astype(type.dtype)
        inputs = [image, integer(width), integer(height), *flags]
        need_close(
            both(OperationCode.RESIZE_NEAREST_NEIGHBOR, inputs, [type.with_dimensions((1, height, width, 3))]), 0
        )


def test_repeated_cells_stay_in_the_order_of_axes_of_convolutions() -> None:
    builder = nnapi.Builder()
    builder.output(builder.resize_nearest_neighbor(builder.input(tensor("float32", (1, 4, 5, 8))), 10, 12))
    kinds = {node.get_type_name() for node in lower_model(builder.finish()).graph().get_ops()}
    assert "Interpolate" in kinds
    assert "Gather" not in kinds


def test_pad_with_a_code_that_is_not_zero() -> None:
    inputs = [(UINT8.with_dimensions((2,)), np.array([9, 8], np.uint8)), int32s([1, 2]), integer(3)]
    ours, _ = both(OperationCode.PAD_V2, inputs, [UINT8.with_dimensions((5,))], constant=True)
    assert ours[0].tolist() == [3, 9, 8, 3, 3]


def test_axes_of_dimension_1_stay() -> None:
    lhs = INT8.with_dimensions((1,)), np.array([5], np.int8)
    rhs = INT8.with_dimensions((1, 1, 1)), np.array([[[7]]], np.int8)
    out = tensor("int8", (1, 1, 1), 2.0, 100)
    need_close(both(OperationCode.ADD, [lhs, rhs, integer(0)], [out], constant=True))


@pytest.mark.parametrize("axis", range(4))
def test_channels_are_shuffled_along_any_axis(axis: int) -> None:
    image = tensor("float32", (4, 4, 4, 4)), np.arange(256, dtype=np.float32).reshape(4, 4, 4, 4)
    need_close(both(OperationCode.CHANNEL_SHUFFLE, [image, integer(2), integer(axis)], [tensor("float32")]), 0)


def test_top_k_takes_the_later_of_equals() -> None:
    row = tensor("float32", (5,)), np.array([1, 3, 3, 2, 3], np.float32)
    ours, right = both(OperationCode.TOPK_V2, [row, integer(4)], [tensor("float32", (4,)), tensor("int32", (4,))])
    assert ours[1].tolist() == right[1].tolist() == [4, 2, 1, 3]


def test_arg_max_takes_the_first_of_equals() -> None:
    row = UINT8.with_dimensions((1, 6)), np.array([[1, 7, 7, 2, 7, 0]], np.uint8)
    ours, _ = both(OperationCode.ARGMAX, [row, integer(1)], [tensor("int32", (1,))])
    assert ours[0].tolist() == [1]


def test_mean_of_codes_is_rounded_down() -> None:
    codes = np.array([[0, 1, 1, 1], [0, 0, 0, 1], [5, 5, 5, 5]], np.uint8)
    inputs = [(UINT8.with_dimensions((3, 4)), codes), int32s(1), integer(0)]
    ours, _ = both(OperationCode.MEAN, inputs, [UINT8.with_dimensions((3,))], constant=True)
    assert ours[0].tolist() == [0, 0, 5]


@pytest.mark.parametrize(("name", "scales"), [("int8", (0.1, 0.3)), ("uint8", (0.005, 0.1, 0.3))])
def test_means_halfway_between_codes_that_are_kept_in_another_scale(name: str, scales: tuple[float, ...]) -> None:
    windows = [*map(integer, (0, 0, 0, 0, 1, 1, 2, 1, 0))]
    image = tensor(name, (1, 2, 2, 1), 0.1, 40), np.reshape([37, 38, 45, 40], (1, 2, 2, 1))
    for scale in scales:
        need_close(both(OperationCode.AVERAGE_POOL_2D, [image, *windows], [tensor(name, (1, 2, 1, 1), scale, 60)]))
    if name == "int8":
        fine = tensor(name, (1, 2, 1, 1), 0.005, 60)
        need_parts(OperationCode.AVERAGE_POOL_2D, [image, *windows], [fine])


@pytest.mark.parametrize("code", [OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D])
def test_activations_of_results_that_are_kept_in_another_scale(code: OperationCode) -> None:
    image = tensor("uint8", (1, 1, 1, 1), 12.0, 128), np.full((1, 1, 1, 1), 214)
    windows = map(integer, (0, 0, 0, 0, 1, 1, 1, 1, 3))
    need_parts(code, [image, *windows], [tensor("uint8", (1, 1, 1, 1), 24.0, 128)])


@pytest.mark.parametrize("depth", [3, 5, 8])
def test_transposed_convolutions_of_codes(depth: int) -> None:
    random = np.random.default_rng(0)
    x, w = tensor("uint8", (1, 1, 2, depth), 0.5, 128), tensor("uint8", (depth, 1, 5, depth), 0.01, 128)
    b, y = tensor("int32", (depth,), 0.005), tensor("uint8", (1, 1, 10, depth), 0.02, 128)
    for _ in range(4):
        codes = [(type, random.integers(0, 256, type.dimensions)) for type in (x, w)]
        arguments = [(b, random.integers(-90, 90, depth)), *map(integer, (0, 0, 0, 0, 5, 1, 0))]
        arguments.append(scalar(OperandCode.BOOL, False))
        need_close(both(OperationCode.TRANSPOSE_CONV_2D, [*codes, *arguments], [y], constant=True))


def chain(then: Any, type: Any, out: Any) -> Any:
    """A quantized tensor added to zero, so that its numbers are computed, and an operation on it."""
    builder = nnapi.Builder()
    x = builder.input(type)
    zero = builder.constant(np.full(1, type.zero_point, type.dtype), type.with_dimensions((1,)))
    builder.output(then(builder, builder.add(x, zero, out=type), out))
    return builder.finish()


def test_reduce_max_of_computed_codes() -> None:
    type, out = INT8.with_dimensions((4, 6)), INT8.with_dimensions((4, 1))
    model = chain(lambda b, x, out: b.reduce_max(x, [1], True), type, out)
    codes = np.arange(-12, 12, dtype=np.int8).reshape(4, 6)
    prepared = ENGINE.driver.prepare(model, PrepareOptions())
    assert prepared.execute(Request([codes])).outputs[0].reshape(-1).tolist() == [-7, -1, 5, 11]


def test_normalized_zeros_stay_zero() -> None:
    type = INT8.with_dimensions((1, 4))
    model = chain(lambda b, x, out: b.l2_normalization(x), type, type)
    prepared = ENGINE.driver.prepare(model, PrepareOptions())
    assert prepared.execute(Request([np.full((1, 4), -1, np.int8)])).outputs[0].tolist() == [[0] * 4]


# Refusals


def test_indices_are_tested_when_the_model_runs() -> None:
    rows = tensor("float32", (3, 2)), np.arange(6, dtype=np.float32).reshape(3, 2)
    inputs = [rows, integer(0), int32s(2, 0)]
    model = single(OperationCode.GATHER, inputs, [tensor("float32", (2, 2))])
    prepared = ENGINE.driver.prepare(model, PrepareOptions())
    assert prepared.execute(Request([rows[1], np.array([2, 0], np.int32)])).outputs[0].tolist() == [[4, 5], [0, 1]]
    with pytest.raises(Exception, match=r"indices input2 are in 0..3, must be in 0..2"):
        prepared.execute(Request([rows[1], np.array([3, 0], np.int32)]))


def test_refusals_name_operand_and_value() -> None:
    numbers = tensor("int32", (2,)), np.array([7, -7], np.int32)
    results = [tensor("int32", (1,)), tensor("int32", (1,))]
    assert "input0 is TENSOR_INT32" in refusal(OperationCode.TOPK_V2, [numbers, integer(1)], results)
    wide = tensor("uint16", (2,), 1.0, 0), np.zeros(2, np.uint16)
    assert "input0 is TENSOR_QUANT16_ASYMM" in refusal(OperationCode.CAST, [wide], [wide[0]])


def test_an_operation_without_rule_is_refused_by_its_name() -> None:
    """That of L2_POOL_2D's decomposition which the engine refuses is another."""
    image = tensor("float32", (1, 1, 1, 1)), np.ones((1, 1, 1, 1), np.float32)
    wide = [integer(value) for value in (WIDEST + 1, 0, 0, 0, 1, 1, WIDEST + 2, 1, 0)]
    said = refusal(OperationCode.L2_POOL_2D, [image, *wide], [image[0]])
    message = "L2_POOL_2D (#0): the engine has no operation with this meaning, and its decomposition is refused: "
    assert said.startswith(message)


def test_an_operation_without_rule_is_computed_as_its_decomposition() -> None:
    image = tensor("float32", (1, 2, 2, 6)), np.arange(24, dtype=np.float32).reshape(1, 2, 2, 6)
    need_parts(OperationCode.CHANNEL_SHUFFLE, [image, integer(3), integer(-1)], [image[0]], 0)


def test_a_cell_is_not_decomposed() -> None:
    b = nnapi.Builder()
    x, features, state = (b.input(tensor("float32", shape)) for shape in ((2, 3), (4, 3), (2, 40)))
    b.output(*b.svdf(x, features, np.ones((4, 10), np.float32), None, state, 1, 0))
    (verdict,) = lower_model(b.finish()).verdicts
    assert not verdict.supported


def test_an_operation_whose_rule_refuses_it_is_computed_as_its_decomposition() -> None:
    """The engine's ELU is wrong with a negative factor."""
    floats = tensor("float32", (3,)), np.array([-1, 0, 2], np.float32)
    need_parts(OperationCode.ELU, [floats, scalar(OperandCode.FLOAT32, np.float32(-1))], [floats[0]], 1e-6)


def test_a_decomposition_clamps_in_the_scale_of_the_result() -> None:
    """RELU1 of 49.8 is 1, which is 0 steps of the input's scale and 14 of the result's."""
    image, out = tensor("uint8", (1, 1, 1, 1), 12.45, 128), tensor("uint8", (1, 1, 1, 1), 0.0706, 128)
    window = [integer(number) for number in (0, 0, 0, 1, 1, 1, 1, 2, 2)]
    need_parts(OperationCode.MAX_POOL_2D, [(image, np.full((1, 1, 1, 1), 132, np.uint8)), *window], [out])


@pytest.mark.parametrize("before", ["max_pool_2d", "split", "topk_v2"])
def test_an_instance_normalization_behind_an_operation_that_the_engine_gives_several_results(before: str) -> None:
    """In a model with quantized values, in which it is computed without the engine's own operator."""
    b = nnapi.Builder()
    real = b.dequantize(b.input(tensor("uint8", (1, 2, 4, 4), 0.5, 10)), out=tensor("float32", (1, 2, 4, 4)))
    x = {
        "max_pool_2d": lambda: b.max_pool_2d(real, 0, 0, 0, 0, 1, 1, 2, 2, 0, True),
        "split": lambda: b.split(real, 1, 2)[0],
        "topk_v2": lambda: b.topk_v2(real, 3)[0],
    }[before]()
    b.output(b.instance_normalization(x, np.float32(2), np.float32(1), np.float32(1e-3), True))
    model, given = b.finish(), np.arange(32, dtype=np.uint8).reshape(1, 2, 4, 4)
    ours, right = (nnapi.compile(model, which).run(given)[0] for which in (ENGINE, device("nnapi-reference")))
    np.testing.assert_allclose(ours, right, atol=1e-5)


@each_row(("type", "zero_point"), [("int8", 0), ("int8", -3), ("int8", 5), ("uint8", 128), ("uint8", 100)])
@each_row("scale", [1.728292, 0.3])
@each_row("code", [OperationCode.MAX_POOL_2D, OperationCode.RELU1])
def test_limits_below_the_zero_point(code: OperationCode, scale: float, type: str, zero_point: int) -> None:
    """-1 is a quantized value below the zero point. The engine took the next one above."""
    of = tensor(type, (1, 1, 1, 3), scale, zero_point)
    x = np.array([1, 2, -5]).reshape(1, 1, 1, 3) + zero_point
    options = [*map(integer, (1, 1, 1, 1, 1, 2))] if code == OperationCode.MAX_POOL_2D else []
    need_close(both(code, [(of, x.astype(type)), *options], [of]), 0)


def test_a_window_that_misses_the_image_is_refused() -> None:
    """Four rows with a dilation of 5 around an image of one row: the engine ends the process on quantized values."""
    image, filter = tensor("uint8", (1, 1, 9, 1), 0.5, 128), tensor("uint8", (1, 4, 2, 1), 0.5, 128)
    b = nnapi.Builder()
    x = b.input(image)
    bias = b.constant(np.zeros(1, np.int32), tensor("int32", (1,), 0.25, 0))
    window: dict[str, Any] = {
        "padding_scheme": 1,
        "stride_w": 1,
        "stride_h": 1,
        "activation": 0,
        "dilation_w": 3,
        "dilation_h": 5,
    }
    weights = b.constant(np.ones(filter.dimensions, np.uint8), filter)
    b.output(b.conv_2d(x, weights, bias, **window, out=tensor("uint8", (), 0.5, 128)))
    (verdict,) = lower_model(b.finish()).verdicts
    assert "a window lies above or below the image" in verdict.reason


def test_values_are_rounded_to_float16_as_numpy_rounds_them() -> None:
    """All float16 values, those halfway between two and their neighbors, and what is larger or smaller."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = np.unique(every[np.isfinite(every)].astype(np.float32))
    between = (halves[1:] + halves[:-1]) / 2
    beside = [np.nextafter(between, np.float32(end)) for end in (-np.inf, np.inf)]
    others = np.array([np.inf, -np.inf, np.nan, 65519.99, 65520, 1e30, -3e38, 1e-30, -1e-40], np.float32)
    x = np.concatenate([halves, between, *beside, others])
    parameter = op.parameter([len(x)], np.float32)
    graph = ov.Model([op.result(round_half(parameter))], [parameter], "round")
    (found,) = core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x]).values()
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
