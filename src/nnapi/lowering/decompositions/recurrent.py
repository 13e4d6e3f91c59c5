"""LSTM, RNN, their sequences and SVDF by products and sums."""

from collections.abc import Mapping, Sequence
from typing import Any

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import CLAMPS, Decomposition, decomposition
from nnapi.lowering.decompositions.activation import clamp
from nnapi.lowering.decompositions.recurrent_time import Operands, States, from_rows, in_rows, over_time
from nnapi.model.builder import Tensor
from nnapi.operation_codes import Code
from nnapi.ops.lstm_cell import EPSILON
from nnapi.ops.lstm_parameters import Cell, cell_of

SQUASHED_BY = {0: "", 1: "relu", 3: "relu6", 4: "tanh", 6: "logistic"}
DIRECTIONS: dict[Code, str] = {
    Op.BIDIRECTIONAL_SEQUENCE_LSTM: "unidirectional_sequence_lstm",
    Op.BIDIRECTIONAL_SEQUENCE_RNN: "unidirectional_sequence_rnn",
}
"""The builder's method for one direction of each operation."""
PREFIXES = ("fw_", "bw_")
RENAMED = {"activation_state_in": "output_state_in"}
STATES = ("output_state_in", "cell_state_in", "hidden_in")


def apply_activation(b: Decomposition, kind: str, x: Tensor) -> Tensor:
    return getattr(b, kind)(x) if kind else x


