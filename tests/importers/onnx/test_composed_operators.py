"""Operators of com.microsoft and ai.onnx.ml beside numbers that are written down: defaults, types, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.codes import OperandCode  # noqa: E402
from nnapi.codes import OperationCode as O  # noqa: E402
from tests.importers.onnx.literal_cases import check_made_up, file_of, node, reasons, results  # noqa: E402

MICROSOFT, CLASSICAL = "com.microsoft", "ai.onnx.ml"
X = np.array([[1, -2, 3], [-4, 5, 6]], np.float32)


def close(found: list[Any], expected: list[Any], within: float = 1e-6) -> None:
    assert len(found) == len(expected)
    for ours, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, wanted, within, within)


# Products

LEFT = np.arange(12, dtype=np.float32).reshape(2, 1, 2, 3)
RIGHT = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4)


@pytest.mark.parametrize(
    ("x", "w", "options", "expected"),
    [
        (LEFT, RIGHT, {}, LEFT @ RIGHT),
        (LEFT.swapaxes(2, 3), RIGHT, {"transA": 1}, LEFT @ RIGHT),
        (LEFT, RIGHT.swapaxes(2, 3), {"transB": 1, "alpha": -0.5}, LEFT @ RIGHT * -0.5),
        (LEFT[0, 0, 0], RIGHT[0, 0], {"transA": 1, "alpha": 2.0}, LEFT[0, 0, 0] @ RIGHT[0, 0] * 2),
        (LEFT.transpose(2, 0, 1, 3), RIGHT, {"transBatchA": 1}, LEFT @ RIGHT),
        (LEFT, RIGHT.transpose(3, 0, 1, 2), {"transBatchB": 1, "transB": 1}, LEFT @ RIGHT),
        (LEFT[0, 0], RIGHT[0, 0], {"transBatchA": 1, "transBatchB": 1}, LEFT[0, 0] @ RIGHT[0, 0]),
    ],
)
@pytest.mark.parametrize("kind", ["FusedMatMul", "TransposeMatMul"])
def test_a_product_of_transposed_and_scaled_factors(kind: str, x: Any, w: Any, options: Any, expected: Any) -> None:
    x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
    product = node(kind, "x w", domain=MICROSOFT, **options)
    assert results([product], {"x": x, "w": w}) == [expected.tolist()]
    codes = [call.code for call in nnapi.load(file_of([product], {"x": x, "w": w})).operations]
    assert (O.MUL in codes) is ("alpha" in options)


def test_an_integer_product_into_floats() -> None:
    x, w = np.array([[1, 2], [3, 250]], np.uint8), np.array([[1, -2, 3], [4, 5, -6]], np.int8)
    constants = {
        "w": w, "xs": np.float32(0.5), "ws": np.array([1, 2, 4], np.float32),
        "xz": np.uint8(2), "wz": np.array([1, 0, -1], np.int8), "b": np.array([100, 200, 300], np.float32),
    }  # fmt: skip
    whole = node("MatMulIntegerToFloat", "x w xs ws xz wz b", domain=MICROSOFT)
    assert results([whole], {"x": x}, constants) == [[[100, 202, 292], [472, 1438, -2172]]]
    bare = node("MatMulIntegerToFloat", "x w xs ws", domain=MICROSOFT)
    assert results([bare], {"x": x}, constants) == [[[4.5, 8, -18], [501.5, 1244, -2982]]]


@pytest.mark.parametrize(("dtype", "point"), [(np.int8, 0), (np.int8, 3), (np.uint8, 9)])
def test_a_product_that_quantizes_its_input(dtype: Any, point: int) -> None:
    constants = {
        "w": np.array([[1, 2], [3, 4], [5, 6]], dtype),
        "s": np.array([0.5, 2], np.float32),
        "z": np.full(2, point, dtype),
        "b": np.array([10, 20], np.float32),
    }
    product = node("DynamicQuantizeMatMul", "x w s z b", domain=MICROSOFT)
    weights = (constants["w"].astype(np.float32) - point) * constants["s"]
    close(results([product], {"x": X}, constants), [X @ weights + constants["b"]])
    model = nnapi.load(file_of([product], {"x": X}, constants))
    assert model.dynamic_range
    note = "inputs are quantized by rows or not at all: results are closer to float32 than ONNX Runtime's"
    assert model.notes == (f"DynamicQuantizeMatMul: {note}",)


@pytest.mark.parametrize(
    ("filter", "scales", "is_read"),
    [
        ((2, 1, 1, 1), (), True), ((2, 1, 1, 1), (1,), True), ((2, 1, 1, 1), (2, 1, 1), True),
        ((2, 1, 1, 1), (1, 2, 1, 1), True), ((2, 1, 1), (2, 1), True), ((2, 1, 1, 1), (2,), False),
        ((2, 1, 1, 1), (2, 1), False), ((2, 1, 1), (2,), False), ((2, 1, 1, 1), (1, 1, 2), False),
    ],
)  # fmt: skip
def test_the_scales_of_a_filter_are_of_its_channels(filter: Any, scales: Any, is_read: bool) -> None:
    """As it multiplies the result of a convolution, a scale lies along the result's channels."""
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("ConvInteger", "q w z", "i"),
        node("Cast", "i", "f", to=onnx.TensorProto.FLOAT),
        node("Mul", "s k", "ks"),
        node("Mul", "f ks"),
    ]
    x = np.arange(1, 4, dtype=np.float32).reshape((1, 1, 3) if len(filter) == 3 else (1, 1, 1, 3))
    scale = np.array([0.5, 2][: max(1, int(np.prod(scales)))], np.float32).reshape(scales)
    constants = {"w": np.array([3, -1], np.int8).reshape(filter), "k": scale}
    if is_read:
        expected = np.array([[1.5, 3, 4.5], [-1, -2, -3] if scale.size == 1 else [-2, -4, -6]])
        if scale.size == 1:
            expected[1] = [-0.5, -1, -1.5]
        (found,) = results(nodes, {"x": x}, constants)
        assert np.reshape(found, (2, 3)).tolist() == expected.tolist()
    else:
        assert reasons(nodes, {"x": x}, constants) == [f"its scales are of shape {list(scales)}"]


