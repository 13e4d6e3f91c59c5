"""Functions of pairs of elements of two tensors, with broadcasting: dimensions of 1 are repeated.

ADD: the sum of two tensors, element by element, with broadcasting.
MUL: the product of two tensors, element by element, with broadcasting.
DIV: the quotient of two tensors, element by element, with broadcasting; integers are rounded down.
SUB: the difference of two tensors, element by element, with broadcasting.
EQUAL: whether two tensors are equal, element by element, with broadcasting.
GREATER: whether x > y, element by element, with broadcasting.
GREATER_EQUAL: whether x ≥ y, element by element, with broadcasting.
LESS: whether x < y, element by element, with broadcasting.
LESS_EQUAL: whether x ≤ y, element by element, with broadcasting.
NOT_EQUAL: whether two tensors differ, element by element, with broadcasting.
LOGICAL_AND: x and y, element by element, with broadcasting.
LOGICAL_OR: x or y, element by element, with broadcasting.
MAXIMUM: the larger of two tensors, element by element, with broadcasting.
MINIMUM: the smaller of two tensors, element by element, with broadcasting.
POW: base to the power of exponent, element by element, with broadcasting.
PRELU: x above 0, alpha · x below, with broadcasting.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Activation, Levels, Ranks, Slot, Tensor, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.quantized_values import Convert, make_multiplier, offset, quantized_range
from nnapi.ops.shapes import broadcast
from nnapi.ops.signature_types import BOOL8, INT32, QUANT8, QUANT8_SIGNED, floats, numbers, reals

SPARE_BITS = 20
SPARE = 2**SPARE_BITS
"""The factor of quantized values before they are rescaled and added: 20 fraction bits."""


def propose_two_tensors(draw: Draw) -> Proposal:
    """Propose equal dimensions, or one tensor that broadcasts: along some axes, or by a lower rank."""
    shape = draw.shape()
    first, second = draw.tensors
    if draw.chance(0.3):
        return Proposal({first: shape, second: shape})
    other = tuple(1 if draw.chance(0.4) else dimension for dimension in shape)[
        draw.pick(0, 0, draw.upto(len(shape) - 1)) :
    ]
    if draw.chance(0.5):
        other = (1,) * draw.pick(1, len(shape))
    if draw.given is None and draw.chance(0.5):
        shape, other = other, shape
    return Proposal({first: shape, second: other})


def _pairwise(
    code: OperationCode,
    facts: Facts,
    function: Callable[[Array, Array], Array],
    types: Levels,
    *more: Slot,
    names: tuple[str, str] = ("x", "y"),
    rank: Ranks = None,
    high: tuple[int, ...] = (),
    out: Levels | None = None,
    **options: Any,
) -> Operation:
    """Declare an operation on pairs of elements of tensors of one type; the result has this type or one of ``out``.

    Scales and zero points of the operands and the result may differ.
    """
    first, second = names
    operation = Operation(
        code,
        facts=facts,
        inputs=(Tensor(first, types, rank=rank, high=high), Tensor(second, like=first, rank=rank, high=high), *more),
        outputs=(Tensor("out", out) if out else Tensor("out", like=first),),
        **options,
    )

    operation.proposal(propose_two_tensors)

    @operation.shape
    def infer_shape(**operands: OperandType) -> Shape:
        return broadcast(names, operands[first].shape, operands[second].shape)

    @operation.kernel
    def each(**operands: Array) -> Array:
        return function(operands[first], operands[second])

    return operation


def _arithmetic(
    code: OperationCode,
    function: Callable[[Array, Array], Array],
    types: dict[int, int],
    level: int = 1,
    more: Trait = Trait.NONE,
) -> Operation:
    facts, activation = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.PAIRS | more), Activation(since=level)
    names = ("lhs", "rhs")
    return _pairwise(code, facts, function, types, activation, names=names, rank=upto(4), high=HIGH, zero_sized=True)


ADD = _arithmetic(OperationCode.ADD, np.add, numbers())
SUB = _arithmetic(OperationCode.SUB, np.subtract, numbers(2, quant8=3), level=2)
MUL = _arithmetic(OperationCode.MUL, np.multiply, numbers())
DIV = _arithmetic(
    OperationCode.DIV, np.divide, floats(2) | {INT32: 4}, level=2, more=Trait.DIVIDES | Trait.UNDEFINED_BY_0
)


def _sum_quantized(call: Call, lhs: Array, rhs: Array, *, sign: int) -> Array:
    """Add both operands in units of twice the larger scale, with 20 fraction bits, and requantize."""
    types, out = (call.arguments["lhs"], call.arguments["rhs"]), call.results[0]
    *factors, total_factor = find_sum_factors(*types, out)
    x, y = (
        _table(type, make_multiplier(factor)).take(values.view(np.uint8))
        for type, factor, values in zip(types, factors, (lhs, rhs), strict=True)
    )
    total = make_multiplier(total_factor)(x + sign * y) + out.zero_point
    low, high = quantized_range(out)
    return np.clip(total, low, high, out=total).astype(out.dtype)


def find_sum_factors(lhs: OperandType, rhs: OperandType, out: OperandType) -> tuple[float, float, float]:
    """Return the factors of both operands, which have 20 fraction bits, and that of their sum."""
    common = 2 * max(lhs.scale, rhs.scale)
    return lhs.scale / common, rhs.scale / common, common / (SPARE * out.scale)


def _table(type: OperandType, multiply: Convert) -> Array:
    return multiply(offset(type, np.arange(256, dtype=np.uint8).view(type.dtype), np.float64) * SPARE)


for _operation, _sign in ((ADD, 1), (SUB, -1)):
    _operation.kernel(kind="exact", types=(QUANT8, QUANT8_SIGNED))(partial(_sum_quantized, sign=_sign))


@MUL.kernel(scaled=("lhs", "rhs"), types=(QUANT8, QUANT8_SIGNED))
def multiply_integers(lhs: Array, rhs: Array) -> Array:
    return lhs * rhs


@DIV.kernel(types=(INT32,))
def floor_div(lhs: Array, rhs: Array) -> Array:
    return np.floor_divide(lhs, rhs)  # NumPy's division by zero gives 0, like NNAPI's CPU reference


@MUL.check
def product_fits_the_output_scale(lhs: OperandType, rhs: OperandType, out: OperandType) -> None:
    need(
        not lhs.is_quantized or out.scale > np.float32(lhs.scale) * np.float32(rhs.scale),
        f"out has scale {out.scale:g}, must be above lhs scale × rhs scale = {lhs.scale * rhs.scale:g}",
        BadDataError,
    )


# Comparisons of dequantized values

COMPARING = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES | Trait.STEPS | Trait.COMPARES)


def _comparison(code: OperationCode, function: Callable[[Array, Array], Array]) -> Operation:
    return _pairwise(code, COMPARING, function, numbers(3, int32=3) | {BOOL8: 3}, out={BOOL8: 3})


EQUAL = _comparison(OperationCode.EQUAL, np.equal)
GREATER = _comparison(OperationCode.GREATER, np.greater)
GREATER_EQUAL = _comparison(OperationCode.GREATER_EQUAL, np.greater_equal)
LESS = _comparison(OperationCode.LESS, np.less)
LESS_EQUAL = _comparison(OperationCode.LESS_EQUAL, np.less_equal)
NOT_EQUAL = _comparison(OperationCode.NOT_EQUAL, np.not_equal)

EXTREME = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.REQUANTIZES)
LOGICAL = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES)


def _extreme(code: OperationCode, function: Callable[[Array, Array], Array]) -> Operation:
    types = numbers(3, int32=3)
    return _pairwise(code, EXTREME, function, types, names=("a", "b"), failure=BadDataError)


LOGICAL_AND = _pairwise(OperationCode.LOGICAL_AND, LOGICAL, np.logical_and, {BOOL8: 3})
LOGICAL_OR = _pairwise(OperationCode.LOGICAL_OR, LOGICAL, np.logical_or, {BOOL8: 3})
MAXIMUM = _extreme(OperationCode.MAXIMUM, np.maximum)
MINIMUM = _extreme(OperationCode.MINIMUM, np.minimum)
POW = _pairwise(
    OperationCode.POW,
    Facts(Kind.TRANSCENDENTAL, Trait.FOLDS | Trait.PAIRS | Trait.RAISES),
    np.power,
    floats(3),
    names=("base", "exponent"),
    failure=BadDataError,
)


def _prelu(input: Array, alpha: Array) -> Array:
    return np.where(input >= 0, input, alpha * input)


PRELU = _pairwise(OperationCode.PRELU, Facts(Kind.ELEMENTWISE, Trait.PAIRS), _prelu, reals(3), names=("input", "alpha"))
