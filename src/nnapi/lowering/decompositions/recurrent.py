"""Recurrent cells as products and sums, step by step along time. NNAPI's cells get a state and give the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.lower import require
from nnapi.lowering.sketch import Sketch, decomposition
from nnapi.model.builder import Tensor
from nnapi.model.operand import Shape
from nnapi.ops.lstm_cell import EPSILON, Options
from nnapi.ops.lstm_parameters import Cell, cell_of

MOST_STEPS = 256
"""Time steps that are written out at most."""
SQUASHED_BY = {0: "", 1: "RELU", 3: "RELU6", 4: "TANH", 6: "LOGISTIC"}
"""What an LSTM's own activation codes mean."""
LIMITED_BY = {
    FuseCode.FUSED_NONE: "",
    FuseCode.FUSED_RELU: "RELU",
    FuseCode.FUSED_RELU1: "RELU1",
    FuseCode.FUSED_RELU6: "RELU6",
}


States = tuple[Tensor, ...]
Step = Callable[[Tensor, Tensor | None, States], States]
"""From the input at one time, the auxiliary input and the states to the next states, the output first."""


# One step


def lstm_step(s: Sketch, cell: Cell[Tensor], options: Options, x: Tensor, aux: Tensor | None, states: States) -> States:
    """The next output and cell state."""
    h, c = states
    squash = SQUASHED_BY[options.activation]
    forget = _gate(s, cell, "forget", "LOGISTIC", x, aux, h, c)
    if cell.is_coupled:
        entry = s.combine("SUB", s.number(forget, 1), forget)
    else:
        entry = _gate(s, cell, "input", "LOGISTIC", x, aux, h, c)
    candidate = _gate(s, cell, "cell", squash, x, aux, h, c)
    kept, gained = s.combine("MUL", forget, c), s.combine("MUL", entry, candidate)
    c = s.combine("ADD", kept, gained)
    if options.cell_clip:
        c = s.bound(c, options.cell_clip)
    shown = s.map(squash, c) if squash else c
    h = s.combine("MUL", _gate(s, cell, "output", "LOGISTIC", x, aux, h, c), shown)
    if cell.projection is not None:
        h = s.product(h, cell.projection, cell.projection_bias)
        if options.proj_clip:
            h = s.bound(h, options.proj_clip)
    return h, c


def _gate(
    s: Sketch, cell: Cell[Tensor], gate: str, squash: str, x: Tensor, aux: Tensor | None, h: Tensor, c: Tensor
) -> Tensor:
    bias = cell.bias[gate]
    z = s.product(x, cell.input[gate], None if cell.norm else bias)
    z = s.combine("ADD", z, s.product(h, cell.recurrent[gate], None))
    if aux is not None and cell.aux:
        z = s.combine("ADD", z, s.product(aux, cell.aux[gate], None))
    if gate in cell.peephole:
        z = s.combine("ADD", z, s.combine("MUL", c, cell.peephole[gate]))
    if cell.norm:
        z = s.combine("ADD", s.combine("MUL", _normalise(s, z), cell.norm[gate]), bias)
    return s.map(squash, z) if squash else z


def _normalise(s: Sketch, z: Tensor) -> Tensor:
    """Rows shifted and scaled to mean 0 and variance 1."""
    z = s.combine("SUB", z, s.average(z))
    variance = s.average(s.combine("MUL", z, z))
    return s.combine("MUL", z, s.map("RSQRT", s.combine("ADD", variance, s.number(z, EPSILON))))


def rnn_step(
    s: Sketch, operands: Mapping[str, Any], activation: int, x: Tensor, aux: Tensor | None, states: States
) -> States:
    """The next output, which is the next state too."""
    (h,) = states
    z = s.product(x, operands["weights"], operands["bias"])
    z = s.combine("ADD", z, s.product(h, operands["recurrent_weights"], None))
    if aux is not None and operands.get("aux_weights") is not None:
        z = s.combine("ADD", z, s.product(aux, operands["aux_weights"], None))
    limit = LIMITED_BY[FuseCode(activation)]
    return (s.map(limit, z) if limit else z,)


# Along time


def over_time(
    s: Sketch, step: Step, x: Tensor, aux: Tensor | None, states: States, time_major: bool, backward: bool = False
) -> tuple[Tensor, States]:
    """A cell run along time: all its outputs, in the order of the input, and the last states."""
    axis = 0 if time_major else 1
    count = x.shape[axis]
    require(count <= MOST_STEPS, f"its {count} steps are too many to write out")
    outputs: list[Tensor] = []
    for time in reversed(range(count)) if backward else range(count):
        beside = None if aux is None else _at(s, aux, axis, time)
        states = step(_at(s, x, axis, time), beside, states)
        rows = states[0].shape
        outputs.append(s.restate(states[0], (1, *rows) if time_major else (rows[0], 1, rows[1])))
    ordered = outputs[::-1] if backward else outputs
    return ordered[0] if count == 1 else s.join(ordered, axis), states


def _at(s: Sketch, sequence: Tensor, axis: int, time: int) -> Tensor:
    """The input [batch, size] at one time."""
    shape = list(sequence.shape)
    begin = [0, 0, 0]
    begin[axis], shape[axis] = time, 1
    piece = _cut(s, sequence, begin, tuple(shape))
    return s.restate(piece, (sequence.shape[1 - axis], sequence.shape[2]))


# Operations


