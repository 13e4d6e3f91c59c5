"""The engine's rewrites of whole graphs: shared memory, reordered operations."""

import numpy as np
import pytest

import nnapi
from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.compiling import compile
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from nnapi.runtime.device import Device, device
from tests.rows import each_row

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import lower_model

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")


@pytest.mark.parametrize("dimensions", [(3,), (200, 200)])
@pytest.mark.parametrize("type", ["float32", "float16", "int32"])
def test_an_input_that_is_an_output(dimensions: tuple[int, ...], type: str) -> None:
    values = np.arange(np.prod(dimensions)).reshape(dimensions).astype(type)
    builder = nnapi.Builder()
    builder.output(builder.cast(builder.input(tensor(type, dimensions)), out=tensor(type, dimensions)))
    np.testing.assert_array_equal(compile(builder.finish(), [ENGINE]).run(values)[0], values)


def test_what_is_joined_stays_when_its_size_is_asked_for() -> None:
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (3,)))
    joined = builder.concatenation([x, x], 0)
    builder.output(joined)
    builder.output(builder.abs(joined))
    first, second = compile(builder.finish(), [ENGINE]).run(np.array([-1, 2, -3], np.float32))
    assert first.tolist() == [-1, 2, -3] * 2
    assert second.tolist() == [1, 2, 3] * 2


def test_codes_from_behind_a_concatenation_in_another_scale() -> None:
    """Numbers behind stored codes that are rounded to others at once: the engine crashed."""
    input, fine, coarse = tensor("uint8", (2, 1), 1 / 128, 128), (1 / 512, 128), (1 / 32, 128)
    model = Model()
    x, y = model.add_operand(input), model.add_operand(input)
    axis, nothing = model.add_operand(OperandType(OperandCode.INT32)), model.add_operand(tensor("int32", (2, 2)))
    model.set_operand_value(axis, np.array(1, np.int32))
    model.set_operand_value(nothing, np.zeros((2, 2), np.int32))
    results = fine, coarse, (1 / 128, 128)
    joined, padded, out = (model.add_operand(tensor("uint8", (2, 2), *scale)) for scale in results)
    model.add_operation(OperationCode.CONCATENATION, [x, y, axis], [joined])
    model.add_operation(OperationCode.PAD, [joined, nothing], [padded])
    model.add_operation(OperationCode.TANH, [padded], [out])
    model.identify_inputs_and_outputs([x, y], [out])
    model.finish()
    codes = [np.array([[3], [200]], np.uint8)] * 2
    ours, right = (compile(model, [which]).run(*codes)[0].astype(int) for which in (ENGINE, REFERENCE))
    assert abs(ours - right).max() <= 1


