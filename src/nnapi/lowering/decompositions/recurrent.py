"""LSTM, RNN, their sequences and SVDF by products and sums, with unrolled time steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decompositions.activation import clamp
from nnapi.lowering.lower import require
from nnapi.lowering.sketch import CLAMPS, Sketch, decomposition
from nnapi.model.builder import Tensor
from nnapi.ops.lstm_cell import EPSILON, Options
from nnapi.ops.lstm_parameters import Cell, cell_of

MOST_STEPS = 256
SQUASHED_BY = {0: "", 1: "relu", 3: "relu6", 4: "tanh", 6: "logistic"}
States = tuple[Tensor, ...]
Step = Callable[[Tensor, Tensor | None, States], States]
"""From the input at one time, the auxiliary input and the states to the next states, the output first."""


def apply(s: Sketch, kind: str, x: Tensor) -> Tensor:
    result: Tensor = getattr(s, kind)(x) if kind else x
    return result


def product(s: Sketch, x: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    return s.fully_connected(x, weights, s.zeros(weights.shape[0]) if bias is None else bias, 0)


# One step


def lstm_step(s: Sketch, cell: Cell[Tensor], options: Options, x: Tensor, aux: Tensor | None, states: States) -> States:
    h, c = states
    squash = SQUASHED_BY[options.activation]
    forget = _gate(s, cell, "forget", "logistic", x, aux, h, c)
    if cell.is_coupled:
        entry = s.sub(s.number(forget, 1), forget, 0)
    else:
        entry = _gate(s, cell, "input", "logistic", x, aux, h, c)
    candidate = _gate(s, cell, "cell", squash, x, aux, h, c)
    c = s.add(s.mul(forget, c, 0), s.mul(entry, candidate, 0), 0)
    if options.cell_clip:
        c = clamp(s, c, -options.cell_clip, options.cell_clip)
    h = s.mul(_gate(s, cell, "output", "logistic", x, aux, h, c), apply(s, squash, c), 0)
    if cell.projection is not None:
        h = product(s, h, cell.projection, cell.projection_bias)
        if options.proj_clip:
            h = clamp(s, h, -options.proj_clip, options.proj_clip)
    return h, c


def _gate(
    s: Sketch, cell: Cell[Tensor], gate: str, squash: str, x: Tensor, aux: Tensor | None, h: Tensor, c: Tensor
) -> Tensor:
    bias = cell.bias[gate]
    z = product(s, x, cell.input[gate], None if cell.norm else bias)
    z = s.add(z, product(s, h, cell.recurrent[gate]), 0)
    if aux is not None and cell.aux:
        z = s.add(z, product(s, aux, cell.aux[gate]), 0)
    if gate in cell.peephole:
        z = s.add(z, s.mul(c, cell.peephole[gate], 0), 0)
    if cell.norm:
        z = s.add(s.mul(_normalize(s, z), cell.norm[gate], 0), bias, 0)
    return apply(s, squash, z)


def _normalize(s: Sketch, z: Tensor) -> Tensor:
    """Shift and scale rows to mean 0 and variance 1."""
    z = s.sub(z, s.mean(z, [1], 1), 0)
    variance = s.mean(s.mul(z, z, 0), [1], 1)
    return s.mul(z, s.rsqrt(s.add(variance, s.number(z, EPSILON), 0)), 0)


def rnn_step(
    s: Sketch, operands: Mapping[str, Any], activation: int, x: Tensor, aux: Tensor | None, states: States
) -> States:
    (h,) = states
    z = product(s, x, operands["weights"], operands["bias"])
    z = s.add(z, product(s, h, operands["recurrent_weights"]), 0)
    if aux is not None and operands.get("aux_weights") is not None:
        z = s.add(z, product(s, aux, operands["aux_weights"]), 0)
    return (apply(s, CLAMPS.get(FuseCode(activation), ""), z),)


# Along time


def over_time(
    s: Sketch, step: Step, x: Tensor, aux: Tensor | None, states: States, time_major: bool, backward: bool = False
) -> tuple[Tensor, States]:
    axis = 0 if time_major else 1
    count = x.shape[axis]
    require(count <= MOST_STEPS, f"its {count} steps are too many to write out")
    outputs: list[Tensor] = []
    for time in reversed(range(count)) if backward else range(count):
        beside = None if aux is None else _at(s, aux, axis, time)
        states = step(_at(s, x, axis, time), beside, states)
        rows = states[0].shape
        outputs.append(s.restate(states[0], (1, *rows) if time_major else (rows[0], 1, rows[1])))
    return s.join(outputs[::-1] if backward else outputs, axis), states


def _at(s: Sketch, sequence: Tensor, axis: int, time: int) -> Tensor:
    return s.restate(s.block(sequence, axis, time, 1), (sequence.shape[1 - axis], sequence.shape[2]))


# Operations


def _options(arguments: Mapping[str, Any]) -> Options:
    return Options(arguments["activation"], arguments["cell_clip"], arguments["proj_clip"])


@decomposition(Op.LSTM)
def lstm(s: Sketch, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **operands: Any) -> Sequence[Tensor]:
    """The scratch buffer is unspecified; here it is zeros."""
    states = output_state_in, cell_state_in
    h, c = lstm_step(s, cell_of(operands), _options(operands), input, None, states)
    gates = s.call.results[0].dimensions[1] // c.shape[1]
    nothing = s.mul(c, s.number(c, 0), 0)
    return s.join([nothing] * gates, 1), h, c, h


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    s: Sketch, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, time_major: bool, **operands: Any
) -> Sequence[Tensor]:
    step = partial(lstm_step, s, cell_of(operands), _options(operands))
    out, states = over_time(s, step, input, None, (output_state_in, cell_state_in), time_major)
    return (out, *states)[: len(s.call.results)]


@decomposition(Op.BIDIRECTIONAL_SEQUENCE_LSTM)
def both_directions_lstm(s: Sketch, **operands: Any) -> Sequence[Tensor]:
    cells: list[Cell[Tensor]] = [cell_of(operands, prefix) for prefix in ("fw_", "bw_")]
    steps = [partial(lstm_step, s, cell, _options(operands)) for cell in cells]
    names = ("activation_state_in", "cell_state_in")
    states = [tuple(operands[f"{way}_{name}"] for name in names) for way in ("fw", "bw")]
    return _both(s, steps, bool(cells[0].aux), states, **operands)


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
def both_directions_rnn(s: Sketch, activation: int, **operands: Any) -> Sequence[Tensor]:
    steps, states = [], []
    for way in ("fw_", "bw_"):
        own = {name.removeprefix(way): operand for name, operand in operands.items() if name.startswith(way)}
        steps.append(partial(rnn_step, s, own, activation))
        states.append((own["hidden_in"],))
    return _both(s, steps, operands["fw_aux_weights"] is not None, states, **operands)


def _both(
    s: Sketch,
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
    forward, first = over_time(s, steps[0], input, beside, states[0], time_major)
    backward, last = over_time(s, steps[1], backward_x, beside, states[1], time_major, backward=True)
    outputs = [s.join([forward, backward], 2)] if merge_outputs else [forward, backward]
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
    """Append the features of this input to the state, which is shifted afterwards."""
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = s.restate(product(s, input, weights_feature), (batch, filters, 1))
    nothing = s.mul(features, s.number(features, 0), 0)
    state, after = features, nothing
    if memory > 1:
        earlier = s.block(s.restate(state_in, (batch, filters, memory)), 2, 0, memory - 1)
        state = s.join([earlier, features], 2)
        after = s.join([s.block(state, 2, 1, memory - 1), nothing], 2)
    weighted = s.mean(s.mul(state, weights_time, 0), [2], 1)
    ranks = s.mean(s.restate(weighted, (batch, filters // rank, rank)), [2], 1)
    total = s.mul(ranks, s.number(ranks, memory * rank), 0)
    out = s.restate(total, (batch, filters // rank))
    if bias is not None:
        out = s.add(out, bias, 0)
    return s.restate(after, state_in.shape), apply(s, CLAMPS.get(FuseCode(activation), ""), out)
