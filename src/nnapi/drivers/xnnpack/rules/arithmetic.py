"""Arithmetic, comparisons and logic on the elements of two tensors."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.rules import whole_range
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.lower import require

SUM_RATIOS = (2.0**-9, 2.0**7)
"""What a scale may be, relative to the result's, for the engine to add codes; it aborts outside."""
PRODUCT_RATIOS = (2.0**-15, 2.0**7)
SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal
LONG, LONGEST = 256, 4096
"""Elements of a stretch that make up for what the engine does between them; pixels of a row that are worth it."""


@lower(Op.ADD, Op.SUB)
def add(context: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _binary(context, lhs, rhs, SUM_RATIOS)


def _binary(context: Context, x: Tensor, y: Tensor, limits: tuple[float, float]) -> Tensor:
    """On codes where their scales allow, else in float32."""
    kind, out = context.operation_name, context.result()
    x, y = _in_long_rows(x, y), _in_long_rows(y, x)
    x, y = _with_all_axes(context, x, y), _with_all_axes(context, y, x)
    if out.type == "i8" and (not _within(kind, x, y, out, limits) or kind == "DIV"):
        real = context.emit(
            kind, [context.real(x), context.real(y)], context.real_result(), activation=context.activation
        )
        return context.store(real)
    return context.emit(kind, [x, y], out, activation=context.activation)


def _with_all_axes(context: Context, x: Tensor, number: Tensor) -> Tensor:
    """Codes beside a constant of one element and more axes, with as many: the engine forgets them where it limits."""
    missing = len(number.shape) - len(x.shape)
    if not context.activation or x.type != "i8" or missing <= 0 or number.data is None or number.size != 1:
        return x
    shape = (*[1] * missing, *x.shape)
    return context.emit("RESHAPE", [x, constant(shape)], x.like(shape=shape))


def _in_long_rows(tensor: Tensor, other: Tensor) -> Tensor:
    """A constant that holds a number for each of few channels, repeated for a row of pixels.

    The engine goes through memory in stretches in which both tensors differ: without this, pixel by pixel.
    """
    depth = tensor.shape[-1]
    if tensor.data is None or tensor.size != depth or not 1 < depth < LONG or other.data is not None:
        return tensor
    is_image = len(tensor.shape) <= len(other.shape) == 4 and other.shape[3] == depth
    if not is_image or not 1 < other.shape[2] <= LONGEST:
        return tensor
    data = np.tile(tensor.data.reshape(1, depth), (other.shape[2], 1))
    return tensor.like(shape=data.shape, data=data)


def _within(kind: str, x: Tensor, y: Tensor, out: Tensor, limits: tuple[float, float]) -> bool:
    ratios = (x.unit * y.unit / out.unit,) if kind == "MUL" else (x.unit / out.unit, y.unit / out.unit)
    return all(limits[0] <= ratio <= limits[1] for ratio in ratios)


@lower(Op.MUL)
def mul(context: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    return _binary(context, lhs, rhs, PRODUCT_RATIOS)


@lower(Op.DIV)
def div(context: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    if lhs.type == "i32":
        require(
            rhs.data is not None and rhs.data.all(), "rhs is computed or holds a 0, by which the engine does not divide"
        )
        return context.emit("FLOOR_DIV", [lhs, rhs], context.result())
    if rhs.data is not None and rhs.type == "f32":
        sizes = np.abs(rhs.data)
        require(not ((sizes > 0) & (sizes < SMALLEST_NORMAL)).any(), "rhs holds a number that the engine takes for 0")
    return _binary(context, lhs, rhs, SUM_RATIOS)


@lower(Op.POW)
def power(context: Context, base: Tensor, exponent: Tensor) -> Tensor:
    return whole_range.power(context, base, exponent, context.result())


@lower(Op.MAXIMUM, Op.MINIMUM)
def extreme(context: Context, a: Tensor, b: Tensor) -> Tensor:
    """Codes of different scales are brought to the result's first, which does not change their order."""
    out = context.result()
    return context.emit(context.operation_name, [context.requantise(a, out), context.requantise(b, out)], out)


@lower(Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL)
def compare(context: Context, x: Tensor, y: Tensor) -> Tensor:
    require(
        x.type != "bool" or context.operation_name in ("EQUAL", "NOT_EQUAL"),
        "the engine does not order TENSOR_BOOL8",
    )
    return context.emit(context.operation_name, [context.real(x), context.real(y)], context.result())


@lower(Op.LOGICAL_AND, Op.LOGICAL_OR)
def logical(context: Context, x: Tensor, y: Tensor) -> Tensor:
    return context.emit(context.operation_name, [x, y], context.result())


@lower(Op.LOGICAL_NOT)
def logical_not(context: Context, x: Tensor) -> Tensor:
    return context.emit("LOGICAL_NOT", [x], context.result())


@lower(Op.SELECT)
def select(context: Context, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    out = context.result()
    return context.emit("SELECT", [condition, context.requantise(a, out), context.requantise(b, out)], out)
