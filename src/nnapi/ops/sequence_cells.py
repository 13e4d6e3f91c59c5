"""The gates of recurrent cells on float values, with ONNX's equations, and the loop over a sequence."""

from collections.abc import Callable

import numpy as np

from nnapi.model.operand import Array
from nnapi.ops.lstm_cell import ACTIVATIONS, clip
from nnapi.ops.recurrent_sequence import by_time, over_time


def run_cell(
    step: Callable[..., tuple[Array, ...]],
    input: Array,
    weights: Array,
    bias: Array,
    states: tuple[Array, ...],
    sequence_lengths: Array | None,
    reverse: bool,
    time_major: bool,
) -> list[Array]:
    """Run a cell on the product of the input and its weights, which is computed once for all steps."""
    x = by_time(input, time_major)
    products = (x.reshape(-1, x.shape[2]) @ weights.T + bias).reshape(*x.shape[:2], len(bias))
    outputs, last = over_time(step, products, None, states, reverse, sequence_lengths)
    return [by_time(outputs, time_major), *last]


def squash_clipped(activation: int, limit: float) -> Callable[[Array], Array]:
    """Return an activation of clipped sums."""
    return lambda x: ACTIVATIONS[activation](clip(x, limit))


def plan_gru(
    recurrent_weights: Array,
    recurrent_bias: Array,
    gate_activation: int,
    activation: int,
    clip: float,
    linear_before_reset: bool,
) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Return a function of input products and state that returns the update gate and the candidate."""
    units = recurrent_weights.shape[1]
    gates, candidate = recurrent_weights[: 2 * units].T, recurrent_weights[2 * units :].T
    gate_bias, candidate_bias = recurrent_bias[: 2 * units], recurrent_bias[2 * units :]
    squash_gate, squash = squash_clipped(gate_activation, clip), squash_clipped(activation, clip)

    def find_gates(x: Array, h: Array) -> tuple[Array, Array]:
        update, reset = np.split(squash_gate(x[:, : 2 * units] + h @ gates + gate_bias), 2, 1)
        if linear_before_reset:
            remembered = reset * (h @ candidate + candidate_bias)
        else:
            remembered = (reset * h) @ candidate + candidate_bias
        return update, squash(x[:, 2 * units :] + remembered)

    return find_gates


def plan_lstm(
    recurrent_weights: Array,
    peepholes: Array | None,
    gate_activation: int,
    cell_activation: int,
    hidden_activation: int,
    clip: float,
    input_forget: bool,
) -> Callable[[Array, Array, Array], tuple[Array, Array, Array, Callable[[Array], Array]]]:
    """Return a function of input products and states that returns input gate, forget gate, candidate and the function
    of the next cell state that gives the output."""
    squash_gate, squash_cell = squash_clipped(gate_activation, clip), squash_clipped(cell_activation, clip)
    peep_input, peep_output, peep_forget = (0, 0, 0) if peepholes is None else np.split(peepholes, 3)

    def find_gates(x: Array, h: Array, c: Array) -> tuple[Array, Array, Array, Callable[[Array], Array]]:
        input, output, forget, cell = np.split(x + h @ recurrent_weights.T, 4, 1)
        entry = squash_gate(input + peep_input * c)
        kept = 1 - entry if input_forget else squash_gate(forget + peep_forget * c)
        return (
            entry,
            kept,
            squash_cell(cell),
            lambda c: squash_gate(output + peep_output * c) * ACTIVATIONS[hidden_activation](c),
        )

    return find_gates
