"""LSTM."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError
from tests.ops.recurrent_cases import (
    assert_near,
    kinds,
    lstm_by_hand,
    options,
    quickly,
    run_named,
    stored,
    weights,
)

ONE_UNIT = {
    "input": [[1]],
    **{f"input_to_{gate}_weights": [[0]] for gate in ("forget", "output")},
    "input_to_cell_weights": [[2]],
    **{f"recurrent_to_{gate}_weights": [[0]] for gate in ("forget", "cell", "output")},
    "forget_gate_bias": [math.log(3)],  # forgets a quarter
    "cell_bias": [1],
    "output_gate_bias": [0],  # lets out half
    "output_state_in": [[0]],
    "cell_state_in": [[8]],
    "activation": 0,
    "cell_clip": 0,
    "proj_clip": 0,
}


def test_literal() -> None:
    # c = 3/4 · 8 + 1/4 · (2 · 1 + 1) = 6.75; h = 1/2 · 6.75
    scratch, h, c, out = run_named(Op.LSTM, ONE_UNIT, 4, length=23)
    assert scratch.shape == (1, 3)
    np.testing.assert_allclose((h, c, out), [[[3.375]], [[6.75]], [[3.375]]], rtol=1e-6)


def test_clips_and_projection() -> None:
    # c = min(6.75, 4); h = min(-3 · 2 - 1, …) clipped at 5
    values = ONE_UNIT | {"cell_clip": 4, "proj_clip": 5, "projection_weights": [[-3]], "projection_bias": [-1]}
    _, h, c, out = run_named(Op.LSTM, values, 4, length=23)
    np.testing.assert_allclose((h, c, out), [[[-5]], [[4]], [[-5]]], rtol=1e-6)


def test_the_output_gate_sees_the_new_state() -> None:
    values = ONE_UNIT | {"cell_to_forget_weights": [0], "cell_to_output_weights": [math.log(3) / 6.75]}
    _, h, _, _ = run_named(Op.LSTM, values, 4)
    np.testing.assert_allclose(h, [[6.75 * 3 / 4]], rtol=1e-6)


@quickly
@given(
    kinds(),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 4),
    st.sampled_from(["float32", "float16"]),
    st.integers(0, 2**32),
)
def test_against_plain_floats(kind: Any, batch: Any, input_size: Any, units: Any, dtype: str, seed: Any) -> None:
    random = np.random.default_rng(seed)
    if kind["norm"]:
        units += 4  # few units of nearly equal sums make the quotient by their deviation inexact
    w, output_size = weights(random, kind, input_size, units)
    x, h, c = (random.uniform(-1, 1, (batch, size)) for size in (input_size, output_size, units))
    given = w | options(kind) | {"input": x, "output_state_in": h, "cell_state_in": c}
    scratch, *results = run_named(Op.LSTM, given, 4, dtype)
    steps = [
        lstm_by_hand(w, kind, *(stored(row, dtype) for row in rows), dtype=dtype)  # type: ignore[misc]
        for rows in zip(x, h, c, strict=True)
    ]
    out, state = (np.array(column) for column in zip(*steps, strict=True))
    assert_near(results, [out, state, out], dtype)
    assert scratch.shape == (batch, units * (3 if kind["coupled"] else 4))


def test_normalization_takes_all_four_operands() -> None:
    with pytest.raises(BadDataError, match="takes 23 or 27 inputs, got 24"):
        run_named(Op.LSTM, ONE_UNIT, 4, length=24)
