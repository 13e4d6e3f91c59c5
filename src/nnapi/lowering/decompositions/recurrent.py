"""LSTM, RNN, their sequences and SVDF by products and sums, with unrolled time steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition import CLAMPS, Decomposition, decomposition
from nnapi.lowering.decompositions.activation import clamp
from nnapi.lowering.lower import require
from nnapi.model.builder import Tensor
from nnapi.ops.lstm_cell import EPSILON, Options
from nnapi.ops.lstm_parameters import Cell, cell_of

MOST_STEPS = 256
SQUASHED_BY = {0: "", 1: "relu", 3: "relu6", 4: "tanh", 6: "logistic"}
States = tuple[Tensor, ...]
Step = Callable[[Tensor, Tensor | None, States], States]
"""From the input at one time, the auxiliary input and the states to the next states, the output first."""


def apply(b: Decomposition, kind: str, x: Tensor) -> Tensor:
    result: Tensor = getattr(b, kind)(x) if kind else x
    return result


def product(b: Decomposition, x: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    return b.fully_connected(x, weights, b.zeros(weights.shape[0]) if bias is None else bias, 0)


# One step


def lstm_step(
    b: Decomposition, cell: Cell[Tensor], options: Options, x: Tensor, aux: Tensor | None, states: States
) -> States:
    h, c = states
    squash = SQUASHED_BY[options.activation]
    forget = _gate(b, cell, "forget", "logistic", x, aux, h, c)
    if cell.is_coupled:
        entry = b.sub(b.number(forget, 1), forget, 0)
    else:
        entry = _gate(b, cell, "input", "logistic", x, aux, h, c)
    candidate = _gate(b, cell, "cell", squash, x, aux, h, c)
    c = b.add(b.mul(forget, c, 0), b.mul(entry, candidate, 0), 0)
    if options.cell_clip:
        c = clamp(b, c, -options.cell_clip, options.cell_clip)
    h = b.mul(_gate(b, cell, "output", "logistic", x, aux, h, c), apply(b, squash, c), 0)
    if cell.projection is not None:
        h = product(b, h, cell.projection, cell.projection_bias)
        if options.proj_clip:
            h = clamp(b, h, -options.proj_clip, options.proj_clip)
    return h, c


def _gate(
    b: Decomposition, cell: Cell[Tensor], gate: str, squash: str, x: Tensor, aux: Tensor | None, h: Tensor, c: Tensor
) -> Tensor:
    bias = cell.bias[gate]
    z = product(b, x, cell.input[gate], None if cell.norm else bias)
    z = b.add(z, product(b, h, cell.recurrent[gate]), 0)
    if aux is not None and cell.aux:
        z = b.add(z, product(b, aux, cell.aux[gate]), 0)
    if gate in cell.peephole:
        z = b.add(z, b.mul(c, cell.peephole[gate], 0), 0)
    if cell.norm:
        z = b.add(b.mul(_normalize(b, z), cell.norm[gate], 0), bias, 0)
    return apply(b, squash, z)


def _normalize(b: Decomposition, z: Tensor) -> Tensor:
    """Shift and scale rows to mean 0 and variance 1."""
    z = b.sub(z, b.mean(z, [1], 1), 0)
    variance = b.mean(b.mul(z, z, 0), [1], 1)
    return b.mul(z, b.rsqrt(b.add(variance, b.number(z, EPSILON), 0)), 0)


def rnn_step(
    b: Decomposition, operands: Mapping[str, Any], activation: int, x: Tensor, aux: Tensor | None, states: States
) -> States:
    (h,) = states
    z = product(b, x, operands["weights"], operands["bias"])
    z = b.add(z, product(b, h, operands["recurrent_weights"]), 0)
    if aux is not None and operands.get("aux_weights") is not None:
        z = b.add(z, product(b, aux, operands["aux_weights"]), 0)
    return (apply(b, CLAMPS.get(FuseCode(activation), ""), z),)


# Along time


def over_time(
    b: Decomposition,
    step: Step,
    x: Tensor,
    aux: Tensor | None,
    states: States,
    time_major: bool,
    backward: bool = False,
) -> tuple[Tensor, States]:
    axis = 0 if time_major else 1
    count = x.shape[axis]
    require(count <= MOST_STEPS, f"its {count} steps are too many to write out")
    outputs: list[Tensor] = []
    for time in reversed(range(count)) if backward else range(count):
        beside = None if aux is None else _at(b, aux, axis, time)
        states = step(_at(b, x, axis, time), beside, states)
        rows = states[0].shape
        outputs.append(b.restate(states[0], (1, *rows) if time_major else (rows[0], 1, rows[1])))
    return b.join(outputs[::-1] if backward else outputs, axis), states


def _at(b: Decomposition, sequence: Tensor, axis: int, time: int) -> Tensor:
    return b.restate(b.block(sequence, axis, time, 1), (sequence.shape[1 - axis], sequence.shape[2]))


# Operations


def _options(arguments: Mapping[str, Any]) -> Options:
    return Options(arguments["activation"], arguments["cell_clip"], arguments["proj_clip"])


@decomposition(Op.LSTM)
def lstm(
    b: Decomposition, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **operands: Any
) -> Sequence[Tensor]:
    """The scratch buffer is unspecified; here it is zeros."""
    states = output_state_in, cell_state_in
    h, c = lstm_step(b, cell_of(operands), _options(operands), input, None, states)
    gates = b.call.results[0].dimensions[1] // c.shape[1]
    nothing = b.mul(c, b.number(c, 0), 0)
    return b.join([nothing] * gates, 1), h, c, h


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    b: Decomposition, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, time_major: bool, **operands: Any
) -> Sequence[Tensor]:
    step = partial(lstm_step, b, cell_of(operands), _options(operands))
    out, states = over_time(b, step, input, None, (output_state_in, cell_state_in), time_major)
    return (out, *states)[: len(b.call.results)]


@decomposition(Op.BIDIRECTIONAL_SEQUENCE_LSTM)
def both_directions_lstm(b: Decomposition, **operands: Any) -> Sequence[Tensor]:
    cells: list[Cell[Tensor]] = [cell_of(operands, prefix) for prefix in ("fw_", "bw_")]
    steps = [partial(lstm_step, b, cell, _options(operands)) for cell in cells]
    names = ("activation_state_in", "cell_state_in")
    states = [tuple(operands[f"{way}_{name}"] for name in names) for way in ("fw", "bw")]
    return _both(b, steps, bool(cells[0].aux), states, **operands)


@decomposition(Op.RNN)
def rnn(b: Decomposition, input: Tensor, hidden_in: Tensor, activation: int, **operands: Tensor) -> Sequence[Tensor]:
    return rnn_step(b, operands, activation, input, None, (hidden_in,)) * 2


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(
    b: Decomposition, input: Tensor, hidden_in: Tensor, activation: int, time_major: int, **operands: Tensor
) -> Sequence[Tensor]:
    step = partial(rnn_step, b, operands, activation)
    out, states = over_time(b, step, input, None, (hidden_in,), bool(time_major))
    return (out, *states)[: len(b.call.results)]


@decomposition(Op.BIDIRECTIONAL_SEQUENCE_RNN)
def both_directions_rnn(b: Decomposition, activation: int, **operands: Any) -> Sequence[Tensor]:
    steps, states = [], []
    for way in ("fw_", "bw_"):
        own = {name.removeprefix(way): operand for name, operand in operands.items() if name.startswith(way)}
        steps.append(partial(rnn_step, b, own, activation))
        states.append((own["hidden_in"],))
    return _both(b, steps, operands["fw_aux_weights"] is not None, states, **operands)


def _both(
    b: Decomposition,
    steps: Sequence[Step],
    weighted: bool,
    states: Sequence[States],
    *,
    input: Tensor,
    aux_input: Tensor | None,
    time_major: bool,
    merge_outputs: bool,
    **_: Any,
) -> Sequence[Tensor]:
    """An auxiliary input without weights is the backward cell's input; one with weights belongs to both cells."""
    backward_x = input if aux_input is None or weighted else aux_input
    beside = aux_input if weighted else None
    forward, first = over_time(b, steps[0], input, beside, states[0], time_major)
    backward, last = over_time(b, steps[1], backward_x, beside, states[1], time_major, backward=True)
    outputs = [b.join([forward, backward], 2)] if merge_outputs else [forward, backward]
    return [*outputs, *first, *last][: len(b.call.results)]


@decomposition(Op.SVDF)
def svdf(
    b: Decomposition,
    input: Tensor,
    weights_feature: Tensor,
    weights_time: Tensor,
    bias: Tensor | None,
    state_in: Tensor,
    rank: int,
    activation: int,
) -> Sequence[Tensor]:
    """Append the features of this input to the state, which is shifted afterwards."""
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = b.restate(product(b, input, weights_feature), (batch, filters, 1))
    nothing = b.mul(features, b.number(features, 0), 0)
    state, after = features, nothing
    if memory > 1:
        earlier = b.block(b.restate(state_in, (batch, filters, memory)), 2, 0, memory - 1)
        state = b.join([earlier, features], 2)
        after = b.join([b.block(state, 2, 1, memory - 1), nothing], 2)
    weighted = b.mean(b.mul(state, weights_time, 0), [2], 1)
    ranks = b.mean(b.restate(weighted, (batch, filters // rank, rank)), [2], 1)
    total = b.mul(ranks, b.number(ranks, memory * rank), 0)
    out = b.restate(total, (batch, filters // rank))
    if bias is not None:
        out = b.add(out, bias, 0)
    return b.restate(after, state_in.shape), apply(b, CLAMPS.get(FuseCode(activation), ""), out)
