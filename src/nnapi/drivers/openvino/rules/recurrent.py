"""LSTM over time, by OpenVINO's LSTMSequence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, integers, lower
from nnapi.drivers.openvino.recurrences import swap
from nnapi.drivers.openvino.value import Node, Value, constant
from nnapi.lowering.refusal import require
from nnapi.ops.lstm_parameters import Cell, cell_of

TANH = 4
ORDER = ("forget", "input", "cell", "output")
"""OpenVINO's order of the gates."""


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
    (batch, units), axes = cell_state_in.type.dimensions, integers([1])
    x = swap(input.real()) if time_major else input.real()
    steps = input.type.dimensions[0 if time_major else 1]
    states = [op.unsqueeze(state.real(), axes) for state in (output_state_in, cell_state_in)]
    sequence = op.lstm_sequence(x, *states, integers([steps] * batch), weights, recurrent, bias, units, "forward")
    outputs = [op.squeeze(output, axes) for output in sequence.outputs()]
    if time_major:
        outputs[0] = swap(outputs[0])
    return [context.result(each, position=i) for i, each in enumerate(outputs[: len(context.call.results)])]


def _stack(gates: dict[str, Value]) -> Node:
    arrays = [gates[gate].array for gate in ORDER]
    known = [array for array in arrays if array is not None]
    require(len(known) == len(arrays), "the engine's LSTM takes constant weights")
    return constant(np.concatenate(known)[np.newaxis].astype(np.float32))
