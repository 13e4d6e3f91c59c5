"""Recurrent cells that TensorFlow Lite computes as NNAPI does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor
from nnapi.formats.tflite.quantized_lstm import cell_operator, find_obstacle
from nnapi.lowering.lower import require
from nnapi.lowering.tflite.context import Context, lower
from nnapi.ops.lstm_parameters import Cell, cell_of, list_norms, list_operands
from nnapi.ops.quantized_lstm import gate_scales


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
    """One step in integers, which are NNAPI's."""
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
