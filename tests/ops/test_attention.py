from typing import Any

import numpy as np
import pytest

from nnapi.errors import NnapiError
from tests.ops.kernel_cases import ENGINES, build, compute, need_same_on, need_same_parts, normal

Q, K, V = normal(2, 2, 3, 8), normal(2, 2, 5, 8), normal(2, 2, 5, 4)
ANGLES = np.random.default_rng(3).uniform(0, 3, (3, 4))


def attend(query: Any, key: Any, value: Any, mask: Any = 0, scale: float = 1.0) -> Any:
    scores = np.einsum("...qw,...kw->...qk", query.astype(np.float64), key) * scale + mask
    weights = np.exp(scores)
    return np.einsum("...qk,...kw->...qw", weights / weights.sum(-1, keepdims=True), value)


def test_attention_in_numbers() -> None:
    query, key, value = (np.array(each, np.float32) for each in ([[2, 0]], [[0, 1], [1, 0]], [[1, 2], [3, 6]]))
    share = 1 / (1 + np.exp(-1))  # of the second key, whose score is 0.5 · 2
    found = compute(lambda b, q, k, v: b.attention(q, k, v, None, 0.5), query, key, value)
    np.testing.assert_allclose(found, [[1 + 2 * share, 2 + 4 * share]], 1e-6)


@pytest.mark.parametrize("mask", [(2, 2, 3, 5), (2, 1, 1, 5), (3, 5), (5,), (1, 1, 3, 1), None])
def test_a_mask_is_added_to_the_scores(mask: tuple[int, ...] | None) -> None:
    added = [] if mask is None else [normal(*mask)]
    found = need_same_parts(lambda b, q, k, v, *m: b.attention(q, k, v, *(m or [None]), 0.3), Q, K, V, *added)
    np.testing.assert_allclose(found, attend(Q, K, V, added[0] if added else 0, 0.3), 2e-6, 2e-6)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_batches_of_matrices(rank: int) -> None:
    query, key, value = (each[(0,) * (4 - rank)] for each in (Q, K, V))
    found = need_same_parts(plain, query, key, value)
    np.testing.assert_allclose(found, attend(query, key, value), 2e-6, 2e-6)


def test_a_key_with_a_mask_of_minus_infinity_does_not_count() -> None:
    mask = np.where(np.arange(5) < 3, 0, -np.inf).astype(np.float32)
    found = need_same_parts(lambda b, q, k, v: b.attention(q, k, v, mask, 1.0), Q, K, V)
    np.testing.assert_allclose(found, attend(Q, K[:, :, :3], V[:, :, :3]), 2e-6, 2e-6)


def test_a_rotation_in_numbers() -> None:
    x, cos, sin = (np.array(each, np.float32) for each in ([1, 2, 3, 4], [0, 1, 0, 1], [1, 0, 1, 0]))
    assert compute(lambda b, x: b.rotary_embedding(x, cos, sin, False), x).tolist() == [-3, 2, 1, 4]
    pairs = np.repeat(cos[:2], 2), np.repeat(sin[:2], 2)
    assert compute(lambda b, x: b.rotary_embedding(x, *pairs, True), x).tolist() == [-2, 1, 3, 4]


@pytest.mark.parametrize("interleaved", [True, False])
def test_pairs_turn_like_complex_numbers(interleaved: bool) -> None:
    turns = np.exp(1j * ANGLES)
    twice = np.repeat(ANGLES, 2, -1) if interleaved else np.concatenate([ANGLES, ANGLES], -1)
    cos, sin = np.cos(twice).astype(np.float32), np.sin(twice).astype(np.float32)
    found = need_same_parts(lambda b, x, c, s: b.rotary_embedding(x, c, s, interleaved), Q, cos, sin)
    first, second = (Q[..., ::2], Q[..., 1::2]) if interleaved else (Q[..., :4], Q[..., 4:])
    expected = (first + 1j * second) * turns
    parts = [expected.real, expected.imag]
    whole = np.stack(parts, -1).reshape(Q.shape) if interleaved else np.concatenate(parts, -1)
    np.testing.assert_allclose(found, whole, 2e-6, 2e-6)


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINES)
def test_engines_compute_alike(name: str) -> None:
    mask, cos, sin = normal(3, 5), normal(3, 8), normal(8)
    need_same_on(name, lambda b, q, k, v: b.attention(q, k, v, mask, 0.3), Q, K, V)
    need_same_on(name, plain, Q[0], K[0], V[0])
    need_same_on(name, lambda b, x: b.rotary_embedding(x, cos, sin, False), Q)
    need_same_on(name, lambda b, x: b.rotary_embedding(x, cos, sin, True), Q)


def test_float16_is_computed_in_float32() -> None:
    query, key, value = (each.astype(np.float16) for each in (Q, K, V))
    found = need_same_parts(plain, query, key, value, bound=0)
    np.testing.assert_allclose(found, attend(query, key, value), 1e-3, 1e-3)


def plain(b: Any, *heads: Any) -> Any:
    return b.attention(*heads, None, 1.0)


@pytest.mark.parametrize(
    ("make", "inputs", "message"),
    [
        (plain, (Q, K[:1], V), "key has leading dimensions"),
        (plain, (Q, K[..., :7], V), r"key has shape .* must be \[2, 2, 5, 8"),
        (plain, (Q, K, V[:, :, :4]), "value has shape"),
        (lambda b, *x: b.attention(*x, np.ones((1, 2, 2, 3, 5), np.float32), 1.0), (Q, K, V), "mask has rank 5"),
        (lambda b, q, k, v: b.attention(q, k, v, np.ones(4, np.float32), 1.0), (Q, K, V), r"mask of shape \[4\]"),
        (lambda b, x: b.rotary_embedding(x, x, x, False), (Q[..., :7],), "do not form pairs"),
        (lambda b, x, c: b.rotary_embedding(x, c, c, False), (Q[0], Q), r"cos has shape"),
    ],
)
def test_wrong_arguments(make: Any, inputs: Any, message: str) -> None:
    with pytest.raises(NnapiError, match=message):
        build(make, inputs)