def packed(values: Any, bits: int) -> Any:
    """Pack numbers of a few bits into bytes, the lowest first."""
    parts = values.reshape(*values.shape[:-1], -1, 8 // bits)
    return sum(parts[..., i].astype(int) << bits * i for i in range(8 // bits)).astype(np.uint8)


@each_row("bits", [2, 4, 8])
@each_row("points", ["-", "packed", "float"])
@each_row("columns_of_zero_points", ["flat", "rows"])
def test_weights_of_a_few_bits(bits: int, points: str, columns_of_zero_points: str) -> None:
    """Three blocks of 16 for 40 rows: the rest of the last block is not read. Bits are 4 by default."""
    rng = np.random.default_rng(bits)
    values, scales = rng.integers(0, 1 << bits, (5, 3, 16)), rng.integers(1, 5, (5, 3)) / 4
    zeros = rng.integers(0, 1 << bits, (5, 3)) if points != "-" else np.full((5, 3), 1 << (bits - 1))
    x, bias = rng.integers(-3, 4, (2, 40)).astype(np.float32), np.arange(5, dtype=np.float32)
    constants: dict[str, Any] = {"w": packed(values, bits), "s": scales.astype(np.float32), "b": bias}
    if points == "float":
        constants["z"] = zeros.astype(np.float32)
    elif points == "packed":
        constants["z"] = packed(np.pad(zeros, ((0, 0), (0, -3 % (8 // bits)))), bits)
    if columns_of_zero_points == "flat":
        constants |= {name: constants[name].reshape(-1) for name in "sz" if name in constants}
    options: dict[str, Any] = {"N": 5, "K": 40, "block_size": 16, **({} if bits == 4 else {"bits": bits})}
    product = node("MatMulNBits", f"x w s {'z' if 'z' in constants else '-'} - b", domain=MICROSOFT, **options)
    weights = ((values - zeros[..., None]) * scales[..., None]).reshape(5, 48)[:, :40]
    assert results([product], {"x": x}, constants) == [(x @ weights.T + bias).tolist()]


NARROW: dict[str, Any] = {"N": 2, "K": 16, "bits": 4, "block_size": 16}


def test_weights_of_a_few_bits_stay_those_of_the_file(tmp_path: Path) -> None:
    """The model's constants are views of the mapped file, and weigh nothing of what an import may create."""
    weights = np.arange(4 * 2 * 8, dtype=np.uint8).reshape(4, 2, 8)
    constants: dict[str, Any] = {"w": weights, "s": np.ones((4, 2), np.float32), "z": np.full((4, 1), 0x35, np.uint8)}
    product = node("MatMulNBits", "x w s z", domain=MICROSOFT, N=4, K=32, block_size=16)
    (tmp_path / "m.onnx").write_bytes(file_of([product], {"x": np.ones((3, 32), np.float32)}, constants))
    model = nnapi.load(tmp_path / "m.onnx")
    (call,) = model.operations
    assert call.name == "BLOCKWISE_FULLY_CONNECTED"
    assert [model.operands[index].value.tolist() for index in call.inputs[1:4]] == [
        constants[name].tolist() for name in "wsz"
    ]
    assert (
        sum(operand.type.nbytes for operand in model.operands if operand.type.code == OperandCode.TENSOR_QUANT8_ASYMM)
        == 64 + 4
    )


def test_weights_of_a_few_bits_are_of_the_type_of_their_scales() -> None:
    x = np.ones((1, 16), np.float16)
    constants = {"w": np.full((2, 1, 8), 0xA9, np.uint8), "s": np.array([0.5, 2], np.float16)}
    product = node("MatMulNBits", "x w s", domain=MICROSOFT, **NARROW)
    assert results([product], {"x": x}, constants) == [[[12, 48]]]


@pytest.mark.parametrize(
    ("inputs", "options", "shape", "reason"),
    [
        ("x w s - g", {}, (2, 1, 8), "its rows are in another order (g_idx)"),
        ("x w s", {"bits": 3}, (2, 1, 8), "its weights have 3 bits"),
        ("x w s", {"bits": 1}, (2, 1, 8), "its weights have 1 bits"),
        ("x w s", {"bits": 16}, (2, 1, 8), "its weights have 16 bits"),
        ("x w s", {}, (2, 1, 4), "its weights have shape [2, 1, 4], its attributes need 2 × 1 blocks"),
    ],
)
def test_weights_of_a_few_bits_that_are_refused(inputs: str, options: Any, shape: Any, reason: str) -> None:
    constants = {"w": np.zeros(shape, np.uint8), "s": np.ones(2, np.float32), "g": np.zeros(16, np.int32)}
    product = node("MatMulNBits", inputs, domain=MICROSOFT, **{**NARROW, **options})
    assert reasons([product], {"x": np.ones((1, 16), np.float32)}, constants) == [reason]


def test_unpacked_weights_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With zero points that are floats: eight bytes for each number of a block; then the matrix in NNAPI's order, and
    its bias."""
    product = node("MatMulNBits", "x w s z", domain=MICROSOFT, **{**NARROW, "K": 10})
    constants = {"w": np.zeros((2, 1, 8), np.uint8), "s": np.ones(2, np.float32), "z": np.ones(2, np.float32)}
    content = file_of([product], {"x": np.ones((3, 10), np.float32)}, constants)
    count = 8 * 2 * 16 + 4 * 2 * 10 + 4 * 2
    check_made_up(content, count, monkeypatch)


# Normalization and activation


@pytest.mark.parametrize(
    ("kind", "inputs", "x", "expected"),
    [
        ("SkipLayerNormalization", "x skip g", [[0, 2e-6]], [[-(0.5**0.5), 0.5**0.5]]),
        ("SkipLayerNormalization", "x skip g b", [[0, 2e-6]], [[3 - 0.5**0.5, 4 + 0.5**0.5]]),
        ("SkipLayerNormalization", "x skip g - b", [[-3, -3]], [[-1, 1]]),
        ("SkipSimplifiedLayerNormalization", "x skip g", [[1e-5**0.5, 1e-5**0.5]], [[0.5**0.5, 0.5**0.5]]),
        ("SkipSimplifiedLayerNormalization", "x skip g b", [[0, -6]], [[3 / 6.5**0.5, -2 / 6.5**0.5]]),
    ],
)
def test_the_defaults_of_a_normalized_sum(kind: str, inputs: str, x: Any, expected: Any) -> None:
    """The epsilon is 1e-12, or 1e-5 without a mean."""
    constants = {"skip": np.zeros((1, 2), np.float32), "g": np.ones(2, np.float32), "b": np.array([3, 4], np.float32)}
    close(results([node(kind, inputs, domain=MICROSOFT)], {"x": np.array(x, np.float32)}, constants), [expected], 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_default_of_a_quick_gelu(dtype: Any) -> None:
    (found,) = results([node("QuickGelu", "x", domain=MICROSOFT)], {"x": X.astype(dtype)})
    close([found], [X / (1 + np.exp(-1.702 * X))], 1e-6 if dtype == np.float32 else 2e-3)


PRODUCT = np.array([[1.5, -3], [-1, 0.5], [2, 1]], np.float32)
SUMS = X @ PRODUCT


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, SUMS),
        ({"activation": ""}, SUMS),
        ({"activation": "Relu"}, np.maximum(SUMS, 0)),
        ({"activation": "Tanh"}, np.tanh(SUMS)),
        ({"activation": "Sigmoid"}, 1 / (1 + np.exp(-SUMS))),
        ({"activation": "LeakyRelu"}, np.where(SUMS < 0, SUMS * 0.01, SUMS)),
        ({"activation": "LeakyRelu", "activation_alpha": 0.25}, np.where(SUMS < 0, SUMS * 0.25, SUMS)),
        ({"activation": "LeakyRelu", "activation_params": [0.5]}, np.where(SUMS < 0, SUMS * 0.5, SUMS)),
        ({"activation": "Clip", "activation_params": [-2.0, 5.0]}, np.clip(SUMS, -2, 5)),
        ({"alpha": 2.0, "activation": "Relu"}, np.maximum(SUMS * 2, 0)),
    ],
)
def test_the_activation_of_a_fused_product(options: Any, expected: Any) -> None:
    close(results([node("FusedGemm", "x w", domain=MICROSOFT, **options)], {"x": X}, {"w": PRODUCT}), [expected])


def test_the_attributes_of_fused_operators() -> None:
    constants = {"w": PRODUCT.T.copy(), "c": np.array([10, 20], np.float32)}
    product = node("FusedGemm", "x w c", domain=MICROSOFT, transA=1, transB=1, alpha=0.5, beta=3.0)
    close(results([product], {"x": X.T.copy()}, constants), [SUMS * 0.5 + np.array([30, 60])])
    image = np.arange(40, dtype=np.float32).reshape(1, 2, 4, 5)
    filters = np.array([[1, 2, -1], [3, -2, 1]], np.float32).reshape(2, 1, 1, 3)
    options: dict[str, Any] = {
        "group": 2,
        "strides": [2, 1],
        "dilations": [1, 2],
        "pads": [0, 2, 0, 1],
        "kernel_shape": [1, 3],
    }
    both = [node(kind, "x w", domain=domain, **options) for kind, domain in (("Conv", ""), ("FusedConv", MICROSOFT))]
    plain, fused = (results([each], {"x": image}, {"w": filters}) for each in both)
    assert plain == fused
    assert np.shape(plain) == (1, 1, 2, 2, 4)
    same = node("FusedConv", "x w", domain=MICROSOFT, group=2, auto_pad="SAME_UPPER")
    assert np.shape(results([same], {"x": image}, {"w": filters})) == (1, 1, 2, 4, 5)


def test_an_activation_that_is_not_read() -> None:
    fused = node("FusedGemm", "x w", domain=MICROSOFT, activation="HardSigmoid")
    assert reasons([fused], {"x": X}, {"w": PRODUCT}) == ["its activation is HardSigmoid"]


# Classical


@each_row(
    ("kind", "options", "expected"),
    [
        ("Scaler", {"offset": [1.0, -2.0, 0.5], "scale": [2.0, 3.0, 4.0]}, [[0, 0, 10], [-10, 21, 22]]),
        ("Scaler", {"offset": [1.0, -2.0, 0.5]}, [[0, 0, 2.5], [-5, 7, 5.5]]),
        ("Scaler", {"scale": [2.0, 3.0, 4.0]}, [[2, -6, 12], [-8, 15, 24]]),
        ("Scaler", {"offset": [0.0], "scale": [2.0]}, [[2, -4, 6], [-8, 10, 12]]),
        ("Normalizer", {}, [[1 / 3, -2 / 3, 1], [-4 / 6, 5 / 6, 1]]),
        ("Normalizer", {"norm": "MAX"}, [[1 / 3, -2 / 3, 1], [-4 / 6, 5 / 6, 1]]),
        ("Normalizer", {"norm": "L1"}, [[1 / 6, -2 / 6, 3 / 6], [-4 / 15, 5 / 15, 6 / 15]]),
        ("Normalizer", {"norm": "L2"}, X / [[14**0.5], [77**0.5]]),
        ("Binarizer", {}, [[1, 0, 1], [0, 1, 1]]),
        ("Binarizer", {"threshold": 3.0}, [[0, 0, 0], [0, 1, 1]]),
        ("LinearRegressor", {"coefficients": [2.0, -1.0, 0.5]}, [[5.5], [-10]]),
        ("LinearRegressor", {"coefficients": [2.0, -1.0, 0.5], "intercepts": [10.0]}, [[15.5], [0]]),
        (
            "LinearRegressor",
            {"coefficients": [2.0, -1.0, 0.5, 1.0, 1.0, 1.0], "intercepts": [1.0, 2.0], "targets": 2},
            [[6.5, 4], [-9, 9]],
        ),
        (
            "LinearRegressor",
            {"coefficients": [1.0, 0.0, 0.0], "post_transform": "LOGISTIC"},
            [[1 / (1 + np.exp(-1))], [1 / (1 + np.exp(4))]],
        ),
        (
            "LinearRegressor",
            {"coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0], "targets": 2, "post_transform": "SOFTMAX"},
            [[1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))], [1 / (1 + np.exp(9)), 1 / (1 + np.exp(-9))]],
        ),
    ],
)  # fmt: skip
@each_row("dtype", [np.float32, np.int64])
def test_rows_of_numbers(kind: str, options: Any, expected: Any, dtype: Any) -> None:
    """Integers are computed as floats; zeros and ones are of the type of the input."""
    model = nnapi.load(file_of([node(kind, "x", domain=CLASSICAL, **options)], {"x": X.astype(dtype)}))
    given = model.operands[model.inputs[0]].type.dtype
    (found,) = nnapi.compile(model, "nnapi-reference").run(X.astype(given))
    close([found], [expected])
    assert found.dtype == (given if kind == "Binarizer" else np.float32)


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("Normalizer", {"norm": "L3"}, "its norm is L3, must be MAX, L1 or L2"),
        ("LinearRegressor", {"coefficients": [1.0, 2.0]}, "2 coefficients for 1 × 3"),
        ("LinearRegressor", {"coefficients": [1.0] * 4}, "4 coefficients for 1 × 3"),
        ("LinearRegressor", {"coefficients": [1.0] * 3, "targets": 2}, "3 coefficients for 2 × 3"),
        (
            "LinearRegressor",
            {"coefficients": [1.0] * 3, "post_transform": "PROBIT"},
            "its post_transform is PROBIT, must be NONE, LOGISTIC or SOFTMAX",
        ),
        (
            "LinearClassifier",
            {"coefficients": [1.0] * 6, "classlabels_ints": [1, 2, 3]},
            "it has 2 scores for 3 classes",
        ),
        ("LinearClassifier", {"classlabels_ints": [1, 2, 3]}, "it has 0 scores for 3 classes"),
        ("LinearClassifier", {"coefficients": [1.0] * 7, "classlabels_ints": [1, 2]}, "7 coefficients for 2 × 3"),
    ],
)
def test_models_of_rows_that_do_not_fit(kind: str, options: Any, reason: str) -> None:
    assert reasons([node(kind, "x", domain=CLASSICAL, **options)], {"x": X}) == [reason]


def test_the_classes_of_a_linear_classifier() -> None:
    options: dict[str, Any] = {
        "coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        "intercepts": [0.5, 0.25],
        "classlabels_ints": [7, -9],
    }
    classifier = node("LinearClassifier", "x", "y scores", domain=CLASSICAL, **options)
    assert results([classifier], {"x": X}, outputs="y scores") == [[7, -9], [[1.5, -1.75], [-3.5, 5.25]]]
