"""Simple recurrent networks: a fully connected layer whose last output is a further input.

RNN: one step of a simple recurrent network.
BIDIRECTIONAL_SEQUENCE_RNN: a simple recurrent network over a sequence in both directions.
UNIDIRECTIONAL_SEQUENCE_RNN: a simple recurrent network over a sequence.
"""

from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Slot, Tensor, one_of
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.cell_proposals import propose_all_or_none, propose_input
from nnapi.ops.quantized_values import BOUNDS
from nnapi.ops.recurrent_sequence import by_time, check_aux, dimensions, link, over_time, run_both, shapes_of_directions
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import floats


def _cell(prefix: str = "", since: int = 1) -> tuple[Slot, ...]:
    ranks = {"weights": 2, "recurrent_weights": 2, "bias": 1, "hidden_in": 2}
    return tuple(
        Tensor(prefix + name, like="input", rank=rank, late_rank=True, since=since) for name, rank in ranks.items()
    )


def _activation(since: int = 1) -> Slot:
    # Not an ActivationParameter, because the activation is part of the recurrence.
    return Scalar("activation", OperandCode.INT32, since=since, check=one_of(*FuseCode))


def _optional(name: str, rank: int) -> Slot:
    return Tensor(name, like="input", rank=rank, late_rank=True, optional=True, since=3)


RNN = Operation(
    OperationCode.RNN,
    facts=Facts(Kind.RECURRENT),
    inputs=(Tensor("input", floats(), rank=2, late_rank=True), *_cell(), _activation()),
    outputs=(Tensor("hidden_out", like="input"), Tensor("output", like="input")),
    failure=BadDataError,
)

UNIDIRECTIONAL_SEQUENCE_RNN = Operation(
    OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN,
    facts=Facts(Kind.RECURRENT, Trait.FEEDS_BACK),
    inputs=(
        Tensor("input", floats(3), rank=3, late_rank=True),
        *_cell(since=3),
        _activation(3),
        Scalar("time_major", OperandCode.INT32, since=3, check=one_of(0, 1)),
    ),
    outputs=(Tensor("output", like="input"), Tensor("hidden_out", like="input")),
    output_lengths={1: 3, 2: 4},
    optional_outputs=1,
)

BIDIRECTIONAL_SEQUENCE_RNN = Operation(
    OperationCode.BIDIRECTIONAL_SEQUENCE_RNN,
    facts=Facts(Kind.RECURRENT, Trait.FEEDS_BACK),
    inputs=(
        Tensor("input", floats(3), rank=3, late_rank=True),
        *_cell("fw_", since=3),
        *_cell("bw_", since=3),
        _optional("aux_input", 3),
        _optional("fw_aux_weights", 2),
        _optional("bw_aux_weights", 2),
        _activation(3),
        Scalar("time_major", OperandCode.BOOL, since=3),
        Scalar("merge_outputs", OperandCode.BOOL, since=3),
    ),
    outputs=tuple(Tensor(name, like="input") for name in ("fw_output", "bw_output", "fw_hidden_out", "bw_hidden_out")),
    output_lengths={1: 3, 2: 3, 3: 4, 4: 4},
    optional_outputs=2,
)


def _check_cell(operands: dict[str, Any], prefix: str, batch: int, input_size: int) -> int:
    """Return the number of units of a cell; raise OpFailedError if its operands do not fit together."""
    units = operands[f"{prefix}weights"].shape[0]
    wanted = {
        "weights": (units, input_size),
        "recurrent_weights": (units, units),
        "bias": (units,),
        "hidden_in": (batch, units),
    }
    for name, want in wanted.items():
        need_shape(prefix + name, operands[prefix + name], want)
    return int(units)


def rnn_step(
    x: Array,
    aux: Array | None,
    h: Array,
    *,
    weights: Array,
    recurrent_weights: Array,
    bias: Array,
    activation: int,
    aux_weights: Array | None = None,
) -> tuple[Array]:
    """Return the next output and state: act(W x + A aux + R h + b)."""
    z = x @ weights.T + h @ recurrent_weights.T + bias
    if aux is not None and aux_weights is not None:
        z += aux @ aux_weights.T
    return (np.clip(z, *BOUNDS[FuseCode(activation)]),)