def fully_connect(b: Decomposition, x: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    return b.fully_connected(x, weights, b.zeros(weights.shape[0]) if bias is None else bias, 0)


# One step


def lstm_step(b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
    (x,), (h, c) = rows, states
    cell: Cell[Tensor] = cell_of(operands)
    squash = SQUASHED_BY[cell.activation]
    forget = _gate(b, cell, "forget", "logistic", x, h, c)
    entry = 1 - forget if cell.is_coupled else _gate(b, cell, "input", "logistic", x, h, c)
    candidate = _gate(b, cell, "cell", squash, x, h, c)
    c = forget * c + entry * candidate
    if cell.cell_clip:
        c = clamp(b, c, -cell.cell_clip, cell.cell_clip)
    h = _gate(b, cell, "output", "logistic", x, h, c) * apply_activation(b, squash, c)
    if cell.projection is not None:
        h = fully_connect(b, h, cell.projection, cell.projection_bias)
        if cell.proj_clip:
            h = clamp(b, h, -cell.proj_clip, cell.proj_clip)
    return h, c


def _gate(b: Decomposition, cell: Cell[Tensor], gate: str, squash: str, x: Tensor, h: Tensor, c: Tensor) -> Tensor:
    bias = cell.bias[gate]
    z = fully_connect(b, x, cell.input[gate], None if cell.norm else bias)
    z = z + fully_connect(b, h, cell.recurrent[gate])
    if gate in cell.peephole:
        z = z + c * cell.peephole[gate]
    if cell.norm:
        z = _normalize(b, z) * cell.norm[gate] + bias
    return apply_activation(b, squash, z)


def _normalize(b: Decomposition, z: Tensor) -> Tensor:
    """Shift and scale rows to mean 0 and variance 1."""
    z = z - b.mean(z, [1], 1)
    return z * b.rsqrt(b.mean(z * z, [1], 1) + EPSILON)


def rnn_step(b: Decomposition, operands: Operands, rows: Sequence[Tensor], states: States) -> States:
    (x,), (h,) = rows, states
    z = fully_connect(b, x, operands["weights"], operands["bias"])
    z = z + fully_connect(b, h, operands["recurrent_weights"])
    return (apply_activation(b, CLAMPS.get(FuseCode(operands["activation"]), ""), z),)


# Operations


@decomposition(Op.LSTM)
def lstm(
    b: Decomposition, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **operands: Any
) -> Sequence[Tensor]:
    """Lower one step. The specification leaves the scratch buffer unspecified; here it is zeros."""
    states = output_state_in, cell_state_in
    h, c = lstm_step(b, operands, [input], states)
    gates = b.call.results[0].dimensions[1] // c.shape[1]
    return b.concatenate([c * 0] * gates, 1), h, c, h


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    b: Decomposition, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, time_major: bool, **operands: Any
) -> Sequence[Tensor]:
    rows = in_rows(b, input, time_major)
    out, states = over_time(b, lstm_step, operands, [rows], (output_state_in, cell_state_in))
    return (from_rows(b, out, output_state_in.shape[0], time_major), *states)[: len(b.call.results)]


@decomposition(Op.RNN)
def rnn(b: Decomposition, input: Tensor, hidden_in: Tensor, **operands: Any) -> Sequence[Tensor]:
    return rnn_step(b, operands, [input], (hidden_in,)) * 2


@decomposition(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(
    b: Decomposition, input: Tensor, hidden_in: Tensor, time_major: int, **operands: Any
) -> Sequence[Tensor]:
    out, states = over_time(b, rnn_step, operands, [in_rows(b, input, bool(time_major))], (hidden_in,))
    return (from_rows(b, out, hidden_in.shape[0], bool(time_major)), *states)[: len(b.call.results)]


@decomposition(*DIRECTIONS)
def both_directions(
    b: Decomposition, input: Tensor, aux_input: Tensor | None, time_major: bool, merge_outputs: bool, **operands: Any
) -> Sequence[Tensor]:
    compute, axis = getattr(b, DIRECTIONS[b.call.operation.code]), [0 if time_major else 1]
    options = {name: value for name, value in operands.items() if name[:3] not in PREFIXES} | {"time_major": time_major}
    outputs, last = [], list[Tensor]()
    for prefix in PREFIXES:
        x, cell = _list_operands(b, prefix, input, aux_input, operands)
        states = [cell[name].type for name in STATES if name in cell]
        out = [states[0].with_dimensions((*input.shape[:2], states[0].dimensions[1])), *states]
        if len(b.call.results) <= 2:
            out = out[:1]
        x = x if prefix == "fw_" else b.reverse(x, axis)
        made = compute(x, **cell, **options, out=out)
        output, *after = made if isinstance(made, tuple) else [made]
        outputs.append(output if prefix == "fw_" else b.reverse(output, axis))
        last += after
    return [*([b.concatenate(outputs, 2)] if merge_outputs else outputs), *last]


def _list_operands(
    b: Decomposition, prefix: str, input: Tensor, aux_input: Tensor | None, operands: Mapping[str, Any]
) -> tuple[Tensor, dict[str, Any]]:
    """Return the input and the operands of one direction, named as in the unidirectional operation.

    An auxiliary input without weights is the input of the backward cell. An auxiliary input with weights is
    concatenated with the input, and its weights with the input's weights.
    """
    own = {name.removeprefix(prefix): operand for name, operand in operands.items() if name.startswith(prefix)}
    cell = {RENAMED.get(name, name): operand for name, operand in own.items() if not name.startswith("aux_")}
    weights = {name.removeprefix("aux_"): x for name, x in own.items() if name.startswith("aux_") and x is not None}
    cell |= {name: b.concatenate([cell[name], x], 1) for name, x in weights.items()}
    if aux_input is None or (prefix == "fw_" and not weights):
        return input, cell
    return b.concatenate([input, aux_input], 2) if weights else aux_input, cell


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
    """Append the features of this input to the state, multiply by the time weights, then shift the state."""
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = b.reshape(fully_connect(b, input, weights_feature), (batch, filters, 1))
    nothing = features * 0
    state, after = features, nothing
    if memory > 1:
        earlier = b.block(b.reshape(state_in, (batch, filters, memory)), 2, 0, memory - 1)
        state = b.concatenate([earlier, features], 2)
        after = b.concatenate([b.block(state, 2, 1, memory - 1), nothing], 2)
    weighted = b.mean(state * weights_time, [2], 1)
    ranks = b.mean(b.reshape(weighted, (batch, filters // rank, rank)), [2], 1)
    out = b.reshape(ranks * (memory * rank), (batch, filters // rank))
    out = out if bias is None else out + bias
    return b.reshape(after, state_in.shape), apply_activation(b, CLAMPS.get(FuseCode(activation), ""), out)
