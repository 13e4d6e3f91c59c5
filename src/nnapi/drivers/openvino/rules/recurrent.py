"""LSTM, GRU and RNN over time, by OpenVINO's sequences. They take the batch first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, integers, lower
from nnapi.drivers.openvino.rules.recurrent_loop import repeat_gru
from nnapi.drivers.openvino.value import Node, Value, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.lstm_parameters import Cell, cell_of

RELU, TANH, LOGISTIC = 1, 4, 6
FUNCTIONS = {RELU: "relu", TANH: "tanh", LOGISTIC: "sigmoid"}
"""OpenVINO's names of activations."""
ORDER = ("forget", "input", "cell", "output")
"""OpenVINO's order of an LSTM's gates."""
COMPOSITE_ORDER = (2, 0, 3, 1)
"""The positions of these gates in LSTM_SEQUENCE."""


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: Context, input: Value, output_state_in: Value, cell_state_in: Value, time_major: bool, **operands: Any
) -> Sequence[Value]:
    cell: Cell[Value] = cell_of(operands)
    plain = not (cell.is_coupled or cell.peephole or cell.norm or cell.projection)
    require(plain, "the engine's LSTM has four gates, no peepholes, no normalization and no projection")
    squashes = operands["activation"] == TANH and not operands["cell_clip"]
    require(squashes, "the engine's LSTM squashes by TANH and does not clip its state")
    weights, recurrent, bias = (_stack(gates) for gates in (cell.input, cell.recurrent, cell.bias))
    units = cell_state_in.type.dimensions[1]
    x, states = (
        _batch_first(input, time_major),
        [_with_direction(each.real()) for each in (output_state_in, cell_state_in)],
    )
    sequence = op.lstm_sequence(
        x, *states, _lengths(input, None, time_major), weights, recurrent, bias, units, "forward"
    )
    return _results(context, sequence, time_major)


def _stack(gates: dict[str, Value]) -> Node:
    arrays = [gates[gate].array for gate in ORDER]
    known = [array for array in arrays if array is not None]
    require(len(known) == len(arrays), "the engine's LSTM takes constant weights")
    return constant(np.concatenate(known)[np.newaxis].astype(np.float32))


