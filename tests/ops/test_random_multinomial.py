"""RANDOM_MULTINOMIAL."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from tests.ops.recurrent_cases import quickly
from tests.single import run_single, scalar


def draw(logits: Any, count: int, seeds: tuple[int, ...] = (1, 2), dtype: str = "float32") -> Any:
    inputs = [
        (tensor(dtype, np.shape(logits)), logits),
        scalar(OperandCode.INT32, count),
        (tensor("int32", np.shape(seeds)), seeds),
    ]
    (samples,) = run_single(Op.RANDOM_MULTINOMIAL, inputs, [tensor("int32")])
    return samples


def test_frequencies() -> None:
    # odds of 1 : 3 and, in the second row, 2 : 1 : 1
    logits = np.log([[1e-30, 1, 3], [50, 25, 25]])  # type: ignore[arg-type]
    samples = draw(logits, 20_000)
    assert samples.shape == (2, 20_000)
    assert samples.dtype == np.int32
    shares = [np.bincount(row, minlength=3) / 20_000 for row in samples]
    np.testing.assert_allclose(shares, [[0, 0.25, 0.75], [0.5, 0.25, 0.25]], atol=0.015)


@quickly
@given(st.integers(1, 3), st.integers(1, 6), st.sampled_from(["float32", "float16"]), st.integers(0, 2**31 - 1))
def test_shares_are_a_softmax(rows: int, classes: int, dtype: str, seed: int) -> None:
    logits = np.random.default_rng(seed).normal(0, 2, (rows, classes)).astype(dtype)
    samples = draw(logits, 4000, (seed, 1), dtype)
    weights = np.exp(logits.astype(np.float64))
    for row, want in zip(samples, weights / weights.sum(-1, keepdims=True), strict=True):
        # five standard deviations of a share of 4000 samples
        assert (np.abs(np.bincount(row, minlength=classes) / 4000 - want) < 0.04).all()


def test_seeds() -> None:
    logits = np.zeros((2, 100))
    first, again = draw(logits, 50, (3, -4)), draw(logits, 50, (3, -4))
    np.testing.assert_array_equal(first, again)
    assert (first[0] != first[1]).any()
    for other in ((-4, 3), (3, 4), (0, 1)):
        assert (draw(logits, 50, other) != first).any()
    assert (draw(logits, 50, (0, 0)) != draw(logits, 50, (0, 0))).any()


def test_logits_that_are_not_finite_get_no_weight() -> None:
    samples = draw([[np.nan, 0, -np.inf, 0, np.inf], [np.inf, 1e30, 0, 0, np.nan]], 1000)
    assert set(samples[0]) == {1, 3}
    assert set(samples[1]) == {1}


@pytest.mark.parametrize(
    ("logits", "count", "seeds", "message"),
    [
        ([[0, 0]], 0, (1, 2), "sample_count is 0, must be above 0"),
        ([[0, 0]], 5, (1, 2, 3), "seeds has shape [3], must be [2]"),
        ([0, 0], 5, (1, 2), "logits has rank 1, must have rank 2"),
    ],
)
def test_refusals(logits: list[Any], count: int, seeds: tuple[int, ...], message: str) -> None:
    with pytest.raises(OpFailedError, match=re.escape(message)):
        draw(logits, count, seeds)
