"""Composites over time. In floats, products and sums; one product computes the input's share for all steps."""

from collections.abc import Sequence
from typing import Any

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.activation import clamp
from nnapi.lowering.decompositions.recurrent import SQUASHED_BY, apply_activation, fully_connect
from nnapi.lowering.decompositions.recurrent_time import Operands, States, Step, from_rows, in_rows, over_time
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite

PEEPED = ("input", "output", "forget")
"""The gates with peepholes, in their order."""


def _squash(b: Decomposition, activation: int, clip: float, x: Tensor) -> Tensor:
    """Apply an activation to clipped sums."""
    return apply_activation(b, SQUASHED_BY[activation], clamp(b, x, -clip, clip) if clip else x)


def _run(b: Decomposition, step: Step, operands: Operands, products: Sequence[Tensor], states: States) -> list[Tensor]:
    given = b.arguments()
    out, last = over_time(
        b, step, operands, products, states, lengths=given["sequence_lengths"], reverse=given["reverse"]
    )
    return [from_rows(b, out, states[0].shape[0], given["time_major"]), *last]


@decomposition(Composite.GRU)
def gru(
    b: Decomposition,
    input: Tensor,
    weights: Tensor,
    recurrent_weights: Tensor,
    bias: Tensor,
    recurrent_bias: Tensor,
    hidden_in: Tensor,
    time_major: bool,
    **others: Any,
) -> list[Tensor]:
    units, x = hidden_in.shape[1], in_rows(b, input, time_major)
    parts = {"gate": (0, 2 * units), "candidate": (2 * units, units)}
    products = [fully_connect(b, x, b.block(weights, 0, *part), b.block(bias, 0, *part)) for part in parts.values()]
    operands = others | {f"{name}_weights": b.block(recurrent_weights, 0, *part) for name, part in parts.items()}
    operands |= {f"{name}_bias": b.block(recurrent_bias, 0, *part) for name, part in parts.items()}
    return _run(b, gru_step, operands, products, (hidden_in,))


def gru_step(b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
    (gates, candidate), (h,) = rows, states

    def remember(name: str, x: Tensor) -> Tensor:
        return fully_connect(b, x, operands[f"{name}_weights"], operands[f"{name}_bias"])

    both = _squash(b, operands["gate_activation"], operands["clip"], gates + remember("gate", h))
    update, reset = b.split(both, 1, 2)
    late = operands["linear_before_reset"]
    kept = reset * remember("candidate", h) if late else remember("candidate", reset * h)
    new = _squash(b, operands["activation"], operands["clip"], candidate + kept)
    return (new + update * (h - new),)


@decomposition(Composite.RNN_SEQUENCE)
def rnn(
    b: Decomposition, input: Tensor, weights: Tensor, bias: Tensor, hidden_in: Tensor, time_major: bool, **others: Any
) -> list[Tensor]:
    return _run(b, rnn_step, others, [fully_connect(b, in_rows(b, input, time_major), weights, bias)], (hidden_in,))


def rnn_step(b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
    (x,), (h,) = rows, states
    z = x + fully_connect(b, h, operands["recurrent_weights"])
    return (_squash(b, operands["activation"], operands["clip"], z),)


@decomposition(Composite.LSTM_SEQUENCE)
def lstm(
    b: Decomposition,
    input: Tensor,
    weights: Tensor,
    bias: Tensor,
    peepholes: Tensor | None,
    hidden_in: Tensor,
    cell_state_in: Tensor,
    time_major: bool,
    **others: Any,
) -> list[Tensor]:
    units = hidden_in.shape[1]
    if peepholes is not None:
        others |= {gate: b.block(peepholes, 0, i * units, units) for i, gate in enumerate(PEEPED)}
    product = fully_connect(b, in_rows(b, input, time_major), weights, bias)
    return _run(b, lstm_step, others, [product], (hidden_in, cell_state_in))


def lstm_step(b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
    (x,), (h, c) = rows, states
    input, output, forget, cell = b.split(x + fully_connect(b, h, operands["recurrent_weights"]), 1, 4)

    def squash(name: str, z: Tensor, memory: Tensor) -> Tensor:
        peephole = operands.get(name)
        z = z if peephole is None else z + memory * peephole
        return _squash(b, operands["gate_activation"], operands["clip"], z)

    entry = squash("input", input, c)
    kept = 1 - entry if operands["input_forget"] else squash("forget", forget, c)
    candidate = _squash(b, operands["cell_activation"], operands["clip"], cell)
    c = kept * c + entry * candidate
    return squash("output", output, c) * apply_activation(b, SQUASHED_BY[operands["hidden_activation"]], c), c


@decomposition(Composite.QUANTIZED_LSTM_SEQUENCE)
def quantized_lstm(
    b: Decomposition, input: Tensor, output_in: Tensor, cell_state_in: Tensor, time_major: bool, **others: Any
) -> list[Tensor]:
    rows = in_rows(b, input, time_major)
    out, states = over_time(b, quantized_lstm_step, others, [rows], (output_in, cell_state_in))
    return [from_rows(b, out, output_in.shape[0], time_major), *states]


def quantized_lstm_step(b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
    (x,), (h, c) = rows, states
    after = b.quantized_lstm(x, output_in=h, cell_state_in=c, **operands, out=[h.type, c.type, h.type])
    return after[:2]
