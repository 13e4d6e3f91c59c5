"""Recurrent cells that TFLite has itself.

TFLite's cells keep their state in variables, which every run sets to the given states. They are written as functions
here, whose new states follow the output; ``state_variables`` makes variables of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.exporters.tflite.context import Context, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering import cells
from nnapi.model.operand import OperandType
from nnapi.ops.lstm_parameters import list_norms, list_operands

ACTIVATIONS = (1, 3, 4)
"""The activation codes that TFLite's LSTM computes: RELU, RELU6 and TANH."""


def _with_tensors(rule: Callable[..., Sequence[Tensor]]) -> Callable[..., Sequence[Tensor]]:
    """Return a rule that gets tensors also where other rules get types."""

    def lower_cell(context: Context, **arguments: Any) -> Sequence[Tensor]:
        types = [name for name, argument in arguments.items() if isinstance(argument, OperandType)]
        return rule(context, **arguments | {name: context.stored_tensor(name) for name in types})

    return lower_cell


for code, rule in cells.RULES.items():
    lower(code)(_with_tensors(rule))


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
    """Append one operator; decompose where the model asks for the last states, which TFLite does not return."""
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
    outputs = [context.result(), cell_state_in.like()]
    return context.emit_several("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, outputs, **options)[:1]
