"""Reductions along axes; BUCKETIZE, a sum of comparisons."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import FLOAT32, INT32
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose
from nnapi.importers.tflite.node import TfliteNode, is_alike
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType
from nnapi.operation_codes import Code, CompositeCode

BYTES = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)
RESCALED: dict[int, Code] = {
    OperationCode.MEAN: CompositeCode.MEAN_V2,
    OperationCode.REDUCE_SUM: CompositeCode.REDUCE_SUM_V2,
}
"""Reductions whose quantized results may have another scale than their input."""


@rule("SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL")
def reduce(node: TfliteNode) -> None:
    """Lower a reduction; integers are computed as float32, exact up to 2**24."""
    code, x, keep = node.code, node.input(0), bool(node.options.keep_dims)
    if node.input(1).array is not None and not node.numbers(1):
        node.deliver(x)  # without axes, TFLite returns the input
        return
    tail = (node.input(1), node.i32(keep) if code == OperationCode.MEAN else node.flag(keep))
    if x.type.code != INT32:
        is_rescaled = x.type.code in BYTES and (
            code == OperationCode.REDUCE_SUM or not is_alike(x.type, node.output.type)
        )
        node.emit(RESCALED.get(code, code) if is_rescaled else code, x, *tail)
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
    column = Term(node, node.reshape(real, (*shape, 1)))
    reached = column.compare(OperationCode.GREATER_EQUAL, Term(node, limits))
    one, zero = (node.graph.full(OperandType(FLOAT32, (*shape, len(boundaries))), number) for number in (1, 0))
    counted = choose(reached, Term(node, one), Term(node, zero))
    total = node.apply(OperationCode.REDUCE_SUM, counted.value, node.graph.ints([x.rank]), node.flag(False))
    node.emit(OperationCode.CAST, total)


@rule("CUMSUM")
def cumsum(node: TfliteNode) -> None:
    options, x = node.options, node.graph.real(node.input(0))
    axis = node.i32(node.axis(node.number(1), x.rank))
    flags = node.flag(options.exclusive), node.flag(options.reverse)
    node.deliver(node.apply(CompositeCode.CUMSUM, x, axis, *flags, shape=x.shape))
