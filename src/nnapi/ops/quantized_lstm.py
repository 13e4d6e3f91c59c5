"""LSTM on 8-bit inputs, with projection, layer normalization and clipping: one step, or along time.

QUANTIZED_LSTM: one step of an LSTM on 8-bit inputs.
QUANTIZED_LSTM_SEQUENCE: an LSTM on 8-bit inputs over a sequence, with the arithmetic of QUANTIZED_LSTM.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need, need_value
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Slot, Tensor, not_negative, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.cell_proposals import propose_lstm
from nnapi.ops.fixed_point import (
    ONE,
    Multiplier,
    divide,
    inverse_square_root,
    logistic,
    multiplier,
    power_of_two,
    saturate,
    scale_integers,
    sum_products,
    tanh,
)
from nnapi.ops.lstm_parameters import GATES, Cell, cell_of, cell_parameters, check_step, list_norms, norm_parameters
from nnapi.ops.recurrent_sequence import by_time, dimensions, over_time
from nnapi.ops.signature_types import INT32, QUANT8_SIGNED, QUANT8_SYMM, QUANT16_SYMM

FLOAT = OperandCode.FLOAT32
GATE_SCALE = 2.0**-12
"""Scale of a gate before its activation: 16 bits, 3 of them integer bits."""


def _parameters(rank: int) -> tuple[Slot, ...]:
    return (
        Tensor("input", {QUANT8_SIGNED: 4}, rank=rank, late_rank=True),
        *cell_parameters(since=4, weights={QUANT8_SYMM: 4}, peephole={QUANT16_SYMM: 4}, bias={INT32: 4}),
        Tensor("output_in", {QUANT8_SIGNED: 4}, rank=2, late_rank=True),
        Tensor("cell_state_in", {QUANT16_SYMM: 4}, rank=2, late_rank=True),
        *norm_parameters(since=4, types={QUANT16_SYMM: 4}),
        *(Scalar(name, FLOAT, since=4, optional=True, check=not_negative) for name in ("cell_clip", "proj_clip")),
        *(Scalar(f"{gate}_intermediate_scale", FLOAT, since=4) for gate in GATES),
        Scalar("hidden_state_zero_point", OperandCode.INT32, since=4),
        Scalar("hidden_state_scale", FLOAT, since=4, check=positive),
    )


QUANTIZED_LSTM = Operation(
    OperationCode.QUANTIZED_LSTM,
    facts=Facts(Kind.RECURRENT),
    inputs=_parameters(rank=2),
    outputs=(
        Tensor("output_state_out", {QUANT8_SIGNED: 4}),
        Tensor("cell_state_out", {QUANT16_SYMM: 4}),
        Tensor("output", {QUANT8_SIGNED: 4}),
    ),
)

QUANTIZED_LSTM_SEQUENCE = Operation(
    CompositeCode.QUANTIZED_LSTM_SEQUENCE,
    facts=Facts(Kind.RECURRENT, Trait.FEEDS_BACK),
    inputs=(*_parameters(rank=3), Scalar("time_major", OperandCode.BOOL, since=4)),
    outputs=(
        Tensor("output", {QUANT8_SIGNED: 4}, quant="output_in"),
        Tensor("output_state_out", {QUANT8_SIGNED: 4}, quant="output_in"),
        Tensor("cell_state_out", {QUANT16_SYMM: 4}, quant="cell_state_in"),
    ),
)


@QUANTIZED_LSTM.shape
def infer_shapes(input: OperandType, **operands: Any) -> list[Shape]:
    output, cell = _check_cell(operands, *input.shape)
    return [output, cell, output]


@QUANTIZED_LSTM_SEQUENCE.shape
def infer_sequence_shapes(input: OperandType, time_major: bool, **operands: Any) -> list[Shape]:
    _, *row = dimensions(input, time_major)
    output, cell = _check_cell(operands, *row)
    return [(*input.shape[:2], output[1]), output, cell]


def _check_cell(operands: Mapping[str, Any], batch: int, input_size: int) -> tuple[Shape, Shape]:
    """Return the shapes of output and cell state; raise OpFailedError if operands do not fit together."""
    output, cell = check_step(operands, batch, input_size, "output_in")
    scale = operands["cell_state_in"].scale
    need(
        power_of_two(scale) in range(-15, -8),
        f"cell_state_in has scale {scale:g}, must be a power of two from 2^-15 to 2^-9",
    )
    for gate in cell_of(operands).norm:
        scale = operands[f"{gate}_intermediate_scale"]
        need(scale > 0, f"{gate}_intermediate_scale is {scale:g}, must be above 0 with layer normalization")
    return output, cell


def gate_scales(operands: Mapping[str, Any]) -> dict[str, float]:
    """Return each gate's scale before its activation; operands declare it if there is layer normalization."""
    is_normalized = any(each is not None for each in list_norms(operands))
    declared = {gate: operands[f"{gate}_intermediate_scale"] if is_normalized else None for gate in GATES}
    return {gate: float(scale or GATE_SCALE) for gate, scale in declared.items()}