@lower(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(
    context: Context,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    hidden_in: Value,
    activation: int,
    time_major: int,
) -> Sequence[Value]:
    require(activation == RELU, f"activation is {activation}, the engine's RNN has no other than 1 (RELU) of NNAPI's")
    return _compute_rnn(
        context, input, weights, recurrent_weights, bias, hidden_in, None, RELU, 0.0, False, bool(time_major)
    )


@lower(Composite.RNN_SEQUENCE)
def _compute_rnn(
    context: Context,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    hidden_in: Value,
    sequence_lengths: Value | None,
    activation: int,
    clip: float,
    reverse: bool,
    time_major: bool,
) -> Sequence[Value]:
    sequence = op.rnn_sequence(
        _batch_first(input, time_major),
        _with_direction(hidden_in.real()),
        _lengths(input, sequence_lengths, time_major),
        *(_own_axis(each.real()) for each in (weights, recurrent_weights, bias)),
        hidden_in.type.dimensions[1],
        _direction(reverse),
        _name([activation]),
        clip=float(clip),
    )
    return _results(context, sequence, time_major)


@lower(Composite.GRU)
def gru(
    context: Context,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    recurrent_bias: Value,
    hidden_in: Value,
    linear_before_reset: bool,
    time_major: bool,
    **options: Any,
) -> Sequence[Value]:
    """Lower GRU. If it resets before the product, the engine's own is slower than a loop of single operators."""
    units, lengths = hidden_in.type.dimensions[1], options["sequence_lengths"]
    activations = [options["gate_activation"], options["activation"]]
    is_usual = lengths is None and activations == [LOGISTIC, TANH] and not options["clip"]
    matrices = weights.real(), recurrent_weights.real()
    own, recurrent = bias.real(), recurrent_bias.real()
    if not linear_before_reset and is_usual:
        x = input.real() if time_major else _swap(input.real())
        output, last = repeat_gru(x, *matrices, own, recurrent, hidden_in.real(), options["reverse"])
        return [context.result(output if time_major else _swap(output)), context.result(last, position=1)]
    total = op.add(own, recurrent)
    if linear_before_reset:  # the reset gate multiplies this product with its bias
        candidates = (_block(each, 2 * units, units) for each in (own, recurrent))
        total = op.concat([_block(total, 0, 2 * units), *candidates], 0)
    sequence = op.gru_sequence(
        _batch_first(input, time_major),
        _with_direction(hidden_in.real()),
        _lengths(input, lengths, time_major),
        *(_own_axis(each) for each in (*matrices, total)),
        units,
        _direction(options["reverse"]),
        _name(activations),
        clip=float(options["clip"]),
        linear_before_reset=linear_before_reset,
    )
    return _results(context, sequence, time_major)


@lower(Composite.LSTM_SEQUENCE)
def lstm(
    context: Context,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    peepholes: Value | None,
    hidden_in: Value,
    cell_state_in: Value,
    input_forget: bool,
    time_major: bool,
    **options: Any,
) -> Sequence[Value]:
    require(peepholes is None and not input_forget, "the engine's LSTM has four gates and no peepholes")
    units = hidden_in.type.dimensions[1]

    def reorder(value: Value) -> Node:
        gates = [_block(value.real(), position * units, units) for position in COMPOSITE_ORDER]
        return _own_axis(op.concat(gates, 0))

    sequence = op.lstm_sequence(
        _batch_first(input, time_major),
        *(_with_direction(state.real()) for state in (hidden_in, cell_state_in)),
        _lengths(input, options["sequence_lengths"], time_major),
        *(reorder(each) for each in (weights, recurrent_weights, bias)),
        units,
        _direction(options["reverse"]),
        _name([options[f"{name}_activation"] for name in ("gate", "cell", "hidden")]),
        clip=float(options["clip"]),
    )
    return _results(context, sequence, time_major)


def _name(activations: Sequence[int]) -> list[str]:
    unknown = [each for each in activations if each not in FUNCTIONS]
    require(not unknown, f"the engine's cell has no activation {', '.join(map(str, unknown))}")
    return [FUNCTIONS[each] for each in activations]


def _direction(reverse: bool) -> str:
    return "reverse" if reverse else "forward"


def _swap(x: Node) -> Node:
    """Swap the axes of batch and time."""
    return op.transpose(x, integers([1, 0, 2]))


def _batch_first(input: Value, time_major: bool) -> Node:
    return _swap(input.real()) if time_major else input.real()


def _with_direction(state: Node) -> Node:
    """Return a state [batch, units] with the axis of directions."""
    return op.unsqueeze(state, integers([1]))


def _own_axis(weights: Node) -> Node:
    """Return weights with the axis of directions."""
    return op.unsqueeze(weights, integers([0]))


def _block(x: Node, begin: int, size: int) -> Node:
    """Return some rows."""
    return op.gather(x, integers(range(begin, begin + size)), integers(0))


def _lengths(input: Value, lengths: Value | None, time_major: bool) -> Node:
    """Return the lengths of the batch's rows, clamped because the engine would read beyond the sequence."""
    outer = input.type.dimensions[:2]
    steps, batch = outer if time_major else outer[::-1]
    if lengths is None or lengths.array is not None:
        known = steps if lengths is None or lengths.array is None else np.clip(lengths.array, 0, steps)
        return integers(np.broadcast_to(known, batch))
    low, high = (op.constant(np.int32(bound)) for bound in (0, steps))
    return op.minimum(op.maximum(lengths.node("stored"), low), high)


def _results(context: Context, sequence: Node, time_major: bool) -> Sequence[Value]:
    outputs = [op.squeeze(output, integers([1])) for output in sequence.outputs()]
    if time_major:
        outputs[0] = _swap(outputs[0])
    return [context.result(each, position=i) for i, each in enumerate(outputs[: len(context.call.results)])]
