"""Operations on the bits of integers, BITCAST, and remainders with the sign of the dividend."""

from nnapi.codes import OperationCode
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.operation_codes import CompositeCode


@rule("BITWISE_XOR")
def exclusive_or(node: TfliteNode) -> None:
    node.deliver(node.apply(CompositeCode.BITWISE_XOR, *node.inputs))


@rule("RIGHT_SHIFT")
def shift_right(node: TfliteNode) -> None:
    """Clamp the number of bits to 0 … width - 1, as LiteRT does; NNAPI's operation shifts by any number."""
    x, y = node.inputs
    one, last = y.type.with_dimensions((1,)), 8 * y.type.dtype.itemsize - 1
    least, most = node.graph.full(one, 0), node.graph.full(one, last)
    raised = node.apply(OperationCode.MAXIMUM, y, least, shape=y.shape)
    count = node.apply(OperationCode.MINIMUM, raised, most, shape=y.shape)
    node.deliver(node.apply(CompositeCode.RIGHT_SHIFT, x, count))


@rule("STABLEHLO_SHIFT_LEFT")
def shift_left(node: TfliteNode) -> None:
    node.deliver(node.apply(CompositeCode.LEFT_SHIFT, *node.inputs))


@rule("BITCAST")
def reinterpret(node: TfliteNode) -> None:
    x, out = node.input(0), node.output
    expressible(x.type.dtype.itemsize == out.type.dtype.itemsize, "its types differ in size")
    if x.type.dtype == out.type.dtype:
        node.bind(0, x)
    elif x.type.is_quantized:
        node.emit(CompositeCode.CONVERT, x)
    else:
        node.emit(CompositeCode.BITCAST, x)


@rule("STABLEHLO_REMAINDER")
def remainder(node: TfliteNode) -> None:
    node.deliver(node.apply(CompositeCode.MOD, *node.reals(), node.flag(True)))
