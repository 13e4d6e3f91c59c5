"""Cells that TFLite has itself: they keep their state in variables, which every run begins with the states given.

They are written as functions here, whose new states follow the output; ``state_variables`` makes variables of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.exporters import cells
from nnapi.exporters.tflite.context import RULES, Context, lower
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.formats.tflite.quantized_lstm import cell_operator, find_obstacle
from nnapi.lowering.lower import require
from nnapi.ops.lstm_parameters import list_norms, list_operands
from nnapi.ops.quantized_lstm import gate_scales

ACTIVATIONS = (1, 3, 4)
"""RELU, RELU6 and TANH, those of an LSTM that TFLite's computes, in its numbers."""

cells.register(RULES)


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: Context,
    input: Tensor,
    output_state_in: Tensor,
    cell_state_in: Tensor,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    time_major: bool,
    **operands: Tensor | None,
) -> Sequence[Tensor]:
    """One operator, unless the model asks for the last states, which TFLite does not give."""
    projection = operands["projection_weights"]
    has_room = projection is None or projection.shape[0] <= projection.shape[1]  # TFLite's scratch is for the cells
    if len(context.call.results) > 1 or activation not in ACTIVATIONS or not has_room:
        states = {"output_state_in": output_state_in, "cell_state_in": cell_state_in}
        numbers = {"activation": activation, "cell_clip": cell_clip, "proj_clip": proj_clip, "time_major": time_major}
        written: Sequence[Tensor] = cells.sequence_lstm(context, input, **states, **numbers, **operands)  # type: ignore[arg-type]
        return written
    inputs = [input, *list_operands(operands), output_state_in, cell_state_in, *list_norms(operands)]
    options = {
        "activation": activation,
        "cell_clip": float(cell_clip),
        "proj_clip": float(proj_clip),
        "time_major": bool(time_major),
    }
    out = context.result()
    context.operators.append(Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [out, cell_state_in.like()], options))
    return (out,)


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
    """One step in integers, which are TFLite's too."""
    hidden, state, output = (context.result(position) for position in range(3))
    norms, weights = list_norms(operands), list_operands(operands)
    has_peephole = any(each is not None for each in weights[8:11])
    obstacle = find_obstacle(proj_clip, has_peephole, operands["projection_weights"] is not None, hidden, output)
    require(not obstacle, obstacle)
    require(all(each is None or each.is_constant for each in (*weights, *norms)), "its weights are computed")
    inputs = [input, *weights, output_in, cell_state_in, *norms]
    codes = (float(hidden_state_scale), hidden_state_zero_point)
    scales = gate_scales(operands).values()
    context.operators.append(cell_operator(inputs, [hidden, state], scales, codes, cell_clip))
    return hidden, state, hidden
