"""QUANTIZED_16BIT_LSTM: one step of an LSTM on 8-bit inputs with a 16-bit cell state."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Slot, Tensor
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.cell_proposals import propose_lstm
from nnapi.ops.fixed_point import (
    divide,
    logistic,
    multiplier,
    multiply_fixed_point,
    power_of_two,
    saturate,
    scale_integers,
    shift_left,
    sum_products,
    tanh,
)
from nnapi.ops.lstm_parameters import GATES, cell_of, check_cell, operand_name
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import INT32, QUANT8, QUANT16_SYMM

STATE_INTEGER_BITS = 4
ACTIVATION = (1 / 128, 128)


def _learnt(role: str, type: int, rank: int) -> tuple[Slot, ...]:
    return tuple(Tensor(operand_name(role, gate), {type: 3}, rank=rank, late_rank=True) for gate in GATES)


QUANTIZED_16BIT_LSTM = Operation(
    OperationCode.QUANTIZED_16BIT_LSTM,
    facts=Facts(Kind.RECURRENT),
    inputs=(
        Tensor("input", {QUANT8: 3}, rank=2, late_rank=True),
        *_learnt("input", QUANT8, 2),
        *_learnt("recurrent", QUANT8, 2),
        *_learnt("bias", INT32, 1),
        Tensor("cell_state_in", {QUANT16_SYMM: 3}, rank=2, late_rank=True),
        Tensor("output_in", {QUANT8: 3}, rank=2, late_rank=True),
    ),
    outputs=(
        Tensor("cell_state_out", {QUANT16_SYMM: 3}, quant="cell_state_in"),
        Tensor("output", {QUANT8: 3}, quant="output_in"),
    ),
    failure=BadDataError,
)


@QUANTIZED_16BIT_LSTM.shape
def infer_shapes(
    input: OperandType, cell_state_in: OperandType, output_in: OperandType, **operands: OperandType
) -> list[Shape]:
    batch, input_size = input.shape
    units, _ = check_cell(operands, input_size)
    need_shape("output_in", output_in, (batch, units))
    need_shape("cell_state_in", cell_state_in, (batch, units))
    weights = operands["input_to_input_weights"].scale, operands["input_to_input_weights"].zero_point
    _need_scale("input", input, *ACTIVATION)
    _need_scale("output_in", output_in, *ACTIVATION)
    need(
        power_of_two(cell_state_in.scale) == STATE_INTEGER_BITS - 15,
        f"cell_state_in has scale {cell_state_in.scale:g}, must have 2^{STATE_INTEGER_BITS - 15}",
    )
    for gate in GATES:
        for role in ("input", "recurrent"):
            name = operand_name(role, gate)
            _need_scale(name, operands[name], *weights)
        _need_scale(operand_name("bias", gate), operands[operand_name("bias", gate)], weights[0] / 128, 0)
    return [cell_state_in.shape, output_in.shape]


def _need_scale(name: str, type: OperandType, scale: float, zero_point: int) -> None:
    need(
        (type.scale, type.zero_point) == (scale, zero_point),
        f"{name} has scale {type.scale:g} and zero point {type.zero_point}, must have {scale:g} and {zero_point}",
    )


@QUANTIZED_16BIT_LSTM.kernel(kind="exact")
def quantized_16bit_lstm(
    call: Call, input: Array, cell_state_in: Array, output_in: Array, **operands: Any
) -> tuple[Array, Array]:
    cell = cell_of(operands)
    weights, bias = call.arguments["input_to_input_weights"], call.arguments["input_gate_bias"]
    to_gate = multiplier(bias.scale * 2**12)  # gates have 3 integer bits
    x, h = (values.astype(np.int64) - ACTIVATION[1] for values in (input, output_in))

    def gate(name: str) -> Array:
        # The specification pairs weights and values by name. In the published examples, and so on every device, the
        # columns [recurrent weights, input weights] are multiplied by [input, output_in] in this order.
        matrices = np.hstack((cell.recurrent[name], cell.input[name])).astype(np.int64) - weights.zero_point
        return saturate(scale_integers(sum_products(np.hstack((x, h)), matrices) + cell.bias[name], to_gate))

    added = multiply_fixed_point(logistic(gate("input")), tanh(gate("cell"), 3))
    kept = multiply_fixed_point(logistic(gate("forget")), cell_state_in.astype(np.int64))
    c = saturate(divide(added, STATE_INTEGER_BITS) + kept)
    output = multiply_fixed_point(logistic(gate("output")), tanh(shift_left(c, STATE_INTEGER_BITS - 3), 3))
    return c.astype(np.int16), (saturate(divide(output, 8), 8) + ACTIVATION[1]).astype(np.uint8)


@QUANTIZED_16BIT_LSTM.proposal
def propose_16bit_lstm(draw: Draw) -> Proposal:
    """Propose the scales that QUANTIZED_16BIT_LSTM supports; all weights share one scale."""
    proposal = propose_lstm(draw)
    weights = (draw.pick(1 / 128, 1 / 64, 0.0117), draw.upto(255))
    proposal.quantization = {name: weights for name in draw.names if name.endswith("_weights")}
    proposal.quantization |= {"input": (1 / 128, 128), "output_in": (1 / 128, 128), "cell_state_in": (2.0**-11, 0)}
    return proposal
