"""Variants of attention that ONNX Runtime refuses on CPUs, and those that are refused here."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402
from tests.importers.onnx.attention_cases import (  # noqa: E402
    BATCHES,
    BIAS,
    BIASED,
    BOTH,
    COS,
    ENDS,
    GROUPED,
    HEADED,
    K2,
    KR,
    LATER,
    NARROW,
    OLD,
    OLD2,
    PACKED_KV,
    PAIRS,
    PAST,
    PLACED,
    PLACES,
    PROJECTED,
    QR,
    ROWS,
    SHARED,
    SIN,
    SIZE,
    SUM,
    TOTAL,
    TURNED,
    V2,
    VR,
    WEIGHTS,
    WIDE,
    K,
    N,
    Q,
    V,
    X,
    attend,
    causal,
    divide,
    made,
)

ABSENT = [None] * 12
ROTARY = [HEADED[0], PLACES, COS, SIN]
GIVEN = [Q, K2, V2, None, None, ENDS, TOTAL]
MASK = np.ones((BATCHES, ROWS + 1), np.int32)


OURS: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("MultiHeadAttention", [Q, PACKED_KV], N, [attend(HEADED)]),
    (
        "GroupQueryAttention",
        [Q, K2, V2, None, None, ENDS, TOTAL, COS, SIN],
        WIDE,
        [attend([TURNED[0], np.repeat(TURNED[1], 2, 1), SHARED[1]], causal(ROWS, ROWS))],
    ),
    (
        "GroupQueryAttention",
        [np.concatenate([Q, K2, V2], -1), None, None, None, None, ENDS, TOTAL, COS, SIN],
        WIDE,
        [attend([TURNED[0], np.repeat(TURNED[1], 2, 1), SHARED[1]], causal(ROWS, ROWS)), TURNED[1], divide(V2, 2)],
    ),
    (
        "GroupQueryAttention",
        [Q, K2, V2, None, None, ENDS, TOTAL, COS, SIN, PLACES],
        WIDE,
        [attend([PLACED[0], np.repeat(PLACED[1], 2, 1), SHARED[1]], causal(ROWS, ROWS))],
    ),
    ("Attention", [X, WEIGHTS, BIAS, PAIRS[:, None]], N, [attend(PROJECTED, (PAIRS[:, None] - 1) * 10000.0)]),
    ("MultiHeadAttention", [Q, *HEADED[1:], BIAS], N, [attend([BIASED[0], *HEADED[1:]])]),
    (
        "GroupQueryAttention",
        GIVEN,
        {**GROUPED, "smooth_softmax": -1},
        [attend([HEADED[0], *SHARED], causal(ROWS, ROWS))],
    ),
]


@pytest.mark.parametrize(("kind", "inputs", "attributes", "expected"), OURS)
def test_variants_that_onnx_runtime_computes_on_gpus(kind: str, inputs: Any, attributes: Any, expected: Any) -> None:
    """Or with heads of 16 numbers, as in its rotations on CPUs."""
    found = nnapi.compile(nnapi.load(made(kind, inputs, attributes, len(expected))), "nnapi-reference").run(inputs[0])
    for ours, formula in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, formula, 1e-4, 2e-5)


@each_row(
    ("kind", "inputs", "attributes", "reason"),
    [
        ("Attention", [X, WEIGHTS, BIAS], {**N, "do_rotary": 1}, "its attribute do_rotary is not read"),
        (
            "Attention",
            [X, WEIGHTS, BIAS],
            {**N, "past_present_share_buffer": 1},
            "its attribute past_present_share_buffer is not read",
        ),
        ("Attention", [X, WEIGHTS, BIAS, *ABSENT[:3], TOTAL], N, "its input 6 is not read"),
        ("Attention", [X, WEIGHTS, BIAS, np.ones(7, np.int32)], N, "its mask is [7] for 2 × 3 rows and 3 keys"),
        ("Attention", [X, WEIGHTS, BIAS, MASK], N, "its mask is [2, 4] for 2 × 3 rows and 3 keys"),
        ("Attention", [X, WEIGHTS, BIAS, BOTH, OLD[:, :, :, :1]], N, "its mask is [2, 8] for 2 × 3 rows and 4 keys"),
        (
            "Attention",
            [X, NARROW, np.zeros(2 * SIZE + 8, np.float32)],
            {**N, "qkv_hidden_sizes": [SIZE, SIZE, 16]},
            "its sizes [32, 32, 16] do not make the 72 columns of its weights for 32",
        ),
        ("MultiHeadAttention", [Q, K, V, *ABSENT[:5], TOTAL], N, "its input 8 is not read"),
        ("MultiHeadAttention", [Q, K, V, *ABSENT[:6], TOTAL], N, "its input 9 is not read"),
        ("GroupQueryAttention", [*GIVEN, *ABSENT[:4], SUM], GROUPED, "its input 11 is not read"),
        ("GroupQueryAttention", [*GIVEN, *ABSENT[:9], SUM], GROUPED, "its input 16 is not read"),
        (
            "GroupQueryAttention",
            GIVEN,
            {**GROUPED, "smooth_softmax": 1},
            "its attribute smooth_softmax is not read",
        ),
        (
            "GroupQueryAttention",
            [QR, KR, VR, *OLD2, LATER[0], np.int32(9)],
            WIDE,
            "its past keys lie in a longer buffer",
        ),
        (
            "GroupQueryAttention",
            [Q, K2, V2, *OLD[:, :, :2], ENDS, np.int32(PAST + ROWS)],
            GROUPED,
            "its batches may have past keys of several lengths",
        ),
        ("RotaryEmbedding", ROTARY, {"scale": 2.0}, "it scales its result"),
        ("RotaryEmbedding", ROTARY, {"is_packed_batching": 1}, "its attribute is_packed_batching is not read"),
    ],
)
def test_variants_that_are_refused(kind: str, inputs: Any, attributes: Any, reason: str) -> None:
    with pytest.raises(UnsupportedOperationsError) as caught:
        nnapi.load(made(kind, inputs, attributes))
    assert [each.reason for each in caught.value.refusals] == [reason]


def test_scores_of_float16_stay_finite() -> None:
    """The score of a key that a row does not see is -60000, which float16 has; its exponential is 0."""
    halves = [each.astype(np.float16) for each in (Q, K, V)]
    model = nnapi.load(made("MultiHeadAttention", halves, {**N, "unidirectional": 1}))
    assert {operand.value.min() for operand in model.operands if operand.name.endswith("causal")} == {-6e4}
    found = nnapi.compile(model, "nnapi-reference").run(halves[0])[0]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, attend(HEADED, causal(ROWS, ROWS)), 0, 2e-2)
