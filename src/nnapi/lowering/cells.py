"""Decompositions of recurrent operations into products and sums, for formats whose cells keep their state internally.

NNAPI's cells take a state and return the new one. Time steps are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from nnapi.codes import FuseCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.lower import Rules, require
from nnapi.model.operand import Shape
from nnapi.ops.lstm_cell import EPSILON, Options
from nnapi.ops.lstm_parameters import Cell, cell_of

MOST_STEPS = 256
"""The largest number of time steps that are unrolled."""
SQUASHED_BY = {0: "", 1: "RELU", 3: "RELU6", 4: "TANH", 6: "LOGISTIC"}
"""The operation of each activation code of an LSTM."""
LIMITED_BY = {
    FuseCode.FUSED_NONE: "",
    FuseCode.FUSED_RELU: "RELU",
    FuseCode.FUSED_RELU1: "RELU1",
    FuseCode.FUSED_RELU6: "RELU6",
}


class Computed(Protocol):
    """A tensor of a format."""

    @property
    def shape(self) -> Shape: ...


V = TypeVar("V", bound=Computed)


class Writer(Protocol[V]):
    """The operations that a format's context offers to cells, by their names in NNAPI."""

    def product(self, x: V, weights: V, bias: V | None) -> V:
        """Rows times the transposed weights, and a bias."""

    def combine(self, kind: str, a: V, b: V) -> V:
        """ADD, SUB, MUL or DIV of two tensors that are stretched to each other."""

    def map(self, kind: str, x: V) -> V:
        """An operation on each element."""

    def mean(self, x: V) -> V:
        """Return the mean along the last axis, which stays with size 1."""

    def fill(self, tensor: V, number: float) -> V:
        """A number beside a tensor."""

    def bound(self, x: V, limit: float) -> V:
        """Clamp values to ±``limit``."""

    def cut(self, x: V, begin: Sequence[int], shape: Shape) -> V:
        """A block."""

    def join(self, parts: Sequence[V], axis: int) -> V:
        """Tensors side by side."""

    def reshape(self, tensor: V, shape: Shape) -> V:
        """The same elements under other dimensions."""

    @property
    def call(self) -> Any:
        """The call in normal form."""


States = tuple[V, ...]
Step = Callable[[V, V | None, States[V]], States[V]]
"""From the input at one time, the auxiliary input and the states to the next states, the output first."""


# One step


def lstm_step(writer: Writer[V], cell: Cell[V], options: Options, x: V, aux: V | None, states: States[V]) -> States[V]:
    """The next output and cell state."""
    h, c = states
    squash = SQUASHED_BY[options.activation]
    forget = _gate(writer, cell, "forget", "LOGISTIC", x, aux, h, c)
    if cell.is_coupled:
        entry = writer.combine("SUB", writer.fill(forget, 1), forget)
    else:
        entry = _gate(writer, cell, "input", "LOGISTIC", x, aux, h, c)
    candidate = _gate(writer, cell, "cell", squash, x, aux, h, c)
    kept, gained = writer.combine("MUL", forget, c), writer.combine("MUL", entry, candidate)
    c = writer.combine("ADD", kept, gained)
    if options.cell_clip:
        c = writer.bound(c, options.cell_clip)
    shown = writer.map(squash, c) if squash else c
    h = writer.combine("MUL", _gate(writer, cell, "output", "LOGISTIC", x, aux, h, c), shown)
    if cell.projection is not None:
        h = writer.product(h, cell.projection, cell.projection_bias)
        if options.proj_clip:
            h = writer.bound(h, options.proj_clip)
    return h, c


def _gate(writer: Writer[V], cell: Cell[V], gate: str, squash: str, x: V, aux: V | None, h: V, c: V) -> V:
    bias = cell.bias[gate]
    z = writer.product(x, cell.input[gate], None if cell.norm else bias)
    z = writer.combine("ADD", z, writer.product(h, cell.recurrent[gate], None))
    if aux is not None and cell.aux:
        z = writer.combine("ADD", z, writer.product(aux, cell.aux[gate], None))
    if gate in cell.peephole:
        z = writer.combine("ADD", z, writer.combine("MUL", c, cell.peephole[gate]))
    if cell.norm:
        z = writer.combine("ADD", writer.combine("MUL", _normalize(writer, z), cell.norm[gate]), bias)
    return writer.map(squash, z) if squash else z


