"""Operations on the bits of stored integers, element by element, with broadcasting.

BITWISE_AND: the bits that are set in x and in y.
BITWISE_OR: the bits that are set in x or in y.
BITWISE_XOR: the bits that are set in x or in y, but not in both.
LEFT_SHIFT: the bits of x moved towards the highest by y; zeros fill the lowest.
RIGHT_SHIFT: the bits of x moved towards the lowest by y; copies of the sign fill the highest, zeros if x is unsigned.
BITCAST: the bits of each element, read as another type; a float16 has the lowest 16 bits of an int32.

If y is negative or not below the number of bits of x, a shift gives only the bits that fill.
"""

from collections.abc import Callable

import numpy as np

from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.model.proposal import propose_equal_shapes
from nnapi.operation_codes import CompositeCode
from nnapi.ops.pairwise import propose_two_tensors
from nnapi.ops.shapes import broadcast, same_shape
from nnapi.ops.signature_types import FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, floats

FACTS = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.STEPS)


def _declare(code: CompositeCode, function: Callable[[Array, Array], Array]) -> Operation:
    """Declare an operation on pairs of stored integers of one type."""
    operation = Operation(
        code,
        facts=FACTS,
        inputs=(Tensor("x", {INT32: 3, QUANT8: 3, QUANT8_SIGNED: 4}), Tensor("y", like="x")),
        outputs=(Tensor("out", like="x", quant="x"),),
    )

    @operation.shape
    def infer_shape(x: OperandType, y: OperandType) -> Shape:
        return broadcast(("x", "y"), x.shape, y.shape)

    @operation.kernel(kind="raw")
    def each(x: Array, y: Array) -> Array:
        return function(x, y)

    operation.proposal(propose_two_tensors)
    return operation


def _shift_left(x: Array, y: Array) -> Array:
    width = 8 * x.dtype.itemsize
    is_beyond = (y < 0) | (y >= width)
    return np.where(is_beyond, x.dtype.type(0), np.left_shift(x, np.where(is_beyond, y.dtype.type(0), y)))


def _shift_right(x: Array, y: Array) -> Array:
    """Shift by all bits in two steps, because C leaves shifts by the width undefined."""
    last = y.dtype.type(8 * x.dtype.itemsize - 1)
    is_beyond = (y < 0) | (y > last)
    shifted = np.right_shift(x, np.where(is_beyond, last, y))
    return np.where(is_beyond, np.right_shift(shifted, y.dtype.type(1)), shifted)


BITWISE_AND = _declare(CompositeCode.BITWISE_AND, np.bitwise_and)
BITWISE_OR = _declare(CompositeCode.BITWISE_OR, np.bitwise_or)
BITWISE_XOR = _declare(CompositeCode.BITWISE_XOR, np.bitwise_xor)
LEFT_SHIFT = _declare(CompositeCode.LEFT_SHIFT, _shift_left)
RIGHT_SHIFT = _declare(CompositeCode.RIGHT_SHIFT, _shift_right)

BITCAST = Operation(
    CompositeCode.BITCAST,
    facts=FACTS,
    inputs=(Tensor("input", floats(3) | {INT32: 3}),),
    outputs=(Tensor("out", like="input", via={FLOAT32: INT32, FLOAT16: INT32, INT32: floats(3)}),),
)

BITCAST.shape(same_shape)
BITCAST.proposal(propose_equal_shapes)


@BITCAST.kernel(kind="exact")
def reinterpret(call: Call, input: Array) -> Array:
    target = call.results[0].dtype
    if input.dtype == np.float16:
        return input.view(np.uint16).astype(target)
    return (input.astype(np.uint16) if target == np.float16 else input).view(target)
