"""Attention of com.microsoft beside NumPy, and beside ONNX Runtime where that is installed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402

RNG = np.random.default_rng(6)
BATCHES, ROWS, HEADS, WIDTH, PAST = 2, 3, 4, 8, 2
SIZE = HEADS * WIDTH


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def divide(x: Any, heads: int = HEADS) -> Any:
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def attend(heads: Sequence[Any], bias: Any = 0, scale: float = WIDTH**-0.5) -> Any:
    """Return softmax(QKᵀ scale + bias) V of heads, joined."""
    query, key, value = heads
    scores = np.einsum("bhsw,bhtw->bhst", query, key) * scale + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    found = np.einsum("bhst,bhtw->bshw", weights / weights.sum(-1, keepdims=True), value)
    return found.reshape(*found.shape[:2], -1)


def causal(rows: int, keys: int, window: int = 100) -> Any:
    ahead = np.arange(keys) - np.arange(rows)[:, None] - (keys - rows)
    return np.where((ahead <= 0) & (ahead > -window), 0, -1e9)


def rotate(x: Any, cosine: Any, sine: Any, interleaved: bool) -> Any:
    """Rotate pairs of [batches, heads, rows, width] as complex numbers, by angles of [rows, pairs]."""
    pairs = cosine.shape[-1]
    turned = x.copy()
    first, second = (
        (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)) if interleaved else (slice(0, pairs), slice(pairs, 2 * pairs))
    )
    found = (x[..., first] + 1j * x[..., second]) * (cosine + 1j * sine)
    turned[..., first], turned[..., second] = found.real, found.imag
    return turned


def made(kind: str, inputs: Sequence[Any], attributes: dict[str, Any], outputs: int = 1, computed: int = 1) -> bytes:
    """A file of one node whose first inputs are ``computed``, the others constants; None leaves one out."""
    names = ["" if each is None else f"i{k}" for k, each in enumerate(inputs)]
    ends = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(kind, names, ends, domain="com.microsoft", **attributes)
    given = [(name, np.asarray(each)) for name, each in zip(names, inputs, strict=True) if name]
    ins = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given[:computed]
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in given[computed:]]
    graph = helper.make_graph([node], "g", ins, [onnx.ValueInfoProto(name=each) for each in ends], constants)
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    content: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return content


X, WEIGHTS, BIAS = normal(BATCHES, ROWS, SIZE), normal(SIZE, 3 * SIZE) * 0.3, normal(3 * SIZE)
Q, K, V = (normal(BATCHES, ROWS, SIZE) for _ in range(3))
OLD = normal(2, BATCHES, HEADS, PAST, WIDTH)
SUM = normal(BATCHES, HEADS, ROWS, ROWS)
LENGTHS = np.array([3, 2], np.int32)
KEPT = np.array([[1, 1, 1], [1, 0, 1]], np.int32)
PADDING = (KEPT[:, None, None] - 1) * 10000.0
SHORT = (np.arange(ROWS) >= LENGTHS[:, None])[:, None, None] * -10000.0
PROJECTED = [divide(each) for each in np.split(X @ WEIGHTS + BIAS, 3, -1)]
LONG = [np.concatenate([old, new], 2) for old, new in zip(OLD, PROJECTED[1:], strict=True)]
PACKED = np.stack([each.reshape(BATCHES, ROWS, HEADS, WIDTH) for each in (Q, K, V)], 3)
NARROW = RNG.normal(size=(SIZE, 2 * SIZE + 8)).astype(np.float32) * 0.3
PARTS = np.split(X @ NARROW, [SIZE, 2 * SIZE], -1)
N: dict[str, Any] = {"num_heads": HEADS}
HEADED = [divide(each) for each in (Q, K, V)]
STATE = [np.concatenate(each, 2) for each in zip(OLD, HEADED[1:], strict=True)]
BIASED = [divide(each + part) for each, part in zip((Q, K, V), np.split(BIAS, 3), strict=True)]
ANGLES = RNG.uniform(0, 3, (8, WIDTH // 2))
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
GROUPED = {"num_heads": HEADS, "kv_num_heads": 2}
K2, V2 = normal(BATCHES, ROWS, SIZE // 2), normal(BATCHES, ROWS, SIZE // 2)
SHARED = [np.repeat(divide(each, 2), 2, 1) for each in (K2, V2)]
TOTAL, ENDS = np.int32(ROWS), np.array([ROWS - 1] * BATCHES, np.int32)
WIDE = {"num_heads": HEADS, "kv_num_heads": 2, "do_rotary": 1}
QR, KR, VR = normal(1, ROWS, HEADS * 16), normal(1, ROWS, 32), normal(1, ROWS, 32)
TURNS = RNG.uniform(0, 3, (16, 8))
TCOS, TSIN = np.cos(TURNS).astype(np.float32), np.sin(TURNS).astype(np.float32)
OLD2 = normal(2, 1, 2, PAST, 16)


def grouped_with_past(interleaved: bool) -> list[Any]:
    at = slice(PAST, PAST + ROWS)
    query, key = (rotate(divide(x, n), TCOS[at], TSIN[at], interleaved) for x, n in ((QR, HEADS), (KR, 2)))
    state = [np.concatenate([old, new], 2) for old, new in zip(OLD2, (key, divide(VR, 2)), strict=True)]
    spread = [np.repeat(each, 2, 1) for each in state]
    return [attend([query, *spread], causal(ROWS, PAST + ROWS), 0.25), *state]


PLACES = np.array([[0, 1, 2], [4, 5, 7]], np.int64)
LATER = [np.array([PAST + ROWS - 1], np.int32), np.int32(PAST + ROWS), TCOS, TSIN]
IDS, SEGMENTS = RNG.integers(0, 9, (BATCHES, ROWS)).astype(np.int32), np.array([[0, 0, 1], [0, 1, 1]], np.int32)
TABLES = [normal(9, 8), normal(5, 8), normal(2, 8)]
GAMMA, BETA = normal(8), normal(8)


def layer_norm(x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12) * GAMMA + BETA


WORDS = TABLES[0][IDS] + TABLES[1][:ROWS]
CASES: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("Attention", [X, WEIGHTS, BIAS], N, [attend(PROJECTED)]),
    ("Attention", [X, WEIGHTS, BIAS, LENGTHS], N, [attend(PROJECTED, SHORT)]),
    ("Attention", [X, WEIGHTS, BIAS, KEPT], N, [attend(PROJECTED, PADDING)]),
    ("Attention", [X, WEIGHTS, BIAS, None, None, SUM], N, [attend(PROJECTED, SUM)]),
    ("Attention", [X, WEIGHTS, BIAS], {**N, "unidirectional": 1}, [attend(PROJECTED, causal(ROWS, ROWS))]),
    ("Attention", [X, WEIGHTS, BIAS], {**N, "scale": 0.5}, [attend(PROJECTED, 0, 0.5)]),
    (
        "Attention",
        [X, WEIGHTS, BIAS, None, OLD],
        {**N, "unidirectional": 1},
        [attend([PROJECTED[0], *LONG], causal(ROWS, ROWS + PAST)), np.stack(LONG)],
    ),
    (
        "Attention",
        [X, NARROW, np.zeros(2 * SIZE + 8, np.float32)],
        {**N, "qkv_hidden_sizes": [SIZE, SIZE, 8]},
        [attend([divide(each) for each in PARTS])],
    ),
    ("MultiHeadAttention", [Q, K, V], N, [attend(HEADED)]),
    ("MultiHeadAttention", [Q, K, V, BIAS], N, [attend(BIASED)]),
    ("MultiHeadAttention", [Q, K, V, BIAS, KEPT], N, [attend(BIASED, PADDING)]),
    ("MultiHeadAttention", [Q, K, V, None, None, SUM], N, [attend(HEADED, SUM)]),
    ("MultiHeadAttention", [Q, K, V], {**N, "unidirectional": 1}, [attend(HEADED, causal(ROWS, ROWS))]),
    ("MultiHeadAttention", [Q, *HEADED[1:]], N, [attend(HEADED)]),
    (
        "MultiHeadAttention",
        [Q, K, V, None, None, None, *OLD],
        N,
        [attend([HEADED[0], *STATE]), *STATE],
    ),
    (
        "GroupQueryAttention",
        [Q, K2, V2, None, None, ENDS, TOTAL],
        GROUPED,
        [attend([HEADED[0], *SHARED], causal(ROWS, ROWS))],
    ),
    (
        "GroupQueryAttention",
        [np.concatenate([Q, K2, V2], -1), None, None, None, None, ENDS, TOTAL],
        {**GROUPED, "local_window_size": 2},
        [attend([HEADED[0], *SHARED], causal(ROWS, ROWS, 2))],
    ),
    ("GroupQueryAttention", [QR, KR, VR, *OLD2, *LATER], WIDE, grouped_with_past(False)),
    ("GroupQueryAttention", [QR, KR, VR, *OLD2, *LATER], {**WIDE, "rotary_interleaved": 1}, grouped_with_past(True)),
    (
        "RotaryEmbedding",
        [HEADED[0], PLACES, COS, SIN],
        {},
        [rotate(HEADED[0], COS[PLACES][:, None], SIN[PLACES][:, None], False)],
    ),
    (
        "RotaryEmbedding",
        [Q, np.array([3], np.int64), COS, SIN],
        {"interleaved": 1},
        [rotate(HEADED[0], COS[3 : 3 + ROWS], SIN[3 : 3 + ROWS], True).swapaxes(1, 2).reshape(Q.shape)],
    ),
    (
        "RotaryEmbedding",
        [Q, PLACES, COS[:, :2], SIN[:, :2]],
        {**N, "rotary_embedding_dim": 4},
        [
            rotate(HEADED[0], COS[PLACES][:, None, :, :2], SIN[PLACES][:, None, :, :2], False)
            .swapaxes(1, 2)
            .reshape(Q.shape)
        ],
    ),
    (
        "EmbedLayerNormalization",
        [IDS, None, *TABLES[:2], None, GAMMA, BETA],
        {},
        [layer_norm(WORDS), np.zeros(BATCHES)],
    ),
    (
        "EmbedLayerNormalization",
        [IDS, SEGMENTS, *TABLES, GAMMA, BETA, KEPT],
        {},
        [layer_norm(WORDS + TABLES[2][SEGMENTS]), KEPT.sum(1), WORDS + TABLES[2][SEGMENTS]],
    ),
]
IDENTITIES = [f"{kind}-{k}" for k, (kind, *_) in enumerate(CASES)]


@pytest.mark.parametrize(("kind", "inputs", "attributes", "expected"), CASES, ids=IDENTITIES)
def test_operators_compute_their_formula(kind: str, inputs: Any, attributes: Any, expected: Any) -> None:
    model = nnapi.load(made(kind, inputs, attributes, len(expected)))
    found = nnapi.compile(model, "nnapi-reference").run(inputs[0])
    for ours, formula in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, formula, 1e-4, 2e-5)


@pytest.mark.parametrize(("kind", "inputs", "attributes", "expected"), CASES, ids=IDENTITIES)
def test_onnx_runtime_computes_the_same(kind: str, inputs: Any, attributes: Any, expected: Any) -> None:
    """The formulas above are those of ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    found = onnxruntime.InferenceSession(made(kind, inputs, attributes, len(expected))).run(None, {"i0": inputs[0]})
    for theirs, formula in zip(found, expected, strict=True):
        np.testing.assert_allclose(theirs, formula, 1e-3, 1e-4)


