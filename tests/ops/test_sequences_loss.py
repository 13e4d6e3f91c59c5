"""The rounding error of the composite cells: a gate near 1 loses its last place in each step."""

from typing import Any

import numpy as np
import pytest

from nnapi.testing.random.deviation import estimate_losses

F32 = np.float32
STEPS = 1000


def lose_gru(update: float, steps: int = STEPS) -> float:
    """A GRU whose update gate is sigmoid(update) and whose candidate is 0."""
    zeros, one = np.zeros((3, 1), F32), np.ones((1, 1), F32)
    inputs = [np.ones((steps, 1, 1), F32), zeros, zeros, np.array([update, 0, 0], F32), np.zeros(3, F32), one, None]
    scalars = [np.int32(6), np.int32(4), F32(0), np.bool_(False), np.bool_(False), np.bool_(True)]
    return float(estimate_losses("GRU", [*inputs, *scalars], [np.zeros((steps, 1, 1), F32), one], "fp32")[0].max())


def lose_lstm(forget: float, steps: int = STEPS, lengths: int | None = None) -> float:
    """An LSTM whose forget gate is sigmoid(forget) and whose candidate is 0."""
    zeros, one = np.zeros((4, 1), F32), np.ones((1, 1), F32)
    bias, until = np.array([0, 0, forget, 0], F32), None if lengths is None else np.array([lengths], np.int32)
    inputs = [np.ones((steps, 1, 1), F32), zeros, zeros, bias, None, one, one, until]
    scalars = [np.int32(6), np.int32(4), np.int32(4), F32(0), *np.array([False, False, True])]
    results = [np.zeros((steps, 1, 1), F32), one, one]
    return float(estimate_losses("LSTM_SEQUENCE", [*inputs, *scalars], results, "fp32")[0].max())


@pytest.mark.parametrize("lose", [lose_gru, lose_lstm])
def test_a_state_that_is_kept_loses_the_last_place_of_its_gate_in_each_step(lose: Any) -> None:
    state = F32(1)
    for _ in range(STEPS):
        state = F32(state * np.nextafter(F32(1), F32(0)))
    assert 1 - float(state) <= lose(30.0) <= 3 * (1 - float(state))


@pytest.mark.parametrize("lose", [lose_gru, lose_lstm])
def test_a_state_that_is_forgotten_loses_no_more(lose: Any) -> None:
    assert lose(0.0) == lose(0.0, steps=3) < 1e-6


def test_nothing_is_lost_after_the_end_of_a_sequence() -> None:
    assert lose_lstm(30.0, lengths=3) == pytest.approx(lose_lstm(30.0, steps=3))
