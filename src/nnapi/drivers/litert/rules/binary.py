"""Arithmetic on pairs of tensors, within the scales that XNNPACK supports."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower, with_all_zeros
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import binary as canonical
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.signature_types import QUANT8

SUM_RATIOS = (2.0**-9, 2.0**7)
"""Range of (input scale / result scale) for sums of quantized values; the engine aborts outside."""
SMALLEST_PRODUCT = 2.0**-15
"""Minimum of (product of input scales / result scale). NNAPI requires it to be less than 1."""
SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal
MULTIPLIED = (2, 3, 4)
"""Exponents of POW that are lowered to products."""
LONG, LONGEST = 256, 4096
"""A row of this many elements is long enough; maximum number of pixels that are combined in a row."""


@lower(Op.ADD, Op.SUB, Op.MUL, Op.DIV)
def arithmetic(context: LitertContext, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Compute on quantized values if their scales permit it, else in float32."""
    kind, out = context.kind, context.result()
    if kind == "DIV":
        _check_divisor(rhs)
    lhs, rhs = (with_all_zeros(number, out.shape) for number in (lhs, rhs))
    x, y = _in_long_rows(lhs, rhs), _in_long_rows(rhs, lhs)
    x, y = _with_all_axes(context, x, y), _with_all_axes(context, y, x)
    if out.type != "i8" or _has_supported_ratios(kind, x, y, out):
        return canonical.arithmetic(context, x, y)
    reals = [context.real(x), context.real(y)]
    return context.store(context.emit(kind, reals, context.real_result(), activation=context.activation))


def _check_divisor(rhs: Tensor) -> None:
    if rhs.type == "i32":
        is_sound = rhs.data is not None and rhs.data.all()
        require(is_sound, "rhs is computed or holds a 0, by which the engine does not divide")
    elif rhs.data is not None:
        sizes = np.abs(rhs.data)
        require(not ((sizes > 0) & (sizes < SMALLEST_NORMAL)).any(), "rhs holds a value that the engine takes for 0")


def _with_all_axes(context: LitertContext, x: Tensor, number: Tensor) -> Tensor:
    """Add axes to ``x`` if ``number``, a single constant, has more: fused quantized activations would lose them."""
    missing = len(number.shape) - len(x.shape)
    if not context.activation or x.type != "i8" or missing <= 0 or number.data is None or number.size != 1:
        return x
    shape = (*[1] * missing, *x.shape)
    return context.emit("RESHAPE", [x, constant(shape)], x.like(shape=shape))


def _in_long_rows(tensor: Tensor, other: Tensor) -> Tensor:
    """Repeat a constant of few channels for a row of pixels, as the engine would compute pixel by pixel."""
    depth = tensor.shape[-1]
    if tensor.data is None or tensor.size != depth or not 1 < depth < LONG or other.data is not None:
        return tensor
    is_image = len(tensor.shape) <= len(other.shape) == 4 and other.shape[3] == depth
    if not is_image or not 1 < other.shape[2] <= LONGEST:
        return tensor
    data = np.tile(tensor.data.reshape(1, depth), (other.shape[2], 1))
    return tensor.like(shape=data.shape, data=data)


def _has_supported_ratios(kind: str, x: Tensor, y: Tensor, out: Tensor) -> bool:
    if kind == "MUL":
        return x.unit * y.unit / out.unit >= SMALLEST_PRODUCT
    low, high = SUM_RATIOS
    return all(low <= each.unit / out.unit <= high for each in (x, y))


@lower(Op.POW)
def power(context: LitertContext, base: Tensor, exponent: Tensor, out: Tensor | None = None) -> Tensor:
    """Expand a single integer exponent: with one, the engine multiplies, and never overflows to infinity."""
    out = out or context.result()
    if exponent.size > 1 or (exponent.data is not None and not _is_whole(exponent.data.item())):
        return context.emit("POW", [base, exponent], out)
    if exponent.data is not None and exponent.data.item() in MULTIPLIED:
        return _multiply(context, context.reshape(base, out.shape), int(exponent.data.item()), out)
    if base.size == 1:  # of equal shapes, the engine takes none for a scalar
        return context.emit("POW", [context.reshape(base, out.shape), context.reshape(exponent, out.shape)], out)
    longest = int(np.argmax(out.shape))
    shape = tuple(dimension if axis == longest else 1 for axis, dimension in enumerate(out.shape))
    if exponent.data is not None:
        repeated = exponent.like(shape=shape, data=np.full(shape, exponent.data.item(), exponent.data.dtype))
    else:
        zeros = constant(np.zeros(shape), "f32")
        repeated = context.emit("ADD", [exponent, zeros], exponent.like(shape=shape), activation=0)
    return context.emit("POW", [base, repeated], out)


def _is_whole(number: Any) -> bool:
    return bool(number >= 1 and number == np.floor(number))


def _multiply(context: LitertContext, base: Tensor, times: int, out: Tensor) -> Tensor:
    square = base.like() if times > 2 else out
    context.emit("MUL", [base, base], square, activation=0)
    return square if square is out else context.emit("MUL", [square, base if times == 3 else square], out, activation=0)


@lower(Composite.BITWISE_XOR, Composite.RIGHT_SHIFT)
def bits(context: LitertContext, x: Tensor, y: Tensor) -> Tensor:
    require(context.call.results[0].code != QUANT8, "the engine gets unsigned bytes as signed ones, whose bits differ")
    return canonical.bits(context, x, y)
