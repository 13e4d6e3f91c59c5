"""Recurrent cells that TensorFlow Lite computes as NNAPI does."""

from collections.abc import Mapping, Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.formats.tflite.quantized_lstm import cell_operator, find_obstacle
from nnapi.lowering.lower import require
from nnapi.lowering.tflite.context import Context, lower
from nnapi.ops.lstm_parameters import Cell, cell_of, list_norms, list_operands
from nnapi.ops.quantized_lstm import gate_scales

ACTIVATIONS = (1, 3, 4)
"""RELU, RELU6 and TANH: TensorFlow Lite leaves the output unset without one, and has no LOGISTIC."""


def lstm_operator(
    kind: str, input: Tensor, states: Sequence[Tensor], outputs: list[Tensor], arguments: Mapping[str, Any]
) -> Operator:
    """Return a cell with the operands and options of ``arguments``; Unsupported for unsupported ones."""
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
    """Refuse a projection to more outputs than cells, for which the sums have no buffer."""
    outputs, cells = (0, 0) if projection is None else projection.shape
    refusal = f"{cells} cells are projected to {outputs} outputs, more than the engine keeps room for"
    require(outputs <= cells, refusal)


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: Context, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **others: Any
) -> Tensor:
    require(len(context.call.results) == 1, "TensorFlow Lite does not return the last states")
    out, states = context.result(), (output_state_in, cell_state_in)
    operator = lstm_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", input, states, [out, cell_state_in.like()], others)
    context.operators.append(operator)
    return out


@lower(Op.QUANTIZED_LSTM)
def quantized_lstm(
    context: Context,
    input: Tensor,
    output_in: Tensor,
    cell_state_in: Tensor,
    cell_clip: float | None,
    proj_clip: float | None,
    hidden_state_zero_point: int,
    hidden_state_scale: float,
    **operands: Any,
) -> Sequence[Tensor]:
    cell: Cell[Tensor] = cell_of(operands)
    hidden, state, output = context.results(3)
    obstacle = find_obstacle(proj_clip, bool(cell.peephole), bool(cell.projection), hidden, output)
    require(not obstacle, obstacle)
    weights, norms = list_operands(operands), list_norms(operands)
    for each in (*weights, *norms):
        require(each is None or each.is_constant, f"{each} is computed, TensorFlow Lite needs it constant")
    inputs = [input, *weights, output_in, cell_state_in, *norms]
    stored = (float(hidden_state_scale), hidden_state_zero_point)
    context.operators.append(cell_operator(inputs, [hidden, state], gate_scales(operands).values(), stored, cell_clip))
    return hidden, state, hidden