@RNN.shape
def infer_rnn_shapes(input: OperandType, activation: int, **operands: Any) -> list[Shape]:
    batch, input_size = input.shape
    units = _check_cell(operands, "", batch, input_size)
    return [(batch, units), (batch, units)]


@RNN.kernel
def rnn(input: Array, hidden_in: Array, **cell: Any) -> list[Array]:
    (h,) = rnn_step(input, None, hidden_in, **cell)
    return [h, h]


@UNIDIRECTIONAL_SEQUENCE_RNN.shape
def infer_unidirectional_sequence_rnn_shapes(
    input: OperandType, activation: int, time_major: int, **operands: Any
) -> list[Shape]:
    _, batch, input_size = dimensions(input, time_major)
    units = _check_cell(operands, "", batch, input_size)
    return [(*input.shape[:2], units), (batch, units)]


@UNIDIRECTIONAL_SEQUENCE_RNN.kernel
def unidirectional_sequence_rnn(input: Array, hidden_in: Array, time_major: int, **cell: Any) -> list[Array]:
    outputs, (h,) = over_time(partial(rnn_step, **cell), by_time(input, time_major), None, (hidden_in,))
    return [by_time(outputs, time_major), h]


@BIDIRECTIONAL_SEQUENCE_RNN.shape
def infer_bidirectional_sequence_rnn_shapes(
    input: OperandType,
    aux_input: OperandType | None,
    activation: int,
    time_major: bool,
    merge_outputs: bool,
    **operands: Any,
) -> list[Shape]:
    fw, bw = ("aux_weights" if operands[f"{prefix}_aux_weights"] else None for prefix in ("fw", "bw"))
    check_aux(input, aux_input, fw, bw)
    bw_input, aux = link(input, aux_input, bool(fw))
    _, batch, input_size = dimensions(input, time_major)
    fw_units = _check_cell(operands, "fw_", batch, input_size)
    bw_units = _check_cell(operands, "bw_", batch, bw_input.shape[2])
    if aux:
        need_shape("fw_aux_weights", operands["fw_aux_weights"], (fw_units, aux.shape[2]))
        need_shape("bw_aux_weights", operands["bw_aux_weights"], (bw_units, aux.shape[2]))
    return [
        *shapes_of_directions(input.shape[:2], fw_units, bw_units, merge_outputs),
        (batch, fw_units),
        (batch, bw_units),
    ]


@BIDIRECTIONAL_SEQUENCE_RNN.kernel
def bidirectional_sequence_rnn(
    input: Array, aux_input: Array | None, activation: int, time_major: bool, merge_outputs: bool, **operands: Any
) -> list[Array]:
    names = ("weights", "recurrent_weights", "bias", "aux_weights")
    fw, bw = (
        partial(rnn_step, activation=activation, **{name: operands[prefix + name] for name in names})
        for prefix in ("fw_", "bw_")
    )
    states = (operands["fw_hidden_in"],), (operands["bw_hidden_in"],)
    weighted = operands["fw_aux_weights"] is not None
    return run_both((fw, bw), states, input, aux_input, weighted, time_major, merge_outputs)


@RNN.proposal
@UNIDIRECTIONAL_SEQUENCE_RNN.proposal
@BIDIRECTIONAL_SEQUENCE_RNN.proposal
def propose_rnn(draw: Draw) -> Proposal:
    input, batch = propose_input(draw)
    proposal = draw.proposal
    aux = (*input[:-1], draw.dimension(17))
    for prefix in ("fw_", "bw_") if "fw_bias" in draw.names else ("",):
        units = draw.dimension(33)
        shapes: dict[str, Shape] = {"weights": (units, input[-1]), "recurrent_weights": (units, units)}
        shapes["aux_weights"] = (units, aux[-1])
        shapes |= {"bias": (units,), "hidden_in": (batch, units)}
        proposal.shapes |= {prefix + name: shape for name, shape in shapes.items()}
    proposal.shapes["aux_input"] = aux
    propose_all_or_none(draw, {name for name in draw.names if "aux" in name})
    return proposal
