"""Arithmetic, comparisons and logic on pairs of elements."""

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.ADD, Op.SUB, Op.MUL, Op.DIV)
def arithmetic(context: TfliteContext, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Emit FLOOR_DIV for integers: NNAPI rounds quotients down, TensorFlow Lite's DIV rounds them towards zero."""
    if context.kind == "DIV" and lhs.type == "i32":
        return context.emit("FLOOR_DIV", [lhs, rhs])
    return context.emit(context.kind, [lhs, rhs], activation=context.activation)


@lower(Op.POW, Op.LOGICAL_AND, Op.LOGICAL_OR)
def plain(context: TfliteContext, **inputs: Tensor) -> Tensor:
    return context.emit(context.kind, list(inputs.values()))


@lower(Composite.MOD)
def mod(context: TfliteContext, x: Tensor, y: Tensor, fmod: bool) -> Tensor:
    require(not fmod, "TensorFlow Lite's remainder has the sign of the divisor")
    is_sound = x.type == "f32" or (x.type == "i32" and y.data is not None and y.data.all())
    require(is_sound, "y is computed or holds a 0, or is float16; TensorFlow Lite does not divide by it")
    return context.emit("FLOOR_MOD", [x, y])


@lower(Composite.BITWISE_XOR, Composite.RIGHT_SHIFT)
def bits(context: TfliteContext, x: Tensor, y: Tensor) -> Tensor:
    if context.code == Composite.RIGHT_SHIFT:
        is_within = y.data is not None and y.data.min() >= 0 and y.data.max() < 8 * y.data.dtype.itemsize
        require(is_within, "y is computed or not below the number of bits, by which TensorFlow Lite shifts otherwise")
    return context.emit(context.kind, [x, y])


@lower(Op.MAXIMUM, Op.MINIMUM)
def extreme(context: TfliteContext, a: Tensor, b: Tensor) -> Tensor:
    """Requantize both inputs to the result's scale first, which preserves their order."""
    out = context.result()
    return context.emit(context.kind, [context.requantize(a, out), context.requantize(b, out)], out)


@lower(Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL)
def compare(context: TfliteContext, x: Tensor, y: Tensor) -> Tensor:
    """Compare quantized values as float32; order booleans as 0 and 1."""
    if x.type == "bool" and context.kind not in ("EQUAL", "NOT_EQUAL"):
        x, y = (context.cast(each, each.like(type="i32")) for each in (x, y))
    return context.emit(context.kind, [context.real(x), context.real(y)])
