"""RFFT2D, and the parts of complex tensors: the last axis has the real and the imaginary part."""

from math import prod

from nnapi.codes import OperationCode
from nnapi.importers.graph import Value
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.operation_codes import CompositeCode


@rule("RFFT2D")
def rfft2d(node: TfliteNode) -> None:
    """Transform the last axis, then the one before it; a single row is transformed only once."""
    x, lengths = node.input(0), node.numbers(1)
    expressible(len(lengths) == 2 and min(lengths) > 0, f"its lengths are {lengths}, must be 2 above 0")
    expressible(x.rank >= 2, f"its input has rank {x.rank}, must be at least 2")
    *outer, height, width = node.static_shape_of(x)
    rows, bins = prod(outer) * height, lengths[1] // 2 + 1
    found = _transform(node, node.reshape(x, (rows, width, 1)), lengths[1], (rows, bins, 2), onesided=True)
    if (height, lengths[0]) != (1, 1):
        images = node.reshape(found, (prod(outer), height, bins, 2))
        found = _transform(node, images, lengths[0], (prod(outer), lengths[0], bins, 2), onesided=False)
    node.deliver(node.reshape(found, (*outer, lengths[0], bins, 2)))


def _transform(node: TfliteNode, x: Value, length: int, shape: tuple[int, ...], *, onesided: bool) -> Value:
    operands = node.i32(1), node.i32(length), node.flag(False), node.flag(onesided)
    return node.apply(CompositeCode.DFT, x, *operands, shape=shape)


@rule("REAL", "IMAG")
def part(node: TfliteNode) -> None:
    node.deliver(take_part(node, node.input(0), int(node.kind == "IMAG")))


def take_part(node: TfliteNode, x: Value, index: int) -> Value:
    """Return the real (0) or imaginary (1) part of a complex value."""
    begin, size = [*[0] * (x.rank - 1), index], [*node.static_shape_of(x)[:-1], 1]
    return node.reshape(node.slice(x, begin, size), x.shape[:-1])


@rule("COMPLEX_ABS")
def absolute(node: TfliteNode) -> None:
    x = node.input(0)
    squares = node.apply(OperationCode.MUL, x, x, node.i32(0), shape=x.shape)
    total = node.apply(OperationCode.REDUCE_SUM, squares, node.graph.ints([x.rank - 1]), node.flag(False))
    node.emit(OperationCode.SQRT, total)
