"""Element by element, sizes of 1 stretched.

ADD: the sum of two tensors, element by element, with broadcasting.
MUL: the product of two tensors, element by element, with broadcasting.
DIV: the quotient of two tensors, element by element, with broadcasting; integers are rounded down.
SUB: the difference of two tensors, element by element, with broadcasting.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import Operation
from nnapi.model.parameter import Activation, upto
from nnapi.ops.pairwise import pairwise
from nnapi.ops.quantization import Convert, make_multiplier, offset, quantized_range
from nnapi.ops.types import INT32, QUANT8, QUANT8_SIGNED, floats, numbers

SPARE = 2**20
"""The multiplier of quantized values before they are rescaled and added."""


def _arithmetic(
    code: OperationCode, function: Callable[..., Array], types: dict[int, int], level: int = 1
) -> Operation:
    facts, activation = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.PAIRS), Activation(since=level)
    return pairwise(code, facts, function, types, activation, names=("lhs", "rhs"), rank=upto(4), zero_sized=True)


ADD = _arithmetic(OperationCode.ADD, lambda lhs, rhs: lhs + rhs, numbers())
SUB = _arithmetic(OperationCode.SUB, lambda lhs, rhs: lhs - rhs, numbers(2, quant8=3), level=2)
MUL = _arithmetic(OperationCode.MUL, lambda lhs, rhs: lhs * rhs, numbers())
DIV = _arithmetic(OperationCode.DIV, lambda lhs, rhs: lhs / rhs, floats(2) | {INT32: 4}, level=2)


def _sum_quantized(call: Call, lhs: Array, rhs: Array, *, sign: int) -> Array:
    """Add both operands in units of twice the larger scale, with 20 spare bits, and requantize."""
    types, out = (call.arguments["lhs"], call.arguments["rhs"]), call.results[0]
    common = 2 * max(type.scale for type in types)
    x, y = (
        _table(type, make_multiplier(type.scale / common)).take(values.view(np.uint8))
        for type, values in zip(types, (lhs, rhs), strict=True)
    )
    total = make_multiplier(common / (SPARE * out.scale))(x + sign * y) + out.zero_point
    low, high = quantized_range(out)
    return np.clip(total, low, high, out=total).astype(out.dtype)


def _table(type: OperandType, multiply: Convert) -> Array:
    return multiply(offset(type, np.arange(256, dtype=np.uint8).view(type.dtype), np.float64) * SPARE)


for _operation, _sign in ((ADD, 1), (SUB, -1)):
    _operation.kernel(kind="exact", types=(QUANT8, QUANT8_SIGNED))(partial(_sum_quantized, sign=_sign))


@MUL.kernel(scaled=("lhs", "rhs"), types=(QUANT8, QUANT8_SIGNED))
def multiply_integers(lhs: Array, rhs: Array) -> Array:
    return lhs * rhs


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