@decomposition(Op.LSTM)
def lstm(
    s: Sketch,
    input: Tensor,
    output_state_in: Tensor,
    cell_state_in: Tensor,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    **operands: Tensor | None,
) -> Sequence[Tensor]:
    """Of the scratch buffer nothing is promised: it comes out as zeros."""
    options = Options(activation, cell_clip, proj_clip)
    h, c = lstm_step(s, cell_of(operands), options, input, None, (output_state_in, cell_state_in))
    gates = s.call.results[0].dimensions[1] // c.shape[1]
    nothing = s.combine("MUL", c, s.number(c, 0))
    return s.join([nothing] * gates, 1), h, c, h


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    s: Sketch,
    input: Tensor,
    output_state_in: Tensor,
    cell_state_in: Tensor,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    time_major: bool,
    **operands: Tensor | None,
) -> Sequence[Tensor]:
    step = partial(lstm_step, s, cell_of(operands), Options(activation, cell_clip, proj_clip))
    out, states = over_time(s, step, input, None, (output_state_in, cell_state_in), time_major)
    return (out, *states)[: len(s.call.results)]


@decomposition(Op.BIDIRECTIONAL_SEQUENCE_LSTM)
def both_directions_lstm(
    s: Sketch,
    input: Tensor,
    aux_input: Tensor | None,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    merge_outputs: bool,
    time_major: bool,
    **operands: Any,
) -> Sequence[Tensor]:
    options = Options(activation, cell_clip, proj_clip)
    cells: list[Cell[Tensor]] = [cell_of(operands, prefix) for prefix in ("fw_", "bw_")]
    steps = [partial(lstm_step, s, cell, options) for cell in cells]
    names = ("activation_state_in", "cell_state_in")
    states = [tuple(operands[f"{way}_{name}"] for name in names) for way in ("fw", "bw")]
    return _both(s, steps, input, aux_input, bool(cells[0].aux), states, time_major, merge_outputs)


@decomposition(Op.RNN)
def rnn(s: Sketch, input: Tensor, hidden_in: Tensor, activation: int, **operands: Tensor) -> Sequence[Tensor]:
    return rnn_step(s, operands, activation, input, None, (hidden_in,)) * 2


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(
    s: Sketch, input: Tensor, hidden_in: Tensor, activation: int, time_major: int, **operands: Tensor
) -> Sequence[Tensor]:
    step = partial(rnn_step, s, operands, activation)
    out, states = over_time(s, step, input, None, (hidden_in,), bool(time_major))
    return (out, *states)[: len(s.call.results)]


@decomposition(Op.BIDIRECTIONAL_SEQUENCE_RNN)
def both_directions_rnn(
    s: Sketch,
    input: Tensor,
    aux_input: Tensor | None,
    activation: int,
    time_major: bool,
    merge_outputs: bool,
    **operands: Any,
) -> Sequence[Tensor]:
    steps, states = [], []
    for way in ("fw_", "bw_"):
        own = {name.removeprefix(way): operand for name, operand in operands.items() if name.startswith(way)}
        steps.append(partial(rnn_step, s, own, activation))
        states.append((own["hidden_in"],))
    weighted = operands["fw_aux_weights"] is not None
    return _both(s, steps, input, aux_input, weighted, states, time_major, merge_outputs)


def _both(
    s: Sketch,
    steps: Sequence[Step],
    x: Tensor,
    aux: Tensor | None,
    weighted: bool,
    states: Sequence[States],
    time_major: bool,
    merge: bool,
) -> Sequence[Tensor]:
    """An auxiliary input without weights is the backward cell's input; one with weights stands beside that of both."""
    backward_x = x if aux is None or weighted else aux
    beside = aux if weighted else None
    forward, first = over_time(s, steps[0], x, beside, states[0], time_major)
    backward, last = over_time(s, steps[1], backward_x, beside, states[1], time_major, backward=True)
    outputs = [s.join([forward, backward], 2)] if merge else [forward, backward]
    return [*outputs, *first, *last][: len(s.call.results)]


@decomposition(Op.SVDF)
def svdf(
    s: Sketch,
    input: Tensor,
    weights_feature: Tensor,
    weights_time: Tensor,
    bias: Tensor | None,
    state_in: Tensor,
    rank: int,
    activation: int,
) -> Sequence[Tensor]:
    """The features of this input take the last place of the state, which moves up afterwards."""
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = s.restate(s.product(input, weights_feature, None), (batch, filters, 1))
    state = features
    if memory > 1:
        earlier = _cut(s, s.restate(state_in, (batch, filters, memory)), (0, 0, 0), (batch, filters, memory - 1))
        state = s.join([earlier, features], 2)
    weighted = s.average(s.combine("MUL", state, weights_time))
    ranks = s.average(s.restate(weighted, (batch, filters // rank, rank)))
    total = s.combine("MUL", ranks, s.number(ranks, memory * rank))
    out = s.restate(total, (batch, filters // rank))
    if bias is not None:
        out = s.combine("ADD", out, bias)
    limit = LIMITED_BY[FuseCode(activation)]
    nothing = s.combine("MUL", features, s.number(features, 0))
    moved = [nothing]
    if memory > 1:
        moved = [_cut(s, state, (0, 0, 1), (batch, filters, memory - 1)), nothing]
    after = s.restate(moved[0] if memory == 1 else s.join(moved, 2), state_in.shape)
    return after, s.map(limit, out) if limit else out


def _cut(s: Sketch, x: Tensor, begin: Sequence[int], shape: Shape) -> Tensor:
    """A block."""
    made: Tensor = s.slice(x, np.array(begin, np.int32), np.array(shape, np.int32))
    return made
