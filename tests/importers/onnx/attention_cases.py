"""Formulas of attention in NumPy, and files of one node of com.microsoft."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

RNG = np.random.default_rng(6)
BATCHES, ROWS, HEADS, WIDTH, PAST = 2, 3, 4, 8, 5
SIZE = HEADS * WIDTH


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def divide(x: Any, heads: int = HEADS) -> Any:
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def attend(heads: Sequence[Any], bias: Any = 0, scale: float = WIDTH**-0.5) -> Any:
    """Return softmax(QKᵀ scale + bias) V of heads, concatenated."""
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


POSITIONS = np.array([[4, 2, 0], [1, 1, 3]], np.int32)


STEPS, POINTS = [0.01, 0.02, 0.03, 0.015, 0.025], [128, 120, 130, 30, 100]
STORED = [RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((9, 8), (5, 8), (2, 8), 8, 8)]
"""Quantized tables of words, positions and segments, gamma and beta, and their scales and zero points."""
DEQUANTIZED = [
    (table.astype(np.float32) - point) * np.float32(step)
    for table, step, point in zip(STORED, STEPS, POINTS, strict=True)
]


def layer_norm(x: Any, epsilon: float = 1e-12, gamma: Any = GAMMA, beta: Any = BETA) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon) * gamma + beta


STEEP = WIDTH**-0.5 * 5
"""A scale whose scores reach the cap."""
CAPPED = 2 * np.tanh(np.einsum("bhsw,bhtw->bhst", HEADED[0], SHARED[0]) * STEEP / 2)
PAIRS = RNG.integers(0, 2, (BATCHES, ROWS, ROWS)).astype(np.int32) | np.eye(ROWS, dtype=np.int32)
BOTH = np.concatenate([np.ones((BATCHES, PAST), np.int32), KEPT], 1)
BOTH_SCORES = (BOTH[:, None, None] - 1) * 10000.0
PACKED_KV = np.stack([each.reshape(BATCHES, ROWS, HEADS, WIDTH) for each in (K, V)], 3)
TURNED = [rotate(each, COS[:ROWS], SIN[:ROWS], False) for each in (HEADED[0], divide(K2, 2))]
PLACED = [rotate(each, COS[PLACES][:, None], SIN[PLACES][:, None], False) for each in (HEADED[0], divide(K2, 2))]
WORDS = TABLES[0][IDS] + TABLES[1][:ROWS]