@QUANTIZED_LSTM.kernel(kind="exact")
def quantized_lstm(
    call: Call,
    input: Array,
    output_in: Array,
    cell_state_in: Array,
    cell_clip: float | None,
    proj_clip: float | None,
    hidden_state_zero_point: int,
    hidden_state_scale: float,
    **operands: Any,
) -> tuple[Array, Array, Array]:
    cell: Cell[Array] = cell_of(operands)
    types: Cell[OperandType] = cell_of(call.arguments)
    x_type, h_type, c_type = (call.arguments[name] for name in ("input", "output_in", "cell_state_in"))
    x, h = _less_zero_point(input, x_type), _less_zero_point(output_in, h_type)
    c = cell_state_in.astype(np.int64)
    exponent = need_value(power_of_two(c_type.scale), f"cell_state_in has scale {c_type.scale}, no power of two")
    scales = gate_scales(operands)
    state_bits, state_scale = exponent + 15, 2.0**exponent

    def gate(name: str, c: Array) -> Array:
        target = scales[name]
        # Without normalization the bias has the scale of the input's products, else of the normalized gate.
        bias = 0 if cell.norm else cell.bias[name]
        z = saturate(_rescale(sum_products(x, cell.input[name]) + bias, types.input[name].scale, x_type.scale, target))
        z = saturate(
            z + _rescale(sum_products(h, cell.recurrent[name]), types.recurrent[name].scale, h_type.scale, target)
        )
        if name in cell.peephole:
            peeped = c * cell.peephole[name].astype(np.int64)
            z = saturate(z + _rescale(peeped, types.peephole[name].scale, state_scale, target))
        return _normalize(z, cell.norm[name], cell.bias[name], types.norm[name].scale) if cell.norm else z

    forget = logistic(gate("forget", c))
    candidate = tanh(gate("cell", c), 3)
    added = ONE - forget if cell.is_coupled else logistic(gate("input", c))
    c = saturate(divide(forget * c, 15) + divide(added * candidate, 15 + state_bits))
    c = _clip(c, cell_clip, c_type.scale)
    output = logistic(gate("output", c)) * tanh(c, state_bits)
    hidden = scale_integers(output, multiplier(float(np.float32(2.0**-30 / hidden_state_scale))))
    h = saturate(hidden + hidden_state_zero_point, 8)
    if cell.projection is not None and types.projection is not None:
        total = sum_products(h - hidden_state_zero_point, cell.projection)
        total += 0 if cell.projection_bias is None else cell.projection_bias
        projected = _rescale(total, types.projection.scale, hidden_state_scale, h_type.scale)
        h = saturate(_clip(projected, proj_clip, h_type.scale) + h_type.zero_point, 8)
    h = h.astype(np.int8)
    return h, c.astype(np.int16), h


@QUANTIZED_LSTM_SEQUENCE.kernel(kind="exact")
def quantized_lstm_sequence(
    call: Call, input: Array, output_in: Array, cell_state_in: Array, time_major: bool, **operands: Any
) -> list[Array]:
    def step(x: Array, _: None, h: Array, c: Array) -> tuple[Array, ...]:
        return quantized_lstm(call, x, h, c, **operands)[:2]

    outputs, states = over_time(step, by_time(input, time_major), None, (output_in, cell_state_in))
    return [by_time(outputs, time_major), *states]


def _less_zero_point(values: Array, type: OperandType) -> Array:
    return values.astype(np.int64) - type.zero_point


def _rescale(total: Array, weights_scale: float, scale: float, target: float) -> Array:
    """Requantize sums of scale weights_scale × scale to scale ``target``; the factor is a float32, as specified."""
    factor = np.float32(weights_scale) * np.float32(scale) / np.float32(target)
    return scale_integers(total, multiplier(float(factor)))


def _clip(values: Array, clip: float | None, scale: float) -> Array:
    limit = int(np.float32(clip) / np.float32(scale)) if clip else 0
    return np.clip(values, -limit, limit) if limit else values


def _normalize(z: Array, weights: Array, bias: Array, scale: float) -> Array:
    """Normalize rows to mean 0 and variance 1 (with 10 fraction bits), multiply by weights and add the bias.

    The result has the gate's scale. The mean is rounded towards 0. For the variance, 2**20 is first divided by the
    length, as specified; this is exact only for powers of two. A variance below 1 becomes 1.
    """
    size = z.shape[-1]
    mean = _quotient(z.sum(-1, keepdims=True) << 10, size)
    variance = _quotient((z * z).sum(-1, keepdims=True) * (2**20 // size) - mean * mean, 2**20)
    inverse = inverse_square_root(np.maximum(variance, 1))
    weighted = scale_integers((z << 10) - mean, inverse) * weights.astype(np.int64) + bias
    mantissa, exponent = multiplier(scale)
    return saturate(scale_integers(divide(weighted, 10), Multiplier(mantissa, exponent + 12)))


def _quotient(x: Array, by: int) -> Array:
    return np.sign(x) * (np.abs(x) // by)


@QUANTIZED_LSTM.proposal
@QUANTIZED_LSTM_SEQUENCE.proposal
def propose_8bit_lstm(draw: Draw) -> Proposal:
    proposal = propose_lstm(draw)
    proposal.quantization["cell_state_in"] = (2.0 ** draw.pick(-15, -13, -11, -9), 0)
    return proposal
