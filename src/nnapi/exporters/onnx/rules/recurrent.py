"""Recurrent cells over a sequence, as ONNX's GRU, LSTM and RNN."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.lstm_parameters import Cell, cell_of

RELU, TANH, LOGISTIC = 1, 4, 6
FUNCTIONS = {RELU: "Relu", TANH: "Tanh", LOGISTIC: "Sigmoid"}
"""ONNX's names of activations."""
GATES = ("input", "output", "forget", "cell")
"""ONNX's order of an LSTM's gates."""


@lower(Composite.GRU)
def gru(
    context: OnnxContext,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    recurrent_bias: Value,
    hidden_in: Value,
    gate_activation: int,
    activation: int,
    linear_before_reset: bool,
    **options: Any,
) -> list[Value]:
    both = _stack(context, [bias, recurrent_bias])
    attributes = {"linear_before_reset": int(linear_before_reset)}
    activations = [gate_activation, activation]
    return _emit(
        context, "GRU", input, [weights, recurrent_weights, both], [hidden_in], activations, options, attributes
    )


@lower(Composite.RNN_SEQUENCE)
def rnn(
    context: OnnxContext,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    hidden_in: Value,
    activation: int,
    **options: Any,
) -> list[Value]:
    both = _stack(context, [bias, _zeros_like(bias)])
    return _emit(context, "RNN", input, [weights, recurrent_weights, both], [hidden_in], [activation], options, {})


@lower(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(context: OnnxContext, time_major: int, **operands: Any) -> list[Value]:
    options: dict[str, Any] = {"clip": 0.0, "reverse": False, "time_major": bool(time_major)}
    results: list[Value] = rnn(context, **operands, **options, sequence_lengths=None)
    return results


@lower(Composite.LSTM_SEQUENCE)
def lstm(
    context: OnnxContext,
    input: Value,
    weights: Value,
    recurrent_weights: Value,
    bias: Value,
    peepholes: Value | None,
    hidden_in: Value,
    cell_state_in: Value,
    gate_activation: int,
    cell_activation: int,
    hidden_activation: int,
    input_forget: bool,
    **options: Any,
) -> list[Value]:
    operands = [weights, recurrent_weights, _stack(context, [bias, _zeros_like(bias)]), peepholes]
    activations = [gate_activation, cell_activation, hidden_activation]
    attributes = {"input_forget": int(input_forget)}
    return _emit(context, "LSTM", input, operands, [hidden_in, cell_state_in], activations, options, attributes)


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: OnnxContext, input: Value, output_state_in: Value, cell_state_in: Value, time_major: bool, **operands: Any
) -> list[Value]:
    cell: Cell[Value] = cell_of(operands)
    is_plain = not (cell.is_coupled or cell.norm or cell.projection or cell.cell_clip)
    require(is_plain, "ONNX's LSTM has four gates, no normalization and no projection, and clips no state")
    weights, recurrent, bias = (
        _stack(context, [gates[gate] for gate in GATES]) for gates in (cell.input, cell.recurrent, cell.bias)
    )
    peepholes = _stack(context, [cell.peephole[gate] for gate in GATES[:3]]) if cell.peephole else None
    both = _stack(context, [bias, _zeros_like(bias)])
    options = {"sequence_lengths": None, "clip": 0.0, "reverse": False, "time_major": time_major}
    activations, states = [LOGISTIC, cell.activation, cell.activation], [output_state_in, cell_state_in]
    return _emit(context, "LSTM", input, [weights, recurrent, both, peepholes], states, activations, options, {})


def _emit(
    context: OnnxContext,
    kind: str,
    input: Value,
    weights: Sequence[Value | None],
    states: Sequence[Value],
    activations: Sequence[int],
    options: dict[str, Any],
    attributes: dict[str, Any],
) -> list[Value]:
    """Append a node of one direction; return the results of the call. ``weights`` are those of the input and of the
    recurrence, the bias, and an LSTM's peepholes."""
    require(input.element == np.float32, f"{kind} of ONNX Runtime computes float32 only")
    unknown = [code for code in activations if code not in FUNCTIONS]
    require(not unknown, f"ONNX's {kind} has no activation {', '.join(map(str, unknown))}")
    time_major, lengths = options["time_major"], options["sequence_lengths"]
    x = input if time_major else context.transpose(input, (1, 0, 2))
    (steps, batch, _), units = x.shape, states[0].shape[1]
    own = [None if value is None else context.reshape(value, (1, *value.shape)) for value in weights]
    before = [context.reshape(state, (1, *state.shape)) for state in states]
    outputs = [x.like((steps, 1, batch, units)), *(state.like((1, batch, units)) for state in states)]
    attributes |= {"hidden_size": units, "activations": [FUNCTIONS[code] for code in activations]}
    if options["clip"]:
        attributes["clip"] = float(options["clip"])
    if options["reverse"]:
        attributes["direction"] = "reverse"
    if lengths is not None:
        lengths = context.clip(lengths, 0, steps)
    context.emit(kind, [x, *own[:3], lengths, *before, *own[3:]], outputs[0], **attributes)
    context.operators[-1].outputs += outputs[1:]
    made = context.reshape(outputs[0], (steps, batch, units))
    made = made if time_major else context.transpose(made, (1, 0, 2))
    last = [context.reshape(output, (batch, units)) for output in outputs[1:]]
    return [made, *last][: len(context.call.results)]


def _stack(context: OnnxContext, values: Sequence[Value]) -> Value:
    """Return values one after another, along their first axis."""
    arrays = [value.data for value in values if value.data is not None]
    shape = (sum(value.shape[0] for value in values), *values[0].shape[1:])
    if len(arrays) == len(values):
        return values[0].like(shape, data=np.concatenate(arrays))
    return context.emit("Concat", list(values), values[0].like(shape), axis=0)


def _zeros_like(value: Value) -> Value:
    return constant(np.zeros(value.shape), value.element)
