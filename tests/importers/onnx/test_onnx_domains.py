"""Operators of com.microsoft and ai.onnx.ml beside their formulas, and beside ONNX Runtime where that is installed."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.onnx.rules.composed import FP4, NF4  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402

RNG = np.random.default_rng(5)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


X, SKIP, SCALE, SHIFT, BIAS = normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)


def erf(x: Any) -> Any:
    from math import erf

    return np.vectorize(erf)(x)


def layer_norm(x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


def root_norm(x: Any) -> Any:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def fast_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def pack(values: Any) -> Any:
    """Numbers of 4 bits, two in a byte."""
    return (values[..., ::2] | values[..., 1::2] << 4).astype(np.uint8)


NIBBLES, BLOCK_SCALES, POINTS = RNG.integers(0, 16, (5, 2, 16)), abs(normal(5, 2)), RNG.integers(0, 16, (5, 2))
UNPACKED = ((NIBBLES - 8) * BLOCK_SCALES[..., None]).reshape(5, 32).astype(np.float32)
SHIFTED = ((NIBBLES - POINTS[..., None]) * BLOCK_SCALES[..., None]).reshape(5, 32).astype(np.float32)
ROWS, BYTES = normal(3, 32), RNG.integers(0, 256, (8, 5)).astype(np.uint8)
FLAT, NEAR = BLOCK_SCALES.reshape(-1), {"epsilon": 1e-5}
CODES = RNG.integers(0, 16, 160)
COARSE = {"N": 5, "K": 32, "bits": 4, "block_size": 16}
COEFFICIENTS, INTERCEPTS = normal(3, 8), normal(3)
SCORES = X[0] @ COEFFICIENTS.T + INTERCEPTS

MICROSOFT: list[Any] = [
    ("FusedMatMul", [X, SKIP], {"transB": 1, "alpha": 0.5}, 0.5 * X @ SKIP.swapaxes(1, 2)),
    ("FusedMatMul", [X[0], X[1]], {"transA": 1}, X[0].T @ X[1]),
    (
        "SkipLayerNormalization",
        [X, SKIP, SCALE, SHIFT, BIAS],
        {"epsilon": 1e-5},
        layer_norm(X + SKIP + BIAS) * SCALE + SHIFT,
    ),
    ("SkipLayerNormalization", [X, SKIP, SCALE], {"epsilon": 1e-5}, layer_norm(X + SKIP) * SCALE),
    ("SkipSimplifiedLayerNormalization", [X, SKIP, SCALE], {"epsilon": 1e-5}, root_norm(X + SKIP) * SCALE),
    ("BiasGelu", [X, BIAS], {}, (X + BIAS) * 0.5 * (1 + erf((X + BIAS) / np.sqrt(2)))),
    ("Gelu", [X], {}, X * 0.5 * (1 + erf(X / np.sqrt(2)))),
    (
        "FastGelu",
        [X, BIAS],
        {},
        0.5 * (X + BIAS) * (1 + np.tanh(0.7978845608 * (X + BIAS + 0.044715 * (X + BIAS) ** 3))),
    ),
    ("QuickGelu", [X], {"alpha": 1.5}, X / (1 + np.exp(-1.5 * X))),
    ("MatMulNBits", [ROWS, pack(NIBBLES), FLAT], COARSE, ROWS @ UNPACKED.T),
    (
        "MatMulNBits",
        [ROWS, pack(NIBBLES), BLOCK_SCALES.reshape(-1), pack(POINTS).reshape(-1)],
        COARSE,
        ROWS @ SHIFTED.T,
    ),
    *(
        (
            "MatMulBnb4",
            [ROWS, (CODES[::2] << 4 | CODES[1::2]).astype(np.uint8), FLAT],
            {"N": 5, "K": 32, "block_size": 16, "quant_type": kind},
            ROWS @ (np.array(table, np.float32)[CODES] * np.repeat(FLAT, 16)).reshape(5, 32).T,
        )
        for kind, table in enumerate((FP4, NF4))
    ),
    (
        "DynamicQuantizeMatMul",
        [X, BYTES, np.float32(0.01), np.uint8(120)],
        {},
        X @ ((BYTES.astype(np.float32) - 120) * np.float32(0.01)),
    ),
]
CLASSICAL: list[Any] = [
    ("Scaler", [X[0]], {"offset": SHIFT.tolist(), "scale": SCALE.tolist()}, (X[0] - SHIFT) * SCALE),
    ("Normalizer", [X[0]], {"norm": "L2"}, X[0] / np.sqrt((X[0] ** 2).sum(1, keepdims=True))),
    ("Normalizer", [X[0]], {"norm": "MAX"}, X[0] / X[0].max(1, keepdims=True)),
    ("Binarizer", [X[0]], {"threshold": 0.25}, (X[0] > 0.25).astype(np.float32)),
    (
        "LinearRegressor",
        [X[0]],
        {"coefficients": COEFFICIENTS.reshape(-1).tolist(), "intercepts": INTERCEPTS.tolist(), "targets": 3},
        SCORES,
    ),
]
CASES = [(("com.microsoft", *case)) for case in MICROSOFT] + [("ai.onnx.ml", *case) for case in CLASSICAL]


def made(
    domain: str, kind: str, inputs: list[Any], attributes: dict[str, Any], outputs: tuple[str, ...] = ("y",)
) -> bytes:
    names = [f"i{k}" for k in range(len(inputs))]
    node = helper.make_node(kind, names, outputs, domain=domain, **attributes)
    given = helper.make_tensor_value_info(names[0], helper.np_dtype_to_tensor_dtype(inputs[0].dtype), inputs[0].shape)
    constants = [
        numpy_helper.from_array(np.asarray(each), name) for each, name in zip(inputs[1:], names[1:], strict=True)
    ]
    ends = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    graph = helper.make_graph([node], "g", [given], ends, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, {"ai.onnx.ml": 1}.get(domain, 1))]
    content: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return content


@each_row(("domain", "kind", "inputs", "attributes", "expected"), CASES)
def test_operators_compute_their_formula(domain: str, kind: str, inputs: Any, attributes: Any, expected: Any) -> None:
    content = made(domain, kind, inputs, attributes)
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(inputs[0])[0]
    np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-4, 2e-5)


@pytest.mark.parametrize(("domain", "kind", "inputs", "attributes", "expected"), CASES)
def test_onnx_runtime_computes_the_same(domain: str, kind: str, inputs: Any, attributes: Any, expected: Any) -> None:
    """The formulas above are those of ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    theirs = onnxruntime.InferenceSession(made(domain, kind, inputs, attributes)).run(None, {"i0": inputs[0]})[0]
    within = 2e-2 if kind.startswith("DynamicQuantize") else 2e-3 if kind == "FastGelu" else 1e-4
    assert np.abs(theirs - expected).max() <= within * np.abs(expected).max()