def test_queries_keys_and_values_in_one_tensor() -> None:
    """ONNX Runtime computes this on GPUs only."""
    flat = normal(BATCHES, ROWS, 3 * SIZE)
    shape = numpy_helper.from_array(np.array([BATCHES, ROWS, HEADS, 3, WIDTH]), "shape")
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["packed"]),
        helper.make_node("MultiHeadAttention", ["packed"], ["y"], domain="com.microsoft", **N),
    ]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, flat.shape)
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name="y")], [shape])
    opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    model = nnapi.load(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    parts = flat.reshape(BATCHES, ROWS, HEADS, 3, WIDTH).transpose(3, 0, 2, 1, 4)
    found = nnapi.compile(model, "nnapi-reference").run(flat)[0]
    np.testing.assert_allclose(found, attend(parts), 1e-4, 2e-5)


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "message"),
    [
        ("Attention", [X, WEIGHTS, BIAS], {**N, "do_rotary": 1}, "its attribute do_rotary is not read"),
        ("Attention", [X, WEIGHTS, BIAS, np.ones(7, np.int32)], N, "its mask is"),
        ("GroupQueryAttention", [QR, KR, VR, *OLD2, LATER[0], np.int32(9)], WIDE, "lie in a longer buffer"),
        ("RotaryEmbedding", [HEADED[0], PLACES, COS, SIN], {"scale": 2.0}, "it scales its result"),
    ],
)
def test_variants_that_are_refused(kind: str, inputs: Any, attributes: Any, message: str) -> None:
    with pytest.raises(UnsupportedOperationsError, match=message):
        nnapi.load(made(kind, inputs, attributes))