def _normalize(writer: Writer[V], z: V) -> V:
    """Rows shifted and scaled to mean 0 and variance 1."""
    z = writer.combine("SUB", z, writer.mean(z))
    variance = writer.mean(writer.combine("MUL", z, z))
    return writer.combine("MUL", z, writer.map("RSQRT", writer.combine("ADD", variance, writer.fill(z, EPSILON))))


def rnn_step(
    writer: Writer[V], operands: Mapping[str, Any], activation: int, x: V, aux: V | None, states: States[V]
) -> States[V]:
    """The next output, which is the next state too."""
    (h,) = states
    z = writer.product(x, operands["weights"], operands["bias"])
    z = writer.combine("ADD", z, writer.product(h, operands["recurrent_weights"], None))
    if aux is not None and operands.get("aux_weights") is not None:
        z = writer.combine("ADD", z, writer.product(aux, operands["aux_weights"], None))
    limit = LIMITED_BY[FuseCode(activation)]
    return (writer.map(limit, z) if limit else z,)


# Along time


def over_time(
    writer: Writer[V], step: Step[V], x: V, aux: V | None, states: States[V], time_major: bool, backward: bool = False
) -> tuple[V, States[V]]:
    """A cell run along time: all its outputs, in the order of the input, and the last states."""
    axis = 0 if time_major else 1
    count = x.shape[axis]
    require(count <= MOST_STEPS, f"its {count} steps are too many to write out")
    outputs: list[V] = []
    for time in reversed(range(count)) if backward else range(count):
        beside = None if aux is None else _at(writer, aux, axis, time)
        states = step(_at(writer, x, axis, time), beside, states)
        rows = states[0].shape
        outputs.append(writer.reshape(states[0], (1, *rows) if time_major else (rows[0], 1, rows[1])))
    ordered = outputs[::-1] if backward else outputs
    return ordered[0] if count == 1 else writer.join(ordered, axis), states


def _at(writer: Writer[V], sequence: V, axis: int, time: int) -> V:
    """The input [batch, size] at one time."""
    shape = list(sequence.shape)
    begin = [0, 0, 0]
    begin[axis], shape[axis] = time, 1
    piece = writer.cut(sequence, begin, tuple(shape))
    return writer.reshape(piece, (sequence.shape[1 - axis], sequence.shape[2]))


# Operations


def lstm(
    context: Writer[V],
    input: V,
    output_state_in: V,
    cell_state_in: V,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    **operands: V | None,
) -> Sequence[V]:
    """Of the scratch buffer nothing is promised: it comes out as zeros."""
    options = Options(activation, cell_clip, proj_clip)
    h, c = lstm_step(context, cell_of(operands), options, input, None, (output_state_in, cell_state_in))
    gates = context.call.results[0].dimensions[1] // c.shape[1]
    nothing = context.combine("MUL", c, context.fill(c, 0))
    return context.join([nothing] * gates, 1), h, c, h


def sequence_lstm(
    context: Writer[V],
    input: V,
    output_state_in: V,
    cell_state_in: V,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    time_major: bool,
    **operands: V | None,
) -> Sequence[V]:
    step = partial(lstm_step, context, cell_of(operands), Options(activation, cell_clip, proj_clip))
    out, states = over_time(context, step, input, None, (output_state_in, cell_state_in), time_major)
    return (out, *states)[: len(context.call.results)]


def both_directions_lstm(
    context: Writer[V],
    input: V,
    aux_input: V | None,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    merge_outputs: bool,
    time_major: bool,
    **operands: Any,
) -> Sequence[V]:
    options = Options(activation, cell_clip, proj_clip)
    cells: list[Cell[V]] = [cell_of(operands, prefix) for prefix in ("fw_", "bw_")]
    steps = [partial(lstm_step, context, cell, options) for cell in cells]
    names = ("activation_state_in", "cell_state_in")
    states = [tuple(operands[f"{way}_{name}"] for name in names) for way in ("fw", "bw")]
    return _both(context, steps, input, aux_input, bool(cells[0].aux), states, time_major, merge_outputs)