def test_the_sum_before_a_normalization_is_an_output() -> None:
    content = made("com.microsoft", "SkipLayerNormalization", [X, SKIP, SCALE], {}, ("y", "", "", "sum"))
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(X)
    np.testing.assert_allclose(found[1], X + SKIP, 1e-6)


def test_a_classifier_gives_labels_and_scores() -> None:
    attributes = {
        "coefficients": COEFFICIENTS.reshape(-1).tolist(),
        "intercepts": INTERCEPTS.tolist(),
        "classlabels_ints": [7, 5, 9],
        "post_transform": "SOFTMAX",
    }
    content = made("ai.onnx.ml", "LinearClassifier", [X[0]], attributes, ("label", "scores"))
    labels, scores = nnapi.compile(nnapi.load(content), "nnapi-reference").run(X[0])
    weights = np.exp(SCORES - SCORES.max(1, keepdims=True))
    np.testing.assert_array_equal(labels, np.array([7, 5, 9])[SCORES.argmax(1)])
    np.testing.assert_allclose(scores, weights / weights.sum(1, keepdims=True), 1e-5)


@pytest.mark.parametrize(
    ("kind", "reason"), {"FeatureVectorizer": "no such operation", "DictVectorizer": "maps from names"}.items()
)
def test_what_has_no_rule_says_why(kind: str, reason: str) -> None:
    with pytest.raises(UnsupportedOperationsError, match=reason):
        nnapi.load(made("ai.onnx.ml", kind, [X[0]], {}))


@pytest.mark.parametrize("type", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantizers_of_older_opsets(type: Any) -> None:
    """QuantizeLinear and DequantizeLinear had 16 bits in com.microsoft first."""
    limits, point = np.iinfo(type), np.array(3, type)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], domain="com.microsoft"),
    ]
    scale = np.float32(8 / (int(limits.max) - int(limits.min)))
    constants = [numpy_helper.from_array(np.asarray(each), name) for each, name in ((scale, "s"), (point, "z"))]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name="y")], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    content = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(X)[0]
    whole = np.clip(np.rint(X / scale) + 3, limits.min, limits.max)
    np.testing.assert_allclose(found, (whole - 3) * scale, 1e-5, 1.01 * float(scale))


@pytest.mark.parametrize("directions", [1, 2])
def test_a_quantized_lstm_computes_as_its_dequantized_weights(directions: int) -> None:
    size, way = 6, ["forward", "bidirectional"][directions - 1]
    x = normal(4, 1, 5)
    weights = [RNG.integers(0, 256, (directions, depth, 4 * size)).astype(np.uint8) for depth in (5, size)]
    scale, point = np.full(directions, 0.004, np.float32), np.full(directions, 128, np.uint8)
    bias = normal(directions, 8 * size)
    names = ["x", "W", "R", "B", "", "", "", "", "s", "z", "s", "z"]
    quantized = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y", "h"], domain="com.microsoft", hidden_size=size, direction=way
    )
    plain = helper.make_node("LSTM", names[:4], ["y", "h"], hidden_size=size, direction=way)
    floats = [((each.astype(np.float32) - 128) * np.float32(0.004)).swapaxes(1, 2) for each in weights]
    found = []
    for node, matrices in ((quantized, weights), (plain, floats)):
        arrays = {"W": matrices[0], "R": matrices[1], "B": bias, "s": scale, "z": point}
        constants = [numpy_helper.from_array(np.ascontiguousarray(each), name) for name, each in arrays.items()]
        given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)
        ends = [onnx.ValueInfoProto(name=name) for name in ("y", "h")]
        graph = helper.make_graph([node], "g", [given], ends, constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        content = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
        model = nnapi.load(content)
        found.append(nnapi.compile(model, "nnapi-reference").run(x))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)


def test_a_fused_convolution_adds_and_activates() -> None:
    image, filters, added = normal(1, 2, 5, 5), normal(3, 2, 3, 3), normal(1, 3, 5, 5)
    content = made(
        "com.microsoft", "FusedConv", [image, filters, BIAS[:3], added], {"pads": [1] * 4, "activation": "Relu"}
    )
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    expected = np.einsum("nchwij,ocij->nohw", windows, filters) + BIAS[:3, None, None] + added
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(image)[0]
    np.testing.assert_allclose(found, np.maximum(expected, 0), 1e-4, 1e-4)
