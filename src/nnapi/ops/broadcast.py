"""ADD, SUB, MUL, DIV: element by element, sizes of 1 stretched."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Activation, Tensor, upto
from nnapi.ops.shapes import broadcast
from nnapi.ops.types import INT32, QUANT8, QUANT8_SIGNED, floats, numbers


def _binary(code: OperationCode, types: dict[int, int], level: int = 1) -> Operation:
    operation = Operation(
        code,
        inputs=(
            Tensor("lhs", types, rank=upto(4)),
            Tensor("rhs", like="lhs", rank=upto(4)),
            Activation(since=level),
        ),
        outputs=(Tensor("out", like="lhs"),),
        zero_sized=True,
    )

    @operation.shape
    def broadcast_both(lhs: OperandType, rhs: OperandType) -> Shape:
        return broadcast(lhs.shape, rhs.shape)

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
