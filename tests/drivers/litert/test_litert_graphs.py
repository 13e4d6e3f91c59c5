"""The graphs that rules for LiteRT make at their limits: kinds, shapes and constants of operators, and refusals."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

import nnapi
from nnapi.codes import OperationCode as Op
from nnapi.contract.winograd import FloatWidth
from nnapi.drivers.litert.context import MOST_PADDING, tensor_of
from nnapi.drivers.litert.lowering import lower_model
from nnapi.drivers.litert.rules.binary import LONG, LONGEST
from nnapi.drivers.litert.rules.resize import _sources, _steps_agree
from nnapi.drivers.xnnpack.lowering import lower_model as lower_xnnpack
from nnapi.lowering.refusal import Unsupported
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from tests.drivers.litert.graph_cases import find_reason, floats, ints, kinds, lower, real, signed, zeros
from tests.drivers.xnnpack.engine_cases import Net
from tests.single import single

RELU, RELU6 = 1, 3

INTEGERS, IN_FLOAT = 1, 4
"""Operators of a sum: itself, or with two conversions before it and one behind."""


@pytest.mark.parametrize(
    ("code", "scales", "count"),
    [
        (Op.ADD, (2.0**-9, 1, 1), INTEGERS),
        (Op.ADD, (2.0**-10, 1, 1), IN_FLOAT),
        (Op.ADD, (1, 2.0**-9, 1), INTEGERS),
        (Op.ADD, (1, 2.0**-10, 1), IN_FLOAT),
        (Op.SUB, (2.0**7, 1, 1), INTEGERS),
        (Op.SUB, (2.0**8, 1, 1), IN_FLOAT),
        (Op.SUB, (1, 2.0**8, 1), IN_FLOAT),
        (Op.ADD, (2.0**8, 2.0**8, 2.0), INTEGERS),
        (Op.MUL, (2.0**-7, 2.0**-8, 1), INTEGERS),
        (Op.MUL, (2.0**-8, 2.0**-8, 1), IN_FLOAT),
        (Op.MUL, (2.0**4, 2.0**4, 2.0**9), INTEGERS),
    ],
)
def test_sums_and_products_of_quantized_values_have_limits(code: Op, scales: tuple[float, ...], count: int) -> None:
    x, y, out = (signed(2, 3, scale=float(scale)) for scale in scales)
    found = kinds(code, [zeros(x), zeros(y), *ints(0)], out, constant=False)
    assert len(found) == count
    assert (code.name in found) == (count == INTEGERS) or found[-1] == "QUANTIZE"


def channels(depth: int, value: float = 2.0, shape: tuple[int, ...] | None = None) -> Any:
    return real(*(shape or (depth,))), np.full(shape or (depth,), value, np.float32)


@pytest.mark.parametrize(
    ("x", "y", "repeated"),
    [
        ((1, 4, 6, 3), channels(3), (6, 3)),
        ((2, 4, 5, 3), channels(3, shape=(1, 1, 1, 3)), (5, 3)),
        ((1, 4, 6, 1), channels(1), (1,)),
        ((1, 4, 1, 3), channels(3), (3,)),
        ((4, 6, 3), channels(3), (3,)),
        ((1, 4, 6, 1), channels(3), (3,)),
        ((1, 4, 6, 3), channels(3, shape=(6, 3)), (6, 3)),
        ((1, 1, 2, LONG - 1), channels(LONG - 1), (2, LONG - 1)),
        ((1, 1, 2, LONG), channels(LONG), (LONG,)),
        ((1, 1, LONGEST, 2), channels(2), (LONGEST, 2)),
        ((1, 1, LONGEST + 1, 2), channels(2), (2,)),
    ],
)
def test_few_channels_are_repeated_for_a_row(x: tuple[int, ...], y: Any, repeated: tuple[int, ...]) -> None:
    out = real(*np.broadcast_shapes(x, y[1].shape))
    (operator,) = lower(Op.MUL, [zeros(real(*x)), y, *ints(0)], out).operators
    assert operator.input(1).shape == repeated
    assert (operator.input(1).value == 2).all()


@pytest.mark.parametrize(("value", "shape"), [(0.0, (2, 3)), (1.0, (1,))])
def test_one_zero_is_repeated_to_the_result(value: float, shape: tuple[int, ...]) -> None:
    (operator,) = lower(Op.MUL, [zeros(real(2, 3)), channels(1, value), *ints(0)], real(2, 3)).operators
    assert operator.input(1).shape == shape


def number(*shape: int) -> Any:
    return signed(*shape), np.ones(shape, np.int8)


@pytest.mark.parametrize(
    ("shape", "activation", "found"),
    [
        ((1, 1, 1), RELU, ["RESHAPE", "ADD"]),
        ((1, 1, 1), 0, ["ADD"]),
        ((1, 1), RELU, ["ADD"]),
        ((1,), RELU, ["ADD"]),
    ],
)
def test_axes_are_added_beside_a_number_with_more(shape: tuple[int, ...], activation: int, found: list[str]) -> None:
    out = signed(*([1] * (len(shape) - 2)), 4, 5)
    graph = lower(Op.ADD, [zeros(signed(4, 5)), number(*shape), *ints(activation)], out)
    assert [operator.kind for operator in graph.operators] == found
    assert graph.operators[-1].input(0).shape == ((1, 4, 5) if len(found) == 2 else (4, 5))


@pytest.mark.parametrize(
    ("divisor", "reason"),
    [
        ((tensor("int32", (2,)), [1, -1]), ""),
        ((tensor("int32", (2,)), [1, 0]), "rhs is computed or holds a 0, by which the engine does not divide"),
        ((real(2), [2.0**-126, 0]), ""),
        ((real(2), [2.0**-127, 1]), "rhs holds a value that the engine takes for 0"),
        ((real(2), [1, -(2.0**-127)]), "rhs holds a value that the engine takes for 0"),
    ],
)
def test_divisors(divisor: Any, reason: str) -> None:
    x = divisor[0].with_dimensions((3, 2))
    assert reason in find_reason(Op.DIV, [zeros(x), divisor, *ints(0)], x)
    assert bool(reason) == bool(find_reason(Op.DIV, [zeros(x), divisor, *ints(0)], x))


def test_a_computed_divisor_of_integers_is_refused() -> None:
    x = tensor("int32", (2,))
    assert "rhs is computed" in find_reason(Op.DIV, [zeros(x), zeros(x), *ints(0)], x, constant=False)
    assert not find_reason(Op.DIV, [zeros(real(2)), zeros(real(2)), *ints(0)], real(2), constant=False)


@pytest.mark.parametrize(
    ("exponent", "found"),
    [
        (2.0, ["MUL"]),
        (3.0, ["MUL", "MUL"]),
        (4.0, ["MUL", "MUL"]),
        (5.0, ["POW"]),
        (1.0, ["POW"]),
        (0.5, ["POW"]),
        (0.0, ["POW"]),
        (-2.0, ["POW"]),
        (2.5, ["POW"]),
    ],
)
def test_whole_exponents_are_products(exponent: float, found: list[str]) -> None:
    graph = lower(Op.POW, [zeros(real(2, 3)), channels(1, exponent)], real(2, 3))
    assert [operator.kind for operator in graph.operators] == found
    if found == [
        "POW"
    ]:  # of a whole exponent, which the engine would take for a count of products, along the longest axis
        is_whole = exponent >= 1 and exponent == int(exponent)
        assert graph.operators[0].input(1).shape == ((1, 3) if is_whole else (1,))


@pytest.mark.parametrize(("radius", "reach"), [(0, 0), (1, 1), (3, 3), (4, 3), (100, 3)])
def test_normalization_reaches_no_farther_than_the_row(radius: int, reach: int) -> None:
    inputs = [zeros(real(2, 4)), *ints(radius), *floats(1.0, 0.5, 0.75)]
    graph = lower(Op.LOCAL_RESPONSE_NORMALIZATION, inputs, real(2, 4))
    widths = [operator.output.shape[-1] for operator in graph.operators if operator.kind in ("PAD", "PADV2")]
    assert widths == ([4 + 2 * reach] if reach else widths)


def pool(size: int, cells: int, padding: int) -> list[Any]:
    image = zeros(real(1, 1, cells, 1))
    return [image, *ints(padding, padding, 0, 0, 1, 1, size, 1, 0)]


@pytest.mark.parametrize(
    ("cells", "padding", "refused"), [(5, 256, False), (5, 257, True), (300, 300, False), (300, 301, True)]
)
def test_padding_of_pools(cells: int, padding: int, refused: bool) -> None:
    size = padding + 1
    out = real(1, 1, cells + 2 * padding - size + 1, 1)
    reason = find_reason(Op.MAX_POOL_2D, pool(size, cells, padding), out)
    most = max(cells, MOST_PADDING)
    expected = f"{padding} cells of padding beside {cells}, the engine takes at most {most}"
    assert (expected in reason) == refused == bool(reason)


@pytest.mark.parametrize(
    ("dimension", "out", "agree"),
    [(4, 11, True), (12, 74, False), (5, 7, True), (7, 7, True), (3, 1, True), (1, 9, True)],
)
def test_steps_of_resized_images(dimension: int, out: int, agree: bool) -> None:
    assert _steps_agree(dimension, out) == agree


def test_sources_of_resized_images() -> None:
    assert _sources(4, 6).tolist() == [0, 0, 1, 2, 2, 3]
    assert _sources(3, 2).tolist() == [0, 1]
    assert _sources(2, 5).tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("paddings", "found"),
    [([[0, 0], [0, 0]], ["RESHAPE"]), ([[0, 1], [0, 0]], ["GATHER"]), ([[1, 0], [2, 1]], ["GATHER", "GATHER"])],
)
def test_mirrored_axes_are_gathered(paddings: list[list[int]], found: list[str]) -> None:
    around = tensor("int32", (2, 2)), np.array(paddings, np.int32)
    shape = [size + sum(pair) for size, pair in zip((3, 4), paddings, strict=True)]
    graph = lower(Op.MIRROR_PAD, [zeros(real(3, 4)), around, *ints(0)], real(*shape))
    assert [operator.kind for operator in graph.operators] == found
    if len(found) == 2:
        positions = [(each.options["axis"], each.input(1).value.tolist()) for each in graph.operators]
        assert positions == [(0, [1, 0, 1, 2]), (1, [2, 1, 0, 1, 2, 3, 2])]


@pytest.mark.parametrize(
    ("scale", "zero_point", "found"), [(1.0, 0, ["DEQUANTIZE"]), (0.5, 0, ["CAST", "ADD"]), (1.0, 1, ["CAST", "ADD"])]
)
def test_casts_of_unsigned_values_that_mean_themselves(scale: float, zero_point: int, found: list[str]) -> None:
    x = tensor("uint8", (2, 3), scale, zero_point)
    assert kinds(Op.CAST, [zeros(x)], real(2, 3)) == found


@pytest.mark.parametrize("input", [real(2), tensor("int32", (2,)), tensor("uint8", (2,), 0.25, 7)])
def test_casts_to_quantized_values_are_refused(input: OperandType) -> None:
    out = tensor("uint8", (2,), 0.25, 8)
    assert find_reason(Op.CAST, [zeros(input)], out) == "CAST (#0): the engine does not cast to quantized values"


def test_a_cast_to_the_same_type_only_copies() -> None:
    type = tensor("uint8", (2,), 0.25, 7)
    assert kinds(Op.CAST, [zeros(type)], type) == ["RESHAPE"]


@pytest.mark.parametrize(("rank", "refused"), [(6, False), (7, True)])
def test_the_highest_rank(rank: int, refused: bool) -> None:
    type = real(*range(1, rank + 1))
    if refused:
        with pytest.raises(Unsupported, match="x has rank 7, the engine takes at most 6"):
            tensor_of(type, "x")
    else:
        assert tensor_of(type, "x").shape == type.dimensions


def quantized_weights(is_permitted: bool) -> Model:
    net, codes = Net(), np.array([[1, 2, 3], [4, 5, 6]], np.int8)
    x, stored = net.input(real(2, 3)), net.constant(tensor("quant8_symm", (2, 3), 0.5), codes)
    weights = net.call(Op.DEQUANTIZE, [stored], real(2, 3))
    bias = net.constant(real(2), np.zeros(2))
    y = net.call(Op.FULLY_CONNECTED, [x, weights, bias, *net.numbers(0)], real(2, 2))
    net.model.permit_dynamic_range(is_permitted)
    model: Model = net.finished(y)
    return model


@pytest.mark.parametrize(
    ("permitted", "lower_graph", "type"),
    [
        (False, lower_model, "f32"),
        (True, lower_model, "f32"),
        (False, lower_xnnpack, "f32"),
        (True, lower_xnnpack, "i8"),
    ],
)
def test_quantized_weights_are_for_models_and_engines_that_permit_them(
    permitted: bool, lower_graph: Any, type: str
) -> None:
    """Others read them as float constants: the graph has no DEQUANTIZE."""
    graph = lower_graph(quantized_weights(permitted)).graph
    (operator,) = (each for each in graph.operators if each.kind == "FULLY_CONNECTED")
    assert operator.input(1).type == type
    assert type == "i8" or operator.input(1).value.tolist() == [[0.5, 1, 1.5], [2, 2.5, 3]]


@pytest.mark.parametrize(("batch", "units", "supported"), [(0, 2, True), (1, 2, True), (1, 0, False)])
def test_only_dimensions_that_are_unspecified_may_come_too_large(batch: int, units: int, supported: bool) -> None:
    b = nnapi.Builder()
    x = b.input(tensor("uint8", (batch, 3), 0.5, 3))
    weights = b.input(tensor("uint8", (units, 3), 0.5, 128))
    bias = b.input(tensor("int32", (units,), 0.25))
    b.output(b.fully_connected(x, weights, bias, 0, out=tensor("uint8", (), 1.0, 7)))
    (verdict,) = lower_model(b.finish()).verdicts
    assert verdict.supported == supported
    assert supported or "weights is computed, and may come too large for its sums" in verdict.reason


@pytest.mark.parametrize(
    ("type", "left", "right", "supported"),
    [
        ("int32", (0, 0), (0, 0), False),
        ("int32", (9, 0), (9, 0), True),
        ("int32", (1, 0), (0, 9), True),
        ("int32", (0, 9), (0, 9), False),
        ("float32", (0, 0), (0, 0), True),
    ],
)
def test_products_of_integers_have_a_known_number_of_terms(
    type: str, left: tuple[int, int], right: tuple[int, int], supported: bool
) -> None:
    """A run could have more terms than the rule decomposes; their number is the first dimension of both matrices."""
    b = nnapi.Builder()
    x, y = (b.input(tensor(type, (0, *shape))) for shape in (left, right))
    b.output(b.batch_matmul(x, y, True, False, out=tensor(type, (0, 0, 0))))
    (verdict,) = lower_model(b.finish()).verdicts
    assert verdict.supported == supported
    assert supported or "a run may have more products of integers than are decomposed" in verdict.reason


@pytest.mark.parametrize(
    ("code", "x", "arguments", "out"),
    [
        (Op.AVERAGE_POOL_2D, signed(1, 4, 4, 2), ints(2, 1, 1, 2, 2, 0), signed(1, 3, 3, 2)),
        (Op.SOFTMAX, signed(2, 3), floats(1.0), signed(2, 3, scale=1 / 256, zero_point=-128)),
        (Op.HARD_SWISH, signed(2, 3), [], signed(2, 3)),
        (Op.PRELU, signed(2, 3), [(signed(3), np.array([1, 2, 3], np.int8))], signed(2, 3)),
        (Op.L2_NORMALIZATION, signed(2, 3), [], signed(2, 3, scale=1 / 128)),
    ],
)
def test_functions_with_slow_kernels_are_computed_in_float(
    code: Op, x: OperandType, arguments: list[Any], out: OperandType
) -> None:
    graph = lower(code, [zeros(x), *arguments], out)
    assert graph.operators[0].kind == "DEQUANTIZE"
    assert [operator.kind for operator in graph.operators][-1] == "QUANTIZE"
    assert all(tensor.type == "f32" for operator in graph.operators[1:-1] for tensor in operator.outputs)


@pytest.mark.parametrize(("count", "is_direct"), [(2, True), (12, True), (13, False)])
def test_softmax_of_few_values_is_quantized(count: int, is_direct: bool) -> None:
    call = [zeros(signed(40, count)), *floats(1.0)]
    graph = lower_xnnpack(single(Op.SOFTMAX, call, [signed(40, count, scale=1 / 256, zero_point=-128)])).graph
    assert ([operator.kind for operator in graph.operators] == ["SOFTMAX"]) is is_direct


def test_dropped_axes_are_kept_by_the_engine_s_operators() -> None:
    axes = tensor("int32", (1,)), np.array([1], np.int32)
    assert kinds(Op.MEAN, [zeros(real(2, 3, 4)), axes, *ints(0)], real(2, 4)) == ["MEAN", "RESHAPE"]
    assert kinds(Op.MEAN, [zeros(real(2, 3, 4)), axes, *ints(1)], real(2, 1, 4)) == ["MEAN"]
    bounds = [(tensor("int32", (2,)), np.array(each, np.int32)) for each in ([1, 0], [2, 3], [1, 1])]
    sliced = [zeros(real(2, 4)), *bounds, *ints(0, 0)]
    assert kinds(Op.STRIDED_SLICE, [*sliced, *ints(1)], real(3)) == ["STRIDED_SLICE", "RESHAPE"]
    assert kinds(Op.STRIDED_SLICE, [*sliced, *ints(0)], real(1, 3)) == ["STRIDED_SLICE"]


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1, 2, 3, 4)])
def test_xnnpack_computes_some_functions_beyond_the_rank_of_its_kernels(shape: tuple[int, ...]) -> None:
    graph = lower_xnnpack(single(Op.EXP, [zeros(real(*shape))], [real(*shape)])).graph
    assert [operator.kind for operator in graph.operators] == ["RESHAPE", "EXP", "RESHAPE"]
    assert graph.operators[1].output.shape == (1,) * (7 - len(shape)) + shape
    assert graph.operators[2].output.shape == shape


@pytest.mark.parametrize("width", [FloatWidth.AVX512, FloatWidth.NEON, FloatWidth.OTHER])
def test_xnnpack_clamps_what_logistic_takes(width: FloatWidth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.drivers.xnnpack.lowering.find_float_width", lambda: width)
    graph = lower_xnnpack(single(Op.LOGISTIC, [zeros(real(2, 3))], [real(2, 3)])).graph
    assert [operator.kind for operator in graph.operators] == ["MINIMUM", "MAXIMUM", "LOGISTIC"]
    assert [operator.input(1).value.item() for operator in graph.operators[:2]] == [128, -128]


def test_logistic_is_right_for_all_values_with_avx2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.drivers.xnnpack.lowering.find_float_width", lambda: FloatWidth.AVX2)
    graph = lower_xnnpack(single(Op.LOGISTIC, [zeros(real(2, 3))], [real(2, 3)])).graph
    assert [operator.kind for operator in graph.operators] == ["LOGISTIC"]


def test_quantized_values_have_one_operator() -> None:
    out = signed(2, 3, scale=1 / 256, zero_point=-128)
    graph = lower_xnnpack(single(Op.LOGISTIC, [zeros(signed(2, 3))], [out])).graph
    assert [operator.kind for operator in graph.operators] == ["LOGISTIC"]


def test_only_computed_values_are_dequantized_by_the_engine() -> None:
    """Of a constant it would return uninitialized memory."""
    assert kinds(Op.DEQUANTIZE, [zeros(signed(2, 3))], real(2, 3)) == ["DEQUANTIZE"]
    net = Net()
    x, stored = net.input(real(2)), net.constant(signed(2, scale=0.5, zero_point=1), np.array([3, -5]))
    dequantized = net.call(Op.DEQUANTIZE, [stored], real(2))
    graph = lower_model(net.finished(net.call(Op.ABS, [x], real(2)), dequantized)).graph
    assert sorted(operator.kind for operator in graph.operators) == ["ABS", "RESHAPE"]
    (copied,) = (operator for operator in graph.operators if operator.kind == "RESHAPE")
    assert copied.input(0).value.tolist() == [1, -3]


def test_a_scale_for_each_channel_is_a_factor() -> None:
    channel = ChannelQuantization(1, (0.5, 2.0))
    graph = lower(Op.DEQUANTIZE, [zeros(tensor("quant8_symm_per_channel", (3, 2), channel=channel))], real(3, 2))
    assert [operator.kind for operator in graph.operators] == ["CAST", "MUL"]
    assert graph.operators[1].input(1).value.tolist() == [[0.5, 2]]
