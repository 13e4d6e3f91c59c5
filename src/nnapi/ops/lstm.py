"""Long short-term memory: one step, or along time in one direction or in two.

LSTM: one step of a long short-term memory.
BIDIRECTIONAL_SEQUENCE_LSTM: an LSTM over a sequence in both directions.
UNIDIRECTIONAL_SEQUENCE_LSTM: an LSTM over a sequence.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import ROUNDING, Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation, Overload
from nnapi.model.parameter import Scalar, Tensor
from nnapi.ops.cell_proposals import propose_lstm
from nnapi.ops.lstm_cell import lstm_step
from nnapi.ops.lstm_parameters import (
    aux_parameters,
    cell_of,
    cell_parameters,
    check_cell,
    check_step,
    norm_parameters,
    operand_name,
    option_parameters,
    state_parameters,
)
from nnapi.ops.recurrent_sequence import by_time, check_aux, dimensions, link, over_time, run_both, shapes_of_directions
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import floats

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
def infer_lstm_shapes(input: OperandType, **operands: Any) -> list[Shape]:
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


INPUT = Tensor("input", floats(3), rank=3, late_rank=True)
FW_STATES = ("fw_activation_state", "fw_cell_state")
BW_STATES = ("bw_activation_state", "bw_cell_state")

UNIDIRECTIONAL_SEQUENCE_LSTM = Operation(
    OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
    facts=Facts(Kind.RECURRENT, Trait.FEEDS_BACK),
    inputs=(
        INPUT,
        *cell_parameters(since=3),
        *state_parameters("output_state_in", "cell_state_in", since=3),
        *option_parameters(since=3),
        Scalar("time_major", OperandCode.BOOL, since=3),
        *norm_parameters(since=3),
    ),
    outputs=tuple(Tensor(name, like="input") for name in ("output", "output_state_out", "cell_state_out")),
    output_lengths={1: 3, 3: 4},
    optional_outputs=2,
)

BIDIRECTIONAL_SEQUENCE_LSTM = Operation(
    OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM,
    facts=Facts(Kind.RECURRENT, Trait.FEEDS_BACK),
    inputs=(
        INPUT,
        *cell_parameters("fw_", since=3),
        *cell_parameters("bw_", since=3),
        *state_parameters(*(f"{name}_in" for name in FW_STATES + BW_STATES), since=3),
        Tensor("aux_input", like="input", rank=3, late_rank=True, optional=True, since=3),
        *aux_parameters("fw_", since=3),
        *aux_parameters("bw_", since=3),
        *option_parameters(since=3),
        Scalar("merge_outputs", OperandCode.BOOL, since=3),
        Scalar("time_major", OperandCode.BOOL, since=3),
        *norm_parameters("fw_", since=3),
        *norm_parameters("bw_", since=3),
    ),
    outputs=tuple(
        Tensor(name, like="input")
        for name in ("fw_output", "bw_output", *(f"{name}_out" for name in FW_STATES + BW_STATES))
    ),
    output_lengths={1: 3, 2: 3, 5: 4, 6: 4},
    optional_outputs=4,
)


@UNIDIRECTIONAL_SEQUENCE_LSTM.shape
def infer_unidirectional_sequence_lstm_shapes(input: OperandType, time_major: bool, **operands: Any) -> list[Shape]:
    _, batch, input_size = dimensions(input, time_major)
    output, cell = check_step(operands, batch, input_size)
    return [(*input.shape[:2], output[1]), output, cell]


@UNIDIRECTIONAL_SEQUENCE_LSTM.kernel
def unidirectional_sequence_lstm(
    input: Array, output_state_in: Array, cell_state_in: Array, time_major: bool, **operands: Any
) -> list[Array]:
    step = partial(lstm_step, cell_of(operands))
    outputs, (h, c) = over_time(step, by_time(input, time_major), None, (output_state_in, cell_state_in))
    return [by_time(outputs, time_major), h, c]


@BIDIRECTIONAL_SEQUENCE_LSTM.shape
def infer_bidirectional_sequence_lstm_shapes(
    input: OperandType, aux_input: OperandType | None, merge_outputs: bool, time_major: bool, **operands: Any
) -> list[Shape]:
    fw, bw = (
        next((operand_name("aux", gate) for gate in cell_of(operands, prefix).aux), None) for prefix in ("fw_", "bw_")
    )
    check_aux(input, aux_input, fw, bw)
    bw_input, aux = link(input, aux_input, bool(fw))
    _, batch, _ = dimensions(input, time_major)
    sizes, states = [], []
    for prefix, reads, names in (("fw_", input, FW_STATES), ("bw_", bw_input, BW_STATES)):
        units, output_size = check_cell(operands, reads.shape[2], prefix, aux.shape[2] if aux else 0)
        for name, size in zip(names, (output_size, units), strict=True):
            need_shape(f"{name}_in", operands[f"{name}_in"], (batch, size))
            states.append((batch, size))
        sizes.append(output_size)
    return [*shapes_of_directions(input.shape[:2], sizes[0], sizes[1], merge_outputs), *states]


@BIDIRECTIONAL_SEQUENCE_LSTM.kernel
def bidirectional_sequence_lstm(
    input: Array, aux_input: Array | None, merge_outputs: bool, time_major: bool, **operands: Any
) -> list[Array]:
    fw, bw = cell_of(operands, "fw_"), cell_of(operands, "bw_")
    cells = partial(lstm_step, fw), partial(lstm_step, bw)
    fw_states, bw_states = (tuple(operands[f"{name}_in"] for name in names) for names in (FW_STATES, BW_STATES))
    return run_both(cells, (fw_states, bw_states), input, aux_input, bool(fw.aux), time_major, merge_outputs)


def _lose_by_gates(
    inputs: Sequence[Any], outputs: Sequence[Any], precision: str, *, operation: Operation
) -> list[Array]:
    from nnapi.ops.lstm_loss import by_gates  # only random tests need it

    given = dict(zip((slot.name for slot in operation.overloads[0].inputs), inputs, strict=False))
    results = dict(zip((slot.name for slot in operation.outputs), outputs, strict=False))
    return by_gates(given, results, ROUNDING[precision])


for _operation in (LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM):
    _operation.proposal(propose_lstm)
    _operation.loss(partial(_lose_by_gates, operation=_operation))
