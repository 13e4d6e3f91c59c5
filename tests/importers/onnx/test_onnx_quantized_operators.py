"""Operators whose inputs come with scales and zero points: the float operator between quantized values."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import computed, loaded, reference, single  # noqa: E402

RANDOM = np.random.default_rng(12)
IMAGE = RANDOM.integers(0, 256, (1, 3, 4, 5), np.uint8)
ROWS, OTHER = IMAGE.reshape(12, 5), RANDOM.integers(0, 256, (12, 5), np.uint8)
MATRIX = RANDOM.integers(0, 256, (5, 6), np.uint8)
FILTER = RANDOM.integers(-128, 128, (4, 3, 2, 2)).astype(np.int8)
BIAS, ROW_BIAS = np.array([900, -2000, 0, 77], np.int32), np.array([900, -2000, 0, 77, 5000, -31], np.int32)
SCALES = np.array([0.02, 0.01, 0.03, 0.05, 0.04, 0.015], np.float32)


def f(number: float) -> Any:
    return np.float32(number)


def u(number: int) -> Any:
    return np.uint8(number)


def read(values: Any, scale: Any, zero: Any) -> Any:
    return (values.astype(np.float64) - np.int64(zero)) * scale


def rounded(x: Any, scale: float, zero: int) -> Any:
    return np.clip(np.rint(x / scale) + zero, 0, 255)


GIVEN = (f(0.05), u(100))
REAL, PAIR = read(ROWS, 0.05, 100), read(OTHER, 0.02, 7)
FORMULAS: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], Any]] = [
    ("QLinearAdd", ROWS, (*GIVEN, OTHER, f(0.02), u(7), f(0.06), u(90)), {}, rounded(REAL + PAIR, 0.06, 90)),
    ("QLinearMul", ROWS, (*GIVEN, OTHER, f(0.02), u(7), f(0.2), u(90)), {}, rounded(REAL * PAIR, 0.2, 90)),
    ("QLinearSigmoid", ROWS, (*GIVEN, f(1 / 256), u(0)), {}, rounded(1 / (1 + np.exp(-REAL)), 1 / 256, 0)),
    (
        "QLinearLeakyRelu",
        ROWS,
        (*GIVEN, f(0.04), u(20)),
        {"alpha": 0.25},
        rounded(np.where(REAL < 0, REAL / 4, REAL), 0.04, 20),
    ),
    (
        "QLinearSoftmax",
        ROWS,
        (*GIVEN, f(1 / 256), u(0)),
        {"axis": 1, "opset": 13},
        rounded(np.exp(REAL) / np.exp(REAL).sum(1, keepdims=True), 1 / 256, 0),
    ),
    (
        "QLinearGlobalAveragePool",
        IMAGE,
        (*GIVEN, f(0.03), u(30)),
        {},
        rounded(read(IMAGE, 0.05, 100).mean((2, 3), keepdims=True), 0.03, 30),
    ),
    (
        "QLinearAveragePool",
        IMAGE,
        (*GIVEN, f(0.03), u(120)),
        {"kernel_shape": [4, 1]},
        rounded(read(IMAGE, 0.05, 100).mean(2, keepdims=True), 0.03, 120),
    ),
    (
        "QGemm",
        ROWS,
        (*GIVEN, MATRIX, f(0.02), u(130), ROW_BIAS, f(0.25), u(120)),
        {},
        rounded(REAL @ read(MATRIX, 0.02, 130) + ROW_BIAS * 0.05 * 0.02, 0.25, 120),
    ),
    (
        "QGemm",
        ROWS,
        (*GIVEN, MATRIX.T.copy(), f(0.02), u(130), None, f(0.25), u(120)),
        {"transB": 1},
        rounded(REAL @ read(MATRIX, 0.02, 130), 0.25, 120),
    ),
    (
        "QGemm",
        ROWS,
        (*GIVEN, MATRIX, f(0.02), u(130), ROW_BIAS, f(0.25), u(120)),
        {"alpha": 0.5},
        rounded(0.5 * (REAL @ read(MATRIX, 0.02, 130) + ROW_BIAS * 0.05 * 0.02), 0.25, 120),
    ),
    (
        "QGemm",
        ROWS,
        (*GIVEN, (MATRIX.T.astype(np.int32) - 128).astype(np.int8), SCALES, np.zeros(6, np.int8)),
        {"transB": 1},
        REAL @ ((MATRIX.astype(np.float64) - 128) * SCALES),
    ),
    (
        "QGemm",
        ROWS,
        (*GIVEN, MATRIX, f(0.02), u(130), None, f(0.25)),
        {},
        rounded(REAL @ read(MATRIX, 0.02, 130), 0.25, 0),
    ),
    (
        "QGemm",
        ROWS,
        (*GIVEN, (MATRIX.astype(np.int32) - 128).astype(np.int8), SCALES, np.zeros(6, np.int8), ROW_BIAS),
        {},
        REAL @ ((MATRIX.astype(np.float64) - 128) * SCALES) + ROW_BIAS * 0.05 * SCALES,
    ),
]


@pytest.mark.parametrize(("kind", "x", "constants", "options", "expected"), FORMULAS)
def test_operators_of_onnx_runtime(kind: str, x: Any, constants: Any, options: Any, expected: Any) -> None:
    content = single(kind, x, *constants, domain="com.microsoft", **options)
    found = computed(nnapi.load(content), x)
    assert found.shape == expected.shape
    if found.dtype == np.float32:
        np.testing.assert_allclose(found, expected, 1e-4, 1e-4)
        return
    assert found.dtype == np.uint8
    assert abs(found - expected).max() <= 1


@pytest.mark.parametrize(
    ("kind", "x", "constants", "options"),
    [
        ("QLinearMatMul", ROWS, (*GIVEN, MATRIX, f(0.02), u(130), f(0.25), u(120)), {}),
        ("QLinearConv", IMAGE, (*GIVEN, FILTER, f(0.02), np.int8(0), f(0.25), u(120)), {}),
        ("QLinearConv", IMAGE, (*GIVEN, FILTER, SCALES[:4], np.zeros(4, np.int8), f(0.25), u(120)), {}),
        ("QLinearConv", IMAGE, (*GIVEN, FILTER, f(0.02), np.int8(0), f(0.25), u(120), BIAS), {"pads": [1, 0, 0, 1]}),
    ],
)
def test_operators_of_onnx(kind: str, x: Any, constants: Any, options: Any) -> None:
    content = single(kind, x, *constants, **options)
    found, expected = computed(nnapi.load(content), x), reference(content, x)
    assert (found.dtype, found.shape) == (np.uint8, expected.shape)
    assert abs(found.astype(np.int32) - expected).max() <= 1


@pytest.mark.parametrize(
    ("kind", "x", "constants", "options"),
    [
        ("ConvInteger", IMAGE, (FILTER.view(np.uint8),), {}),
        ("ConvInteger", IMAGE, (FILTER.view(np.uint8), u(9)), {"strides": [1, 2]}),
        ("ConvInteger", IMAGE, (FILTER.view(np.uint8), u(9), u(140)), {"pads": [0, 1, 1, 0]}),
        ("MatMulInteger", ROWS, (MATRIX,), {}),
        ("MatMulInteger", ROWS, (MATRIX, u(9), u(140)), {}),
        ("MatMulInteger", ROWS, (MATRIX, None, np.arange(6, dtype=np.uint8)), {}),
    ],
)
def test_integers_are_multiplied_less_their_zero_points(kind: str, x: Any, constants: Any, options: Any) -> None:
    content = single(kind, x, *constants, **options)
    model = nnapi.load(content)
    assert ("sums of int32 are computed as float32, exact up to 2**24" in model.notes) == (kind == "ConvInteger")
    found = computed(model, x)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, reference(content, x))


def test_a_filter_has_a_zero_point_for_each_result() -> None:
    points = np.array([0, 50, 130, 255], np.uint8)
    filter = FILTER.view(np.uint8)
    found = computed(nnapi.load(single("ConvInteger", IMAGE, filter, u(9), points)), IMAGE)
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE.astype(np.int32) - 9, (2, 2), (2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, filter.astype(np.int32) - points.reshape(4, 1, 1, 1))
    assert found.tolist() == expected.tolist()


def test_joined_values_have_scales_of_their_own() -> None:
    names = ["ys", "yz", "x", "s", "z", "o", "t", "w"]
    constants: dict[str, Any] = {"ys": f(0.05), "yz": u(60), "s": f(0.05), "z": u(100), "o": OTHER, "t": f(0.02)}
    constants |= {"w": u(7)}
    node = helper.make_node("QLinearConcat", names, ["y"], axis=1, domain="com.microsoft")
    expected = np.concatenate([rounded(REAL, 0.05, 60), rounded(PAIR, 0.05, 60)], 1)
    found = computed(loaded([node], constants, x=ROWS), ROWS)
    assert abs(found - expected).max() <= 1
    node.input.pop()
    del constants["w"]
    with pytest.raises(BadDataError, match="it has 7 inputs"):
        loaded([node], constants, x=ROWS)


def test_results_of_several_scales_and_images_with_channels_last_are_refused() -> None:
    several = single("QLinearMatMul", ROWS, *GIVEN, MATRIX, f(0.02), u(130), SCALES, np.zeros(6, np.uint8))
    with pytest.raises(BadDataError, match="its result has a scale for each channel"):
        nnapi.load(several)
    last: dict[str, Any] = {"domain": "com.microsoft", "channels_last": 1}
    with pytest.raises(BadDataError, match="its image is NHWC"):
        nnapi.load(single("QLinearGlobalAveragePool", IMAGE, *GIVEN, f(0.03), u(30), **last))


@pytest.mark.parametrize("is_quantized", [False, True])
def test_products_with_computed_scales(is_quantized: bool) -> None:
    constants = {"az": u(120), "b": MATRIX, "bs": f(0.02), "bz": u(130), "c": ROW_BIAS, "ten": f(10), "yz": u(128)}
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Mul", ["most", "bs"], ["as"]),
        helper.make_node("Mul", ["as", "ten"], ["ys"]),
        helper.make_node("QuantizeLinear", ["x", "as", "az"], ["a"]),
        helper.make_node(
            "QGemm",
            ["a", "as", "az", "b", "bs", "bz", "c", *(["ys", "yz"] if is_quantized else [])],
            ["y"],
            domain="com.microsoft",
            alpha=0.5,
        ),
    ]
    x = np.abs(RANDOM.normal(size=(4, 5))).astype(np.float32)
    scale = x.max() * f(0.02)
    a = rounded(x, float(scale), 120)
    real = 0.5 * (read(a, scale, 120) @ read(MATRIX, 0.02, 130) + ROW_BIAS * scale * 0.02)
    found = computed(loaded(nodes, constants, x=x), x)
    if is_quantized:
        assert abs(found.astype(int) - rounded(real, float(scale) * 10, 128)).max() <= 1
    else:
        np.testing.assert_allclose(found, real, 1e-3, 1e-3)


def test_quantized_values_are_selected() -> None:
    chosen = RANDOM.random(ROWS.shape) > 0.5
    names = ["c", "x", "xs", "xz", "v", "vs", "vz", "ys", "yz"]
    given = (chosen, f(0.05), u(120), OTHER, f(0.03), u(90), f(0.06), u(110))
    constants = dict(zip([each for each in names if each != "x"], given, strict=True))
    node = helper.make_node("QLinearWhere", names, ["y"], domain="com.microsoft")
    found = computed(loaded([node], constants, x=ROWS), ROWS)
    expected = rounded(np.where(chosen, read(ROWS, 0.05, 120), read(OTHER, 0.03, 90)), 0.06, 110)
    assert abs(found.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("type", [np.float32, np.float16])
@pytest.mark.parametrize("output", ["q", "scale", "point"])
def test_ranges_are_found_at_each_run(type: Any, output: str) -> None:
    x = np.array([[-1, 0.5, 3], [2, 0, -0.25]], type)
    names = [name if name == output else f"{name} unread" for name in ("q", "scale", "point")]
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], names),
        helper.make_node("Cast", [output], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    scale = np.float32(4 / 255)
    point = np.round(1 / scale)
    expected = {"q": np.clip(np.rint(x.astype(np.float32) / scale) + point, 0, 255), "scale": scale, "point": point}
    found = computed(loaded(nodes, x=x), x)
    np.testing.assert_allclose(found.reshape(np.shape(expected[output])), expected[output], 1e-6)
