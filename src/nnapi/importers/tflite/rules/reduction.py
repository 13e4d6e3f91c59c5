"""Reductions along axes; BUCKETIZE, a sum of comparisons; CUMSUM, a product with a triangular matrix."""

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import choose, compare
from nnapi.importers.graph import FLOAT32, INT32
from nnapi.importers.movement import transpose
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType


@rule("SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL")
def reduce(node: TfliteNode) -> None:
    """Lower a reduction; integers are computed as float32, exact up to 2**24."""
    code, x, keep = node.code, node.input(0), bool(node.options.keep_dims)
    if node.input(1).array is not None and not node.numbers(1):
        node.deliver(x)  # without axes, TFLite returns the input
        return
    tail = (node.input(1), node.i32(keep) if code == OperationCode.MEAN else node.flag(keep))
    if x.type.code != INT32:
        node.emit(code, x, *tail)
        return
    expressible(code != OperationCode.MEAN, "NNAPI has no mean of integers")
    node.note("reductions of int32 are computed as float32, exact up to 2**24")
    real = node.apply(OperationCode.CAST, x, type=OperandType(FLOAT32), shape=x.shape)
    reduced = node.apply(code, real, *tail)
    node.emit(OperationCode.CAST, reduced)


@rule("BUCKETIZE")
def bucketize(node: TfliteNode) -> None:
    x, boundaries = node.input(0), node.options.boundaries
    expressible(boundaries, "it has no boundaries")
    shape = node.static_shape_of(x)
    real = x if x.type.code == FLOAT32 else node.apply(OperationCode.CAST, x, type=OperandType(FLOAT32))
    limits = node.graph.constant(np.asarray(boundaries, np.float32))
    reached = compare(node, OperationCode.GREATER_EQUAL, node.reshape(real, (*shape, 1)), limits)
    one, zero = (node.graph.full(OperandType(FLOAT32, (*shape, len(boundaries))), number) for number in (1, 0))
    counted = choose(node, reached, one, zero)
    total = node.apply(OperationCode.REDUCE_SUM, counted, node.graph.ints([x.rank]), node.flag(False))
    node.emit(OperationCode.CAST, total)


@rule("CUMSUM")
def cumsum(node: TfliteNode) -> None:
    o, x = node.options, node.graph.real(node.input(0))
    shape = node.static_shape_of(x)
    axis = node.axis(node.number(1), x.rank)
    n = shape[axis]
    node.graph.reserve(x.type.dtype.itemsize * n * n)
    triangle = np.tri(n, n, -1 if o.exclusive else 0, x.type.dtype)
    triangle = triangle if o.reverse else triangle.T
    order = [*(i for i in range(x.rank) if i != axis), axis]
    last = x if order == sorted(order) else transpose(node, x, order)
    rows = node.reshape(last, (math.prod(shape) // n, n))
    matrix = node.graph.constant(triangle)
    summed = node.apply(OperationCode.BATCH_MATMUL, rows, matrix, node.flag(False), node.flag(False), shape=rows.shape)
    back = node.reshape(summed, last.shape)
    node.deliver(back if last is x else transpose(node, back, np.argsort(order).tolist()))
