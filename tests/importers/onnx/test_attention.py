"""Attention of com.microsoft beside NumPy, and beside ONNX Runtime where that is installed."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from tests.importers.onnx.attention_cases import (  # noqa: E402
    BATCHES,
    BETA,
    BIAS,
    BIASED,
    BOTH,
    BOTH_SCORES,
    CAPPED,
    COS,
    DEQUANTIZED,
    ENDS,
    GAMMA,
    GROUPED,
    HEADED,
    HEADS,
    IDS,
    K2,
    KEPT,
    KR,
    LATER,
    LENGTHS,
    LONG,
    NARROW,
    OLD,
    OLD2,
    PADDING,
    PAIRS,
    PARTS,
    PAST,
    PLACES,
    POINTS,
    POSITIONS,
    PROJECTED,
    QR,
    ROWS,
    SEGMENTS,
    SHARED,
    SHORT,
    SIN,
    SIZE,
    STATE,
    STEEP,
    STEPS,
    STORED,
    SUM,
    TABLES,
    TOTAL,
    V2,
    VR,
    WEIGHTS,
    WIDE,
    WIDTH,
    WORDS,
    K,
    N,
    Q,
    V,
    X,
    attend,
    causal,
    divide,
    grouped_with_past,
    layer_norm,
    made,
    normal,
    rotate,
)

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
    ("Attention", [X, WEIGHTS, BIAS], N, [attend(PROJECTED), np.stack(PROJECTED[1:])]),
    ("Attention", [X, WEIGHTS, BIAS, PAIRS], N, [attend(PROJECTED, (PAIRS[:, None] - 1) * 10000.0)]),
    (
        "Attention",
        [X, WEIGHTS, BIAS, KEPT],
        {**N, "mask_filter_value": -1.5},
        [attend(PROJECTED, (KEPT[:, None, None] - 1) * 1.5)],
    ),
    (
        "Attention",
        [X, WEIGHTS, BIAS, BOTH, OLD],
        N,
        [attend([PROJECTED[0], *LONG], BOTH_SCORES), np.stack(LONG)],
    ),
    ("MultiHeadAttention", [Q, K, V], N, [attend(HEADED)]),
    ("MultiHeadAttention", [Q, K, V], {**N, "scale": 0.75}, [attend(HEADED, 0, 0.75)]),
    (
        "MultiHeadAttention",
        [Q, K, V, None, KEPT],
        {**N, "mask_filter_value": -0.5},
        [attend(HEADED, (KEPT[:, None, None] - 1) * 0.5)],
    ),
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
    (
        "GroupQueryAttention",
        [Q, K2, V2, None, None, ENDS, TOTAL],
        {**GROUPED, "local_window_size": 1, "scale": 0.3},
        [attend([HEADED[0], *SHARED], causal(ROWS, ROWS, 1), 0.3)],
    ),
    (
        "GroupQueryAttention",
        [Q, K, V, None, None, ENDS, TOTAL],
        {"num_heads": HEADS, "kv_num_heads": HEADS},
        [attend(HEADED, causal(ROWS, ROWS)), *HEADED[1:]],
    ),
    (
        "GroupQueryAttention",
        [Q, K2, V2, None, None, ENDS, TOTAL],
        {**GROUPED, "softcap": 2.0, "scale": STEEP},
        [attend([np.zeros_like(HEADED[0]), *SHARED], causal(ROWS, ROWS) + CAPPED)],
    ),
    (
        "GroupQueryAttention",
        [Q, K2, V2, None, None, ENDS, TOTAL, None, None, None, SUM],
        GROUPED,
        [attend([HEADED[0], *SHARED], causal(ROWS, ROWS) + SUM)],
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
        "RotaryEmbedding",
        [HEADED[0][:1, :, :1], np.array([3], np.int64), COS, SIN],
        {},
        [rotate(HEADED[0][:1, :, :1], COS[3:4], SIN[3:4], False)],
    ),
    (
        "RotaryEmbedding",
        [Q[:1], np.array([2], np.int64), COS, SIN],
        {},
        [rotate(HEADED[0][:1], COS[2:5], SIN[2:5], False).swapaxes(1, 2).reshape(Q[:1].shape)],
    ),
    (
        "EmbedLayerNormalization",
        [IDS, None, *TABLES[:2], None, GAMMA, BETA, None, POSITIONS],
        {"epsilon": 0.5},
        [layer_norm(TABLES[0][IDS] + TABLES[1][POSITIONS], 0.5), np.zeros(BATCHES)],
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
    (
        "QEmbedLayerNormalization",
        [IDS, SEGMENTS, *STORED, KEPT, *(np.float32(scale) for scale in STEPS), *(np.uint8(each) for each in POINTS)],
        {"epsilon": 0.5},
        [
            layer_norm(DEQUANTIZED[0][IDS] + DEQUANTIZED[1][:ROWS] + DEQUANTIZED[2][SEGMENTS], 0.5, *DEQUANTIZED[3:]),
            KEPT.sum(1),
        ],
    ),
]
IDENTITIES = [f"{kind}-{k}" for k, (kind, *_) in enumerate(CASES)]


@each_row(("kind", "inputs", "attributes", "expected"), CASES, ids=IDENTITIES)
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
