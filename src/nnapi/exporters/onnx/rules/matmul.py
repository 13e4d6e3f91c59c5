"""Products of matrices."""

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: OnnxContext, input: Value, weights: Value, bias: Value) -> Value:
    shape = context.result().shape
    x = context.real(context.reshape(input, (shape[0], weights.shape[1])))
    given = context.dequantize_weights(input, weights, bias)
    return context.store(context.emit("Gemm", [x, *given], x.like(shape), transB=1))


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: OnnxContext, lhs: Value, rhs: Value, adj_x: bool, adj_y: bool) -> Value:
    rank = len(lhs.shape)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    pair = [context.transpose(value, swapped) if adjoint else value for value, adjoint in ((lhs, adj_x), (rhs, adj_y))]
    return context.compute("MatMul", *pair)
