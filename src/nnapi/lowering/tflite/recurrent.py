"""Recurrent cells that TensorFlow Lite computes as NNAPI does."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.lstm_parameters import Cell, cell_of, list_norms, list_operands
from nnapi.ops.quantized_lstm import gate_scales

TANH = 4
LEAST_VARIANCE = 10000
"""TensorFlow Lite's least variance of a normalized gate, in units of the weights' scale; at least 1."""
ACTIVATIONS = (1, 3, 4)
"""RELU, RELU6 and TANH. TensorFlow Lite has no LOGISTIC, and without an activation leaves the output unset."""
RNN_ACTIVATIONS = (0, *ACTIVATIONS)


def lstm_operator(
    kind: str, input: Tensor, states: Sequence[Tensor], outputs: list[Tensor], arguments: Mapping[str, Any]
) -> Operator:
    """Return an LSTM operator with the operands and options of ``arguments``. May raise Unsupported."""
    check_projection(arguments["projection_weights"])
    activation = arguments["activation"]
    refusal = f"activation is {activation}, the engine's LSTM computes 1 (RELU), 3 (RELU6) and 4 (TANH)"
    require(activation in ACTIVATIONS, refusal)
    options = {"activation": activation, **{name: float(arguments[name]) for name in ("cell_clip", "proj_clip")}}
    if kind != "LSTM":
        options["time_major"] = bool(arguments["time_major"])
    inputs = [input, *list_operands(arguments), *states, *list_norms(arguments)]
    return Operator(kind, inputs, outputs, options)


def check_projection(projection: Tensor | None) -> None:
    """Refuse a projection to more outputs than cells: TFLite's buffer for the sums would be too small."""
    outputs, cells = (0, 0) if projection is None else projection.shape
    refusal = f"{cells} cells are projected to {outputs} outputs, more than the engine keeps room for"
    require(outputs <= cells, refusal)


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: TfliteContext, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **others: Any
) -> Tensor:
    require(len(context.call.results) == 1, "TensorFlow Lite does not return the last states")
    out, states = context.result(), (output_state_in, cell_state_in)
    operator = lstm_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", input, states, [out, cell_state_in.like()], others)
    context.operators.append(operator)
    return out


@lower(Composite.RNN_SEQUENCE)
def sequence_rnn(
    context: TfliteContext,
    input: Tensor,
    recurrent_weights: Tensor,
    hidden_in: Tensor,
    sequence_lengths: Tensor | None,
    activation: int,
    clip: float,
    reverse: bool,
    time_major: bool,
    **others: Any,
) -> Sequence[Tensor]:
    require(sequence_lengths is None and not clip, "TensorFlow Lite's RNN has no sequence lengths, and clips no sums")
    refusal = (
        f"activation is {activation}, TensorFlow Lite's RNN has no other than {', '.join(map(str, RNN_ACTIVATIONS))}"
    )
    require(activation in RNN_ACTIVATIONS, refusal)
    weights, bias = (context.stored_tensor(name) for name in ("weights", "bias"))
    inputs = [turn(context, input, reverse, time_major), weights, recurrent_weights, bias, hidden_in]
    kind, options = "UNIDIRECTIONAL_SEQUENCE_RNN", {"time_major": time_major, "activation": activation}
    out = context.emit(kind, inputs, context.real_result().like(), **options)
    return turn(context, out, reverse, time_major), step_of(context, out, time_major)


def turn(context: TfliteContext, sequence: Tensor, reverse: bool, time_major: bool) -> Tensor:
    """Return a sequence in reverse order if ``reverse``."""
    if not reverse:
        return sequence
    return context.emit("REVERSE_V2", [sequence, constant([find_time_axis(time_major)])], sequence.like())


def step_of(context: TfliteContext, sequence: Tensor, time_major: bool) -> Tensor:
    """Return the last output of a sequence as a state [batch, size]."""
    axis = find_time_axis(time_major)
    begin = [0, 0, 0]
    begin[axis] = sequence.shape[axis] - 1
    shape = tuple(1 if i == axis else dimension for i, dimension in enumerate(sequence.shape))
    return context.reshape(context.cut(sequence, begin, shape), (*shape[:axis], *shape[axis + 1 :]))


def find_time_axis(time_major: bool) -> int:
    return 0 if time_major else 1


@lower(Op.QUANTIZED_LSTM)
def quantized_lstm(context: TfliteContext, **arguments: Any) -> Sequence[Tensor]:
    hidden, state, output = context.results(3)
    is_one = hidden.same_quantization(output)
    require(is_one, "output_state_out and output differ in scale or zero point: TFLite has one result for both")
    context.operators.append(quantized_lstm_operator("LSTM", [hidden, state], **arguments))
    return hidden, state, hidden


@lower(Composite.QUANTIZED_LSTM_SEQUENCE)
def quantized_lstm_sequence(context: TfliteContext, time_major: bool, **arguments: Any) -> Sequence[Tensor]:
    output, hidden, state = context.results(3)
    is_one = hidden.same_quantization(output)
    require(is_one, "output_state_out and output differ in scale or zero point: TFLite has one result for both")
    operator = quantized_lstm_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", [output, state], **arguments)
    operator.options["time_major"] = bool(time_major)
    context.operators.append(operator)
    return output, step_of(context, output, time_major), state


def quantized_lstm_operator(
    kind: str,
    outputs: list[Tensor],
    input: Tensor,
    output_in: Tensor,
    cell_state_in: Tensor,
    cell_clip: float | None,
    proj_clip: float | None,
    hidden_state_zero_point: int,
    hidden_state_scale: float,
    **operands: Any,
) -> Operator:
    """Return an operator that computes in integers. May raise Unsupported."""
    cell: Cell[Tensor] = cell_of(operands)
    clips = f"proj_clip is {proj_clip}: TFLite clips the quantized values of the projection, not its float values"
    require(not proj_clip, clips)
    is_exact = not (cell.peephole and cell.projection)
    require(is_exact, "TFLite computes quantized cells with both peepholes and a projection incorrectly")
    weights, norms = list_operands(operands), list_norms(operands)
    for gate, norm in cell.norm.items():
        least = int(np.float32(LEAST_VARIANCE) * np.float32(norm.unit))
        require(least <= 1, f"TFLite normalizes the {gate} gate with a variance of at least {least}, not 1")
    for each in (*weights, *norms):
        require(each is None or each.is_constant, f"{each} is computed, TensorFlow Lite needs it constant")
    inputs = [input, *weights, output_in, cell_state_in, *norms]
    intermediates = [Tensor("i16", (1,), scale) for scale in gate_scales(operands).values()]  # gate sums
    intermediates.append(Tensor("i8", (1,), float(hidden_state_scale), hidden_state_zero_point))
    options = {"activation": TANH, "cell_clip": float(cell_clip or 0), "proj_clip": 0.0}
    return Operator(kind, inputs, outputs, options, intermediates)
