"""Estimate the precision that LSTM cells may lose by the last digits of their gates."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.ops.lstm_cell import ACTIVATIONS, gate, lstm_step, sigmoid
from nnapi.ops.lstm_parameters import Cell, cell_of
from nnapi.ops.recurrent_sequence import by_time, link, over_time

APART = 2
"""Permitted difference of two devices' gates in units of the last digit; each may be one unit off."""


def by_gates(given: Mapping[str, Any], results: Mapping[str, Array | None], rounding: float) -> list[Array]:
    """Return the loss of LSTM cells.

    Saturated gates hide perturbed operands, but their last digits add up over the steps. An input gate that is 1 minus
    the forget gate loses digits near 1 at once.
    """
    moved = dict.fromkeys(results, 0.0)
    for direction in ("fw_", "bw_") if "fw_cell_bias" in given else ("",):
        state, output = _lose(_in_float64(cell_of(given, direction)), direction, given, rounding)
        for name in results:
            if name.startswith(direction) or (direction == "bw_" and name == "fw_output"):
                moved[name] = max(moved[name], state if "cell_state" in name else output)
    return [np.full(() if array is None else array.shape, moved[name]) for name, array in results.items()]


def _in_float64(cell: Cell[Array]) -> Cell[Array]:
    def convert(role: Any) -> Any:
        if isinstance(role, dict):
            return {name: array.astype(np.float64) for name, array in role.items()}
        if isinstance(role, np.ndarray):
            return role.astype(np.float64) if role.ndim else role.item()
        return role

    return Cell(**{name: convert(role) for name, role in vars(cell).items()})


def _lose(cell: Cell[Array], direction: str, given: Mapping[str, Any], rounding: float) -> tuple[float, float]:
    """Return the largest loss of any element of a cell's state, and of its output."""

    def step(x: Array, aux: Array | None, h: Array, c: Array, lost: Array, most: Array) -> tuple[Array, ...]:
        forget = gate(cell, "forget", sigmoid, x, aux, h, c)
        entry = np.ones_like(c) if cell.is_coupled else gate(cell, "input", sigmoid, x, aux, h, c)
        candidate = gate(cell, "cell", ACTIVATIONS[cell.activation], x, aux, h, c)
        lost = forget * lost + APART * rounding * (forget * np.abs(c) + entry * np.abs(candidate))
        return *lstm_step(cell, x, aux, h, c), lost, np.maximum(lost, most)

    x, aux = _inputs(cell, direction, given)
    output_state = f"{direction}activation_state_in" if direction else "output_state_in"
    h, c = (given[name].astype(np.float64) for name in (output_state, f"{direction}cell_state_in"))
    _, (*_, most) = over_time(step, x, aux, (h, c, np.zeros_like(c), np.zeros_like(c)))
    state = _clip(most, cell.cell_clip)
    output = state if cell.projection is None else _clip(state @ np.abs(cell.projection).T, cell.proj_clip)
    return float(state.max(initial=0)), float(output.max(initial=0))


def _clip(lost: Array, limit: float) -> Array:
    return np.minimum(lost, 2 * limit) if limit > 0 else lost


def _inputs(cell: Cell[Array], direction: str, given: Mapping[str, Any]) -> tuple[Array, Array | None]:
    """Return a cell's input and auxiliary input in the order in which it reads them: [time, batch, size]."""
    x, aux = given["input"], given.get("aux_input")
    if x.ndim == 2:
        return x[np.newaxis].astype(np.float64), None
    x = by_time(x, given["time_major"]).astype(np.float64)
    if aux is not None:
        aux = by_time(aux, given["time_major"]).astype(np.float64)
    other, aux = link(x, aux, bool(cell.aux))
    if direction != "bw_":
        return x, aux
    return other[::-1], None if aux is None else aux[::-1]