@each_row(("type", "zero_point"), [("uint8", 0), ("uint8", 128), ("int8", 0), ("int8", -128)])
@each_row("number", [-1.0, -0.001, 0.3, 1.0, 300.0])
def test_numbers_around_dequantized_ones(type: str, zero_point: int, number: float) -> None:
    """Beside operations on codes, with which the engine looks for others that could be done on them."""
    builder = nnapi.Builder()
    codes, weights = (builder.input(tensor("uint8", (1, 1), scale, 128)) for scale in (1 / 128, 1.0))
    bias = builder.constant(np.zeros(1, np.int32), tensor("int32", (1,), 1 / 128))
    builder.output(builder.fully_connected(codes, weights, bias, out=tensor("uint8", (1, 1), 1.0, 128)))
    real = builder.dequantize(builder.input(tensor(type, (1, 3), 0.5, zero_point)), out=tensor("float32", (1, 3)))
    builder.output(builder.pad_v2(real, np.array([[0, 0], [1, 1]], np.int32), np.float32(number)))
    model, given = (
        builder.finish(),
        [np.array([[3]], np.uint8), np.array([[5]], np.uint8), np.array([[7, 20, 99]], type)],
    )
    for ours, right in zip(*(compile(model, [which]).run(*given) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-6)


@pytest.mark.parametrize("factor", ["neg", "mul"])
def test_padding_is_not_multiplied_with_what_it_is_around(factor: str) -> None:
    """Beside an operation on codes the engine took the sign, or a factor, to behind the padding."""
    builder = nnapi.Builder()
    x, y = builder.input(tensor("float32", (1,))), builder.input(tensor("float32", (1,)))
    builder.output(builder.quantize(y, out=tensor("int8", (1,), 0.5, 0)))
    numbers = builder.neg(x) if factor == "neg" else builder.mul(x, np.array([3], np.float32))
    builder.output(builder.pad_v2(numbers, np.array([[2, 0]], np.int32), np.float32(1)))
    given = np.array([0.25], np.float32)
    _, padded = compile(builder.finish(), [ENGINE]).run(given, given)
    assert padded.tolist() == [1, 1, -0.25 if factor == "neg" else 0.75]


def test_a_result_that_is_shown_is_what_is_computed_with() -> None:
    """A sum that lies between two codes is rounded once."""
    codes = np.array([53, 97, 79, 73, 158, 195, 161, 8, 154, 58, 81], np.uint8)
    builder = nnapi.Builder()
    weights = builder.constant(np.array([[59], [149]], np.uint8), tensor("uint8", (2, 1), 0.10660633444786072, 128))
    bias = builder.constant(np.array([43, 95], np.int32), tensor("int32", (2,), 0.00041643099393695593))
    image = builder.input(tensor("uint8", (11, 1, 1), 0.00390625, 116))
    shown = builder.fully_connected(image, weights, bias, out=tensor("uint8", (11, 2), 0.10660633444786072, 128))
    builder.output(shown)
    slope = builder.constant(np.full((1, 1), 255, np.uint8), tensor("uint8", (1, 1), 0.00390625, 128))
    builder.output(builder.prelu(shown, slope, out=tensor("uint8", (11, 2), 0.00390625, 128)))
    first, second = compile(builder.finish(), [ENGINE]).run(codes.reshape(11, 1, 1))
    sums = (first.astype(int) - 128) * 0.10660633444786072
    right = np.where(sums > 0, sums, sums * 127 / 256) / 0.00390625 + 128
    assert np.abs(np.clip(right, 0, 255) - second).max() <= 1


def test_zero_stays_zero_below_a_steep_slope() -> None:
    """The engine's number for the code that means 0 lies next to 0; the slope is 2785 and more."""
    scale, slopes = 21.937158584594727, np.array([82, -84, 23, -86, 102, 126], np.int8)
    builder = nnapi.Builder()
    x = builder.input(tensor("int8", (6,), scale, 127))
    slope = builder.constant(slopes, tensor("int8", (6,), scale))
    builder.output(builder.prelu(x, slope, out=tensor("int8", (6,), 0.25)))
    compiled = compile(builder.finish(), [ENGINE])
    assert compiled.run(np.full(6, 127, np.int8))[0].tolist() == [0] * 6
    assert compiled.run(np.full(6, 126, np.int8))[0].tolist() == [-128, 127, -128, 127, -128, -128]


@pytest.mark.parametrize("activation", [FuseCode.FUSED_NONE, FuseCode.FUSED_RELU])
@pytest.mark.parametrize("reader", ["gather", "reshape", "expand_dims"])
def test_an_image_of_codes_that_is_shown_and_read_in_its_own_order(reader: str, activation: FuseCode) -> None:
    """Pooled with the channels first, turned back for both: readers were given memory that nobody had written to."""
    codes = np.arange(-40, 56, 8).astype(np.int8).reshape(1, 3, 2, 2)
    builder = nnapi.Builder()
    pooled = builder.max_pool_2d(builder.input(tensor("int8", codes.shape, 0.5, 0)), 1, 1, 1, 1, 2, activation, False)
    builder.output(pooled)
    if reader == "gather":
        builder.output(builder.gather(pooled, 3, np.array([1, 0], np.int32)))
    elif reader == "reshape":
        builder.output(builder.reshape(pooled, np.array([-1], np.int32)))
    else:
        builder.output(builder.expand_dims(pooled, 0))
    model = builder.finish()
    for ours, right in zip(*(compile(model, [which]).run(codes) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_array_equal(ours, right)


@pytest.mark.parametrize("reader", ["reshape", "expand_dims"])
def test_codes_of_other_dimensions_that_are_shown_beside_a_pooling(reader: str) -> None:
    codes = np.arange(-40, 56, 8).astype(np.int8).reshape(1, 3, 2, 2)
    builder = nnapi.Builder()
    limited = builder.relu6(builder.input(tensor("int8", codes.shape, 0.5, 0)))
    flat = np.array([-1], np.int32)
    builder.output(builder.reshape(limited, flat) if reader == "reshape" else builder.expand_dims(limited, 0))
    builder.output(builder.max_pool_2d(limited, 1, 1, 1, 1, 1, FuseCode.FUSED_RELU, False))
    model = builder.finish()
    for ours, right in zip(*(compile(model, [which]).run(codes) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_array_equal(ours, right)


@pytest.mark.parametrize("is_fused", [True, False])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_a_limit_between_two_codes_of_what_nobody_sees(name: str, is_fused: bool) -> None:
    """6 in steps of 7.4 is code 1; as a limit of codes the engine took 0.81 for 0."""
    image, fine = tensor("int8", (1, 1, 1, 1), 7.40486, 0), tensor("int8", (1, 1, 1, 1), 0.0125, 0)
    builder = nnapi.Builder()
    fused = FuseCode.FUSED_RELU6 if is_fused else FuseCode.FUSED_NONE
    limited = builder.max_pool_2d(builder.input(image), 1, 1, 1, 1, 1, fused, False)
    limited = limited if is_fused else builder.relu6(limited)
    builder.output(getattr(builder, name)(limited, builder.input(fine), FuseCode.FUSED_NONE, out=fine))
    model, given = builder.finish(), (np.full((1, 1, 1, 1), 62, np.int8), np.zeros((1, 1, 1, 1), np.int8))
    for which in (ENGINE, REFERENCE):
        assert compile(model, [which]).run(*given)[0].item() == 127


@pytest.mark.parametrize("factor", ["scale", "constant"])
def test_epsilon_counts_beside_numbers_with_a_factor(factor: str) -> None:
    """In a model with codes the engine dropped what numbers were multiplied by, and so made epsilon nothing."""
    builder = nnapi.Builder()
    codes = builder.input(tensor("uint8", (1, 1, 2, 2), 0.05, 128))
    image = np.array([126, 130, 128, 255], np.uint8).reshape(1, 1, 2, 2)
    given: list[np.ndarray] = [image]
    if factor == "scale":
        numbers = builder.dequantize(codes, out=tensor("float32", (1, 1, 2, 2)))
    else:
        numbers = builder.mul(builder.input(tensor("float32", (1, 1, 2, 2))), np.array([0.05], np.float32))
        given.append(image.astype(np.float32) - 128)
    builder.output(builder.relu(codes))
    builder.output(builder.instance_normalization(numbers, np.float32(1), np.float32(0.5), np.float32(3.5), True))
    model = builder.finish()
    ours, right = (compile(model, [which]).run(*given)[1] for which in (ENGINE, REFERENCE))
    np.testing.assert_allclose(ours, right, atol=1e-5)


@pytest.mark.parametrize(("type", "dimensions", "axis"), [("float16", (2, 8, 8, 16), 0), ("float32", (1, 8, 8, 16), 1)])
def test_an_image_that_is_joined_and_read(type: str, dimensions: tuple[int, ...], axis: int) -> None:
    """Tensors concatenated along the first axis are computed in place; a convolution then read wrong memory."""
    builder, rng = nnapi.Builder(), np.random.default_rng(0)
    x = builder.tanh(builder.input(tensor(type, dimensions)))
    weights = rng.uniform(-1, 1, (8, 1, 1, dimensions[-1])).astype(type)
    builder.output(builder.conv_2d(x, weights, np.zeros(8, type), 0, 0, 0, 0, 1, 1, 0, False))
    builder.output(builder.concatenation([builder.relu(x), x], axis))
    model, image = builder.finish(), rng.uniform(-1, 1, dimensions).astype(type)
    for ours, right in zip(*(compile(model, [which]).run(image) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_allclose(ours.astype(float), right.astype(float), atol=1e-2)


@pytest.mark.parametrize("type", ["float16", "float32"])
@pytest.mark.parametrize("starts", [(7, 2), (7, 7)])
def test_parts_of_an_input_that_are_joined_and_read(type: str, starts: tuple[int, ...]) -> None:
    """Values that are only moved are copied before a concatenation too: the convolution read wrong memory."""
    builder, rng = nnapi.Builder(), np.random.default_rng(0)
    x = builder.input(tensor(type, (1, 3, 127, 14)))
    parts = [builder.slice(x, [0, 0, 0, start], [1, 3, 127, 7]) for start in starts]
    weights = rng.uniform(-1, 1, (7, 3, 2, 7)).astype(type)
    builder.output(builder.conv_2d(parts[0], weights, np.zeros(7, type), 1, 2, 4, 0, False, 1, 1))
    builder.output(builder.concatenation(parts, 1))
    model, image = builder.finish(), rng.uniform(-1, 1, (1, 3, 127, 14)).astype(type)
    for ours, right in zip(*(compile(model, [which]).run(image) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_allclose(ours.astype(float), right.astype(float), atol=1e-2)


def list_operations(model: Model) -> list[str]:
    """The engine's operations that a model becomes, in the order in which they are computed."""
    nodes = [node.get_type_name() for node in lower_model(model).graph().get_ordered_ops()]
    return [name for name in nodes if name not in ("Parameter", "Constant", "Result")]


def test_what_is_joined_is_copied_by_a_kernel() -> None:
    """Not by Roll, for which the engine has no kernel."""
    builder = nnapi.Builder()
    x = builder.relu(builder.input(tensor("float32", (1, 8, 2))))
    builder.output(builder.concatenation([x, x], 1))
    assert list_operations(builder.finish()) == ["Relu", "Maximum", "Maximum", "Concat"]


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [3, 1, -1])
def test_the_place_of_an_extreme_among_channels_is_looked_for_without_turning_the_image(name: str, axis: int) -> None:
    codes = np.random.default_rng(0).integers(-128, 128, (2, 6, 5, 7)).astype(np.int8)
    builder = nnapi.Builder()
    image = builder.max_pool_2d(builder.input(tensor("int8", codes.shape, 0.5, 3)), 1, 1, 1, 2, 2, 0, False)
    builder.output(getattr(builder, name)(image, axis))
    model = builder.finish()
    assert list_operations(model).count("Transpose") == (2 if axis == 1 else 1)
    (ours,), (right,) = (compile(model, [which]).run(codes) for which in (ENGINE, REFERENCE))
    np.testing.assert_array_equal(ours, right)


@each_row("axes", [[1, 2], [2, 1], [3], [1], [0, 1, 2, 3]])
@each_row("keep_dims", [0, 1])
@each_row("is_pooled", [False, True])
def test_axes_are_dropped_as_they_are_reduced(axes: list[int], keep_dims: int, is_pooled: bool) -> None:
    image = np.random.default_rng(0).uniform(-1, 1, (2, 6, 5, 7)).astype(np.float32)
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", image.shape))
    x = builder.max_pool_2d(x, 1, 1, 1, 2, 2, 0, False) if is_pooled else x
    builder.output(builder.mean(x, np.array(axes, np.int32), keep_dims))
    model = builder.finish()
    if not keep_dims and not (is_pooled and axes == [1]) and len(axes) < 4:
        assert "Reshape" not in list_operations(model)
    (ours,), (right,) = (compile(model, [which]).run(image) for which in (ENGINE, REFERENCE))
    np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-6)


def need_equal(builder: nnapi.Builder, *inputs: np.ndarray) -> None:
    model = builder.finish()
    for ours, right in zip(*(compile(model, [which]).run(*inputs) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_array_equal(ours, right)


def test_a_reshape_behind_dropped_axes_counts() -> None:
    """The engine gave the dimensions [2, 1]."""
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (1, 1, 2, 1)))
    total = builder.reduce_sum(x, np.array([0, 1], np.int32), False)
    builder.output(builder.reshape(total, np.array([1, 2], np.int32)))
    need_equal(builder, np.array([2, 3], np.float32).reshape(1, 1, 2, 1))


@pytest.mark.parametrize("axes", [[1], [1, 3]])
def test_dimensions_of_1_keep_their_order_when_axes_are_dropped(axes: list[int]) -> None:
    """The root behind the pooling is computed in NHWC; the engine gave the dimensions [1, 1, 3] and [1, 3]."""
    builder = nnapi.Builder()
    x = builder.l2_pool_2d(builder.input(tensor("float16", (1, 2, 3, 1))), 0, 0, 0, 0, 1, 1, 1, 1, 0, False)
    total = builder.reduce_sum(x, np.array(axes, np.int32), False)
    last = total if len(axes) == 1 else builder.transpose(total, np.array([1, 0], np.int32))
    builder.output(builder.minimum(last, np.array([5], np.float16)))
    need_equal(builder, np.arange(6, dtype=np.float16).reshape(1, 2, 3, 1))


def test_a_relu_stays_behind_the_zero_point() -> None:
    """Between a minimum and a pooling the engine made 0 of the quantized values, the float value 192."""
    builder = nnapi.Builder()
    least = builder.reduce_min(builder.input(tensor("int8", (1, 3, 1, 1), 1.5, -128)), np.array([3], np.int32), True)
    builder.output(builder.max_pool_2d(builder.relu(least), 0, 0, 0, 0, 2, 1, 1, 3, 0))
    need_equal(builder, np.array([-128, -128, -128], np.int8).reshape(1, 3, 1, 1))


def test_limits_of_floats_that_were_quantized_by_channel() -> None:
    """The engine limited the quantized values: −1 became −3 · 0.324."""
    type = OperandType(
        OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (1, 1, 1, 4), channel=ChannelQuantization(0, (0.324,))
    )
    builder = nnapi.Builder()
    limited = builder.relu1(builder.dequantize(builder.input(type), out=tensor("float32", (1, 1, 1, 4))))
    builder.output(limited)
    builder.output(builder.quantize(limited, out=tensor("uint8", (1, 1, 1, 4), 1 / 128, 128)))
    need_equal(builder, np.array([-128, 127, 0, 3], np.int8).reshape(1, 1, 1, 4))


def test_sums_far_beyond_the_scale_of_their_result() -> None:
    """The engine adds the limits of the result to sums with zero points, where float32 has coarser steps."""
    random = np.random.default_rng(21)
    codes, factors = random.integers(0, 256, (1, 3, 12, 9)), random.integers(12, 249, (1, 81))
    builder = nnapi.Builder()
    x = builder.space_to_depth(builder.input(tensor("uint8", codes.shape, 1.0, 128)), 3, False)
    builder.output(x)
    weights = builder.constant(factors.astype(np.uint8), tensor("uint8", factors.shape, 2.0, 128))
    bias = builder.constant(np.array([-45], np.int32), tensor("int32", (1,), 2.0))
    builder.output(builder.fully_connected(x, weights, bias, 2, out=tensor("uint8", (4, 1), 1 / 256, 128)))
    need_equal(builder, codes.astype(np.uint8))


@pytest.mark.parametrize("factor", [0.0, -0.0])
def test_limits_of_a_product_with_zero_are_refused(factor: float) -> None:
    """Beside quantized operands the engine divided the limits by the factor, and could not compile the model."""
    builder = nnapi.Builder()
    x, codes = builder.input(tensor("float32", (2,))), builder.input(tensor("int8", (2,), 0.5, 3))
    builder.output(builder.mul(x, np.full(2, factor, np.float32), FuseCode.FUSED_RELU6))
    builder.output(builder.relu(codes))
    model = builder.finish()
    verdicts = {call.name: verdict for call, verdict in zip(model.operations, lower_model(model).verdicts, strict=True)}
    assert verdicts["RELU"].supported
    assert "divides an activation's limits by a factor 0" in verdicts["MUL"].reason


@pytest.mark.parametrize(("code", "is_rounded"), [(255, False), (127, True)])
def test_codes_of_inputs_are_rounded_for_those_alone_who_compute_with_codes(code: int, is_rounded: bool) -> None:
    """255 less the zero point is no signed byte, so that the engine computes with numbers."""
    codes = np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3)).astype(np.uint8)
    builder = nnapi.Builder()
    x = builder.input(tensor("uint8", codes.shape, 0.05, 3))
    filter = builder.constant(np.full((4, 3, 3, 3), code, np.uint8), tensor("uint8", (4, 3, 3, 3), 0.003, 0))
    bias = builder.constant(np.ones(4, np.int32), tensor("int32", (4,), np.float32(0.05) * np.float32(0.003)))  # type: ignore[arg-type]
    builder.output(builder.conv_2d(x, filter, bias, "same", 2, 2, activation="none", scale=0.4, zero_point=5))
    model = builder.finish()
    operations = list_operations(model)
    assert ("FakeQuantize" in operations[: operations.index("Convolution")]) == is_rounded
    (ours,), (right,) = (compile(model, [which]).run(codes) for which in (ENGINE, REFERENCE))
    assert np.abs(ours.astype(int) - right).max() <= 1


@pytest.mark.parametrize("move", ["mirror_pad", "resize_nearest_neighbor"])
@pytest.mark.parametrize("type", ["int8", "uint8"])
def test_dequantized_values_that_only_move_are_not_rounded_again(move: str, type: str) -> None:
    """Quantized values of the same type stay as they are stored; another type clamps them."""
    builder = nnapi.Builder()
    real = builder.dequantize(builder.input(tensor("int8", (1, 1, 2, 1), 0.5, 3)), out=tensor("float32", (1, 1, 2, 1)))
    if move == "mirror_pad":
        moved = builder.mirror_pad(real, np.array([[0, 0], [0, 0], [1, 1], [0, 0]], np.int32), 0)
    else:
        moved = builder.resize_nearest_neighbor(real, 4, 1)
    builder.output(builder.quantize(moved, out=tensor(type, (1, 1, 4, 1), 0.5, 3)))
    model = builder.finish()
    (result,) = compile(model, [ENGINE]).run(np.array([-7, 9], np.int8).reshape(1, 1, 2, 1))
    first = -7 if type == "int8" else 0
    assert result.ravel().tolist() == ([9, first, 9, first] if move == "mirror_pad" else [first, first, 9, 9])
    assert (type == "int8") == _is_without(model, "FakeQuantize")


def test_arithmetic_on_dequantized_values_is_the_engines() -> None:
    """A mean and a difference between quantized values convert none of them to an integer."""
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (1, 1, 3, 1)))
    real = builder.dequantize(builder.quantize(x, out=tensor("int8", x.shape, 0.5, 2)), out=tensor("float32", x.shape))
    difference = builder.sub(real, builder.mean(real, [2], True))
    builder.output(builder.add(difference, real))
    model = builder.finish()
    (result,) = compile(model, [ENGINE]).run(np.array([0.1, 0.9, 2.2], np.float32).reshape(1, 1, 3, 1))
    np.testing.assert_allclose(result.ravel(), [-1, 1, 3], atol=1e-5)  # 0, 1 and 2, less their mean of 1, twice
    assert _is_without(model, "Convert")


def test_the_zero_point_is_dequantized_to_0() -> None:
    """The engine's own rounding to quantized values gives 2.9e-7 here, whose reciprocal is finite."""
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (5,)))
    real = builder.dequantize(builder.quantize(x, out=tensor("int8", (5,), 0.013, 59)), out=tensor("float32", (5,)))
    builder.output(real)
    builder.output(builder.div(np.ones(1, np.float32), real))
    model = builder.finish()
    found, reciprocals = compile(model, [ENGINE]).run(np.array([0, 0.001, -0.012, 0.1, -9], np.float32))
    np.testing.assert_allclose(found, [0, 0, -0.013, 0.104, -2.431], rtol=1e-6)
    assert np.isinf(reciprocals).tolist() == [True, True, False, False, False]
    assert _is_without(model, "Convert")


def _is_without(model: Model, kind: str) -> bool:
    """Whether the engine's graph has no node of a type."""
    return kind not in {node.get_type_name() for node in lower_model(model).graph().get_ops()}
