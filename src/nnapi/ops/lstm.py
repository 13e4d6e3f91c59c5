"""LSTM: one step of a long short-term memory."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation, Overload
from nnapi.model.parameter import Tensor
from nnapi.ops.lstm_cell import lstm_step
from nnapi.ops.lstm_parameters import (
    cell_of,
    cell_parameters,
    check_step,
    norm_parameters,
    option_parameters,
    state_parameters,
)
from nnapi.ops.types import floats

LSTM = Operation(
    OperationCode.LSTM,
    facts=Facts(Kind.RECURRENT),
    overloads=(
        Overload(
            "default",
            (
                Tensor("input", floats(), rank=2, late_rank=True),
                *cell_parameters(),
                *state_parameters("output_state_in", "cell_state_in"),
                *option_parameters(),
                *norm_parameters(since=3, default=None),
            ),
            lengths=(23, 27),
        ),
    ),
    outputs=(
        Tensor("scratch_buffer", like="input", unspecified=True),
        *(Tensor(name, like="input") for name in ("output_state_out", "cell_state_out", "output")),
    ),
)


@LSTM.shape
def infer_shapes(input: OperandType, **operands: Any) -> list[Shape]:
    batch, input_size = input.shape
    output, cell = check_step(operands, batch, input_size)
    gates = 3 if cell_of(operands).is_coupled else 4
    return [(batch, gates * cell[1]), output, cell, output]


@LSTM.kernel
def lstm(input: Array, output_state_in: Array, cell_state_in: Array, **operands: Any) -> list[Array]:
    cell = cell_of(operands)
    h, c = lstm_step(cell, input, None, output_state_in, cell_state_in)
    scratch = np.zeros((len(input), (3 if cell.is_coupled else 4) * c.shape[1]), np.float32)
    return [scratch, h, c, h]