def rnn(context: Writer[V], input: V, hidden_in: V, activation: int, **operands: V) -> Sequence[V]:
    return rnn_step(context, operands, activation, input, None, (hidden_in,)) * 2


def sequence_rnn(
    context: Writer[V], input: V, hidden_in: V, activation: int, time_major: int, **operands: V
) -> Sequence[V]:
    step = partial(rnn_step, context, operands, activation)
    out, states = over_time(context, step, input, None, (hidden_in,), bool(time_major))
    return (out, *states)[: len(context.call.results)]


def both_directions_rnn(
    context: Writer[V],
    input: V,
    aux_input: V | None,
    activation: int,
    time_major: bool,
    merge_outputs: bool,
    **operands: Any,
) -> Sequence[V]:
    steps, states = [], []
    for way in ("fw_", "bw_"):
        own = {name.removeprefix(way): operand for name, operand in operands.items() if name.startswith(way)}
        steps.append(partial(rnn_step, context, own, activation))
        states.append((own["hidden_in"],))
    weighted = operands["fw_aux_weights"] is not None
    return _both(context, steps, input, aux_input, weighted, states, time_major, merge_outputs)


def _both(
    context: Writer[V],
    steps: Sequence[Step[V]],
    x: V,
    aux: V | None,
    weighted: bool,
    states: Sequence[States[V]],
    time_major: bool,
    merge: bool,
) -> Sequence[V]:
    """An auxiliary input without weights is the backward cell's input; one with weights stands beside that of both."""
    backward_x = x if aux is None or weighted else aux
    beside = aux if weighted else None
    forward, first = over_time(context, steps[0], x, beside, states[0], time_major)
    backward, last = over_time(context, steps[1], backward_x, beside, states[1], time_major, backward=True)
    outputs = [context.join([forward, backward], 2)] if merge else [forward, backward]
    return [*outputs, *first, *last][: len(context.call.results)]


def svdf(
    context: Writer[V],
    input: V,
    weights_feature: V,
    weights_time: V,
    bias: V | None,
    state_in: V,
    rank: int,
    activation: int,
) -> Sequence[V]:
    """Lower SVDF: append the features of this input to the state, which is shifted afterwards."""
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = context.reshape(context.product(input, weights_feature, None), (batch, filters, 1))
    state = features
    if memory > 1:
        earlier = context.cut(
            context.reshape(state_in, (batch, filters, memory)), (0, 0, 0), (batch, filters, memory - 1)
        )
        state = context.join([earlier, features], 2)
    weighted = context.mean(context.combine("MUL", state, weights_time))
    ranks = context.mean(context.reshape(weighted, (batch, filters // rank, rank)))
    total = context.combine("MUL", ranks, context.fill(ranks, memory * rank))
    out = context.reshape(total, (batch, filters // rank))
    if bias is not None:
        out = context.combine("ADD", out, bias)
    limit = LIMITED_BY[FuseCode(activation)]
    nothing = context.combine("MUL", features, context.fill(features, 0))
    moved = [nothing]
    if memory > 1:
        moved = [context.cut(state, (0, 0, 1), (batch, filters, memory - 1)), nothing]
    after = context.reshape(moved[0] if memory == 1 else context.join(moved, 2), state_in.shape)
    return after, context.map(limit, out) if limit else out


def register(rules: Rules) -> None:
    """Make these the rules of a format."""
    for code, rule in RULES.items():
        rules.lower(code)(rule)


RULES: dict[Op, Callable[..., Any]] = {
    Op.LSTM: lstm,
    Op.UNIDIRECTIONAL_SEQUENCE_LSTM: sequence_lstm,
    Op.BIDIRECTIONAL_SEQUENCE_LSTM: both_directions_lstm,
    Op.RNN: rnn,
    Op.UNIDIRECTIONAL_SEQUENCE_RNN: sequence_rnn,
    Op.BIDIRECTIONAL_SEQUENCE_RNN: both_directions_rnn,
    Op.SVDF: svdf,
}
