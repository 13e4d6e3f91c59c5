"""LSTM, GRU and RNN over time: by OpenVINO's sequences, or by a loop of single operators where that is faster."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.rules.recurrent_loop import Step, gru_step, lstm_step, multiply, repeat, rnn_step
from nnapi.drivers.openvino.sizes import integers
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
LARGEST_GRU, LARGEST_LSTM, LARGEST_RNN = (128, 512), (512, 512), (64, 64)
"""Maximum numbers of units, and of elements of a state, for which the engine's own cell is as fast as a loop of single
operators. Beyond, it takes up to 5 times as long."""


class Series(NamedTuple):
    """The input of a cell, and the way in which the cell reads it."""

    context: OpenvinoContext
    input: Value
    time_major: bool
    reverse: bool = False
    clip: float = 0.0
    sequence_lengths: Value | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether all rows have all steps, and no sum is clipped."""
        return self.sequence_lengths is None and not self.clip

    @property
    def direction(self) -> str:
        return "reverse" if self.reverse else "forward"

    def batch_first(self) -> Node:
        """Return the input as the engine's sequences take it."""
        return _swap(self.input.real()) if self.time_major else self.input.real()

    def lengths(self) -> Node:
        """Return the lengths of the batch's rows, clamped because the engine would read beyond the sequence."""
        given, outer = self.sequence_lengths, self.input.type.dimensions[:2]
        steps, batch = outer if self.time_major else outer[::-1]
        if given is None:
            return integers([steps] * batch)
        if given.array is not None:
            return integers(np.clip(given.array, 0, steps))
        low, high = (op.constant(np.int32(bound)) for bound in (0, steps))
        return op.minimum(op.maximum(given.node("stored"), low), high)

    def results(self, sequence: Node) -> list[Value]:
        """Return the call's results from those of the engine's sequence."""
        outputs, *last = [op.squeeze(output, integers([1])) for output in sequence.outputs()]
        return self._as_values([_swap(outputs) if self.time_major else outputs, *last])

    def repeat(self, step: Step, weights: Node, bias: Node, states: Sequence[Node]) -> list[Value]:
        """Return the call's results, computed by a loop. One product computes the input's share for all steps."""
        x = self.input.real() if self.time_major else _swap(self.input.real())
        steps, batch, size = x.shape
        rows = multiply(op.reshape(x, integers([steps * batch, size]), False), weights, bias)
        made, *last = repeat(step, rows, states, self.reverse)
        outputs = op.reshape(made, integers([steps, batch, states[0].shape[1]]), False)
        return self._as_values([outputs if self.time_major else _swap(outputs), *last])

    def _as_values(self, nodes: Sequence[Node]) -> list[Value]:
        count = len(self.context.call.results)
        return [self.context.result(node, position=i) for i, node in enumerate(nodes[:count])]


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: OpenvinoContext,
    input: Value,
    output_state_in: Value,
    cell_state_in: Value,
    time_major: bool,
    **operands: Any,
) -> Sequence[Value]:
    cell: Cell[Value] = cell_of(operands)
    plain = not (cell.is_coupled or cell.peephole or cell.norm or cell.projection)
    require(plain, "the engine's LSTM has four gates, no peepholes, no normalization and no projection")
    squashes = operands["activation"] == TANH and not operands["cell_clip"]
    require(squashes, "the engine's LSTM squashes by TANH and does not clip its state")
    stacked = [_stack(gates) for gates in (cell.input, cell.recurrent, cell.bias)]
    states = [state.real() for state in (output_state_in, cell_state_in)]
    return _compute_lstm(Series(context, input, time_major), stacked, states, [LOGISTIC, TANH, TANH], is_constant=True)


def _stack(gates: dict[str, Value]) -> Node:
    arrays = [gates[gate].array for gate in ORDER]
    known = [array for array in arrays if array is not None]
    require(len(known) == len(arrays), "the engine's LSTM takes constant weights")
    return constant(np.concatenate(known).astype(np.float32))


@lower(Composite.LSTM_SEQUENCE)
def lstm(
    context: OpenvinoContext,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    peepholes: Value | None,
    hidden_in: Value,
    cell_state_in: Value,
    input_forget: bool,
    **options: Any,
) -> Sequence[Value]:
    require(peepholes is None and not input_forget, "the engine's LSTM has four gates and no peepholes")
    activations = [options.pop(f"{name}_activation") for name in ("gate", "cell", "hidden")]
    units = hidden_in.type.dimensions[1]

    def reorder(value: Value) -> Node:
        return op.concat([_block(value.real(), position * units, units) for position in COMPOSITE_ORDER], 0)

    stacked, states = [reorder(each) for each in (weights, recurrent_weights, bias)], [hidden_in, cell_state_in]
    is_constant = recurrent_weights.array is not None
    series = Series(context, input, **options)
    return _compute_lstm(series, stacked, [state.real() for state in states], activations, is_constant=is_constant)


