"""Estimate the precision that the composite recurrent cells may lose by the last digits of their gates."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.ops.lstm_loss import APART
from nnapi.ops.sequence_cells import plan_gru, plan_lstm, run_cell

SEQUENCE = "sequence_lengths", "reverse", "time_major"
OUTSIDE = "input", "weights", "bias", "hidden_in", "cell_state_in", *SEQUENCE


def by_gates(given: Mapping[str, Any], outputs: Sequence[Array], rounding: float) -> list[Array]:
    """Return the loss of a GRU or an LSTM_SEQUENCE, whose gates keep a part of the state in each step."""
    values = {name: _convert(value) for name, value in given.items()}
    cell = {name: value for name, value in values.items() if name not in OUTSIDE}
    states = [values[name] for name in ("hidden_in", "cell_state_in") if name in values]
    step = _step_gru(cell, rounding) if len(states) == 1 else _step_lstm(cell, rounding)
    _, *last = run_cell(
        step,
        values["input"],
        values["weights"],
        values["bias"],
        (*states, np.zeros_like(states[0]), np.zeros_like(states[0])),
        *(values[name] for name in SEQUENCE),
    )
    most = float(last[-1].max(initial=0))
    return [np.full(array.shape, most) for array in outputs]


def _convert(value: Any) -> Any:
    if value is None or value.ndim == 0:
        return None if value is None else value.item()
    return value.astype(np.float64) if value.dtype.kind == "f" else value


def _step_gru(cell: Mapping[str, Any], rounding: float) -> Any:
    find_gates = plan_gru(**cell)

    def step(x: Array, _: None, h: Array, lost: Array, most: Array) -> tuple[Array, ...]:
        update, new = find_gates(x, h)
        lost = np.abs(update) * (lost + APART * rounding * (np.abs(new) + np.abs(h)))
        return (1 - update) * new + update * h, lost, np.maximum(lost, most)

    return step


def _step_lstm(cell: Mapping[str, Any], rounding: float) -> Any:
    find_gates = plan_lstm(**cell)

    def step(x: Array, _: None, h: Array, c: Array, lost: Array, most: Array) -> tuple[Array, ...]:
        entry, kept, candidate, show = find_gates(x, h, c)
        from_entry = (1 if cell["input_forget"] else np.abs(entry)) * np.abs(candidate)
        lost = np.abs(kept) * lost + APART * rounding * (np.abs(kept * c) + from_entry)
        c = kept * c + entry * candidate
        return show(c), c, lost, np.maximum(lost, most)

    return step
