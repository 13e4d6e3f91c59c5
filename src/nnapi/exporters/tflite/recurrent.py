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
from nnapi.lowering.lower import Unsupported
from nnapi.lowering.tflite import recurrent as canonical
from nnapi.model.operand import OperandType


def _with_tensors(rule: Callable[..., Sequence[Tensor]]) -> Callable[..., Sequence[Tensor]]:
    """Return a rule that gets tensors also where other rules get types."""

    def lower_cell(context: Context, **arguments: Any) -> Sequence[Tensor]:
        types = [name for name, argument in arguments.items() if isinstance(argument, OperandType)]
        return rule(context, **arguments | {name: context.stored_tensor(name) for name in types})

    return lower_cell


for code, rule in cells.RULES.items():
    lower(code)(_with_tensors(rule))


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(context: Context, **arguments: Any) -> Sequence[Tensor]:
    """Append one operator; decompose where TFLite's does not compute the call."""
    try:
        return [canonical.sequence_lstm(context, **arguments)]
    except Unsupported:
        written: Sequence[Tensor] = cells.sequence_lstm(context, **arguments)
        return written