def _compute_lstm(
    series: Series, operands: Sequence[Node], states: Sequence[Node], activations: list[int], *, is_constant: bool
) -> list[Value]:
    """Return an LSTM's results; ``operands`` are its weights, recurrent weights and bias, in the engine's order."""
    weights, recurrent, bias = operands
    is_usual = series.is_plain and is_constant and activations == [LOGISTIC, TANH, TANH]
    if is_usual and not _is_small(states[0], LARGEST_LSTM):
        return series.repeat(lstm_step(recurrent), weights, bias, states)
    sequence = op.lstm_sequence(
        series.batch_first(),
        *(_with_direction(state, 1) for state in states),
        series.lengths(),
        *(_with_direction(each, 0) for each in operands),
        states[0].shape[1],
        series.direction,
        _name(activations),
        clip=float(series.clip),
    )
    return series.results(sequence)


@lower(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(context: OpenvinoContext, activation: int, **operands: Any) -> Sequence[Value]:
    require(activation == RELU, f"activation is {activation}, the engine's RNN has no other than 1 (RELU) of NNAPI's")
    results: Sequence[Value] = rnn(context, activation=activation, **operands)
    return results


@lower(Composite.RNN_SEQUENCE)
def rnn(
    context: OpenvinoContext,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    hidden_in: Value,
    activation: int,
    **options: Any,
) -> Sequence[Value]:
    series, state, (function,) = Series(context, input, **options), hidden_in.real(), _name([activation])
    is_constant = recurrent_weights.array is not None
    if series.is_plain and is_constant and not _is_small(state, LARGEST_RNN):
        return series.repeat(rnn_step(recurrent_weights.real(), function), weights.real(), bias.real(), [state])
    sequence = op.rnn_sequence(
        series.batch_first(),
        _with_direction(state, 1),
        series.lengths(),
        *(_with_direction(each.real(), 0) for each in (weights, recurrent_weights, bias)),
        state.shape[1],
        series.direction,
        [function],
        clip=float(series.clip),
    )
    return series.results(sequence)


@lower(Composite.GRU)
def gru(
    context: OpenvinoContext,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    recurrent_bias: Value,
    hidden_in: Value,
    linear_before_reset: bool,
    **options: Any,
) -> Sequence[Value]:
    """Lower GRU. If it resets before the product, the engine's own is slower than a loop of single operators."""
    activations = [options.pop(name) for name in ("gate_activation", "activation")]
    series, state = Series(context, input, **options), hidden_in.real()
    matrices, own, recurrent = [weights.real(), recurrent_weights.real()], bias.real(), recurrent_bias.real()
    arrays = [each.array for each in (recurrent_weights, recurrent_bias)]
    known = [array.astype(np.float32, copy=False) for array in arrays if array is not None]
    is_usual = series.is_plain and len(known) == 2 and activations == [LOGISTIC, TANH]
    if is_usual and not (linear_before_reset and _is_small(state, LARGEST_GRU)):
        return series.repeat(gru_step(known[0], known[1], linear_before_reset), matrices[0], own, [state])
    units, total = state.shape[1], op.add(own, recurrent)
    if linear_before_reset:  # the reset gate multiplies this product with its bias
        candidates = (_block(each, 2 * units, units) for each in (own, recurrent))
        total = op.concat([_block(total, 0, 2 * units), *candidates], 0)
    sequence = op.gru_sequence(
        series.batch_first(),
        _with_direction(state, 1),
        series.lengths(),
        *(_with_direction(each, 0) for each in (*matrices, total)),
        units,
        series.direction,
        _name(activations),
        clip=float(series.clip),
        linear_before_reset=linear_before_reset,
    )
    return series.results(sequence)


def _name(activations: Sequence[int]) -> list[str]:
    unknown = [each for each in activations if each not in FUNCTIONS]
    require(not unknown, f"the engine's cell has no activation {', '.join(map(str, unknown))}")
    return [FUNCTIONS[each] for each in activations]


def _is_small(state: Node, largest: tuple[int, int]) -> bool:
    units, elements = largest
    return bool(state.shape[1] <= units) and math.prod(state.shape) <= elements


def _swap(x: Node) -> Node:
    """Swap the axes of batch and time."""
    return op.transpose(x, integers([1, 0, 2]))


def _with_direction(x: Node, axis: int) -> Node:
    """Add the axis of directions."""
    return op.unsqueeze(x, integers([axis]))


def _block(x: Node, begin: int, size: int) -> Node:
    """Return some rows."""
    return op.gather(x, integers(range(begin, begin + size)), integers(0))
