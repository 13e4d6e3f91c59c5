"""ADD, SUB, MUL, DIV: element by element, sizes of 1 stretched."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Activation, Tensor, upto
from nnapi.ops.quantization import Convert, code_bounds, make_multiplier, offset
from nnapi.ops.shapes import broadcast
from nnapi.ops.types import INT32, QUANT8, QUANT8_SIGNED, floats, numbers

SPARE = 2**20
"""The multiplier of quantized values before they are rescaled and added."""


def _binary(code: OperationCode, types: dict[int, int], level: int = 1) -> Operation:
    operation = Operation(
        code,
        facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.PAIRS),
        inputs=(
            Tensor("lhs", types, rank=upto(4)),
            Tensor("rhs", like="lhs", rank=upto(4)),
            Activation(since=level),
        ),
        outputs=(Tensor("out", like="lhs"),),
        zero_sized=True,
    )

    @operation.shape
    def infer_shape(lhs: OperandType, rhs: OperandType) -> Shape:
        return broadcast(("lhs", "rhs"), lhs.shape, rhs.shape)

    return operation


ADD = _binary(OperationCode.ADD, numbers())
SUB = _binary(OperationCode.SUB, numbers(2, quant8=3), level=2)
MUL = _binary(OperationCode.MUL, numbers())
DIV = _binary(OperationCode.DIV, floats(2) | {INT32: 4}, level=2)


@ADD.kernel
def add(lhs: Array, rhs: Array) -> Array:
    return lhs + rhs


@SUB.kernel
def sub(lhs: Array, rhs: Array) -> Array:
    return lhs - rhs


@ADD.kernel(kind="exact", types=(QUANT8, QUANT8_SIGNED))
def add_codes(call: Call, lhs: Array, rhs: Array) -> Array:
    return _sum_of_codes(call, lhs, rhs, 1)


@SUB.kernel(kind="exact", types=(QUANT8, QUANT8_SIGNED))
def sub_codes(call: Call, lhs: Array, rhs: Array) -> Array:
    return _sum_of_codes(call, lhs, rhs, -1)


def _sum_of_codes(call: Call, lhs: Array, rhs: Array, sign: int) -> Array:
    """Add both operands in units of twice the larger scale, with 20 bits to spare, and requantize the sum."""
    types, out = (call.arguments["lhs"], call.arguments["rhs"]), call.results[0]
    common = 2 * max(type.scale for type in types)
    x, y = (
        _table(type, make_multiplier(type.scale / common)).take(codes.view(np.uint8))
        for type, codes in zip(types, (lhs, rhs), strict=True)
    )
    total = make_multiplier(common / (SPARE * out.scale))(x + sign * y) + out.zero_point
    low, high = code_bounds(out)
    return np.clip(total, low, high, out=total).astype(out.dtype)


def _table(type: OperandType, multiply: Convert) -> Array:
    """Return each quantized value of an operand in units of the sum."""
    return multiply(offset(type, np.arange(256, dtype=np.uint8).view(type.dtype), np.float64) * SPARE)


@MUL.kernel(scaled=("lhs", "rhs"), types=(QUANT8, QUANT8_SIGNED))
@MUL.kernel
def mul(lhs: Array, rhs: Array) -> Array:
    return lhs * rhs


@DIV.kernel
def div(lhs: Array, rhs: Array) -> Array:
    return lhs / rhs


@DIV.kernel(types=(INT32,))
def floor_div(lhs: Array, rhs: Array) -> Array:
    return np.floor_divide(lhs, rhs)  # a division by zero gives 0, as the reference CPU does


@MUL.check
def product_fits_the_output_scale(lhs: OperandType, rhs: OperandType, out: OperandType) -> None:
    need(
        not lhs.is_quantized or out.scale > np.float32(lhs.scale) * np.float32(rhs.scale),
        f"out has scale {out.scale:g}, must be above lhs scale × rhs scale = {lhs.scale * rhs.scale:g}",
        BadDataError,
    )
