"""Products of matrices."""

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.model.operand import OperandType

MOST_PRODUCTS = 256
"""Maximum inner dimension of an int32 product, which is decomposed into as many multiplications."""


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: TfliteContext, input: Tensor, weights: OperandType, bias: OperandType) -> Tensor:
    out = context.result()
    x = context.reshape(input, (out.shape[0], weights.shape[1]))
    return context.sum_products("FULLY_CONNECTED", x, "weights", 0, out)


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: TfliteContext, lhs: Tensor, rhs: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    if lhs.type == "i32":
        return _multiply_integers(context, _swap(context, lhs, adj_x), _swap(context, rhs, adj_y))
    return context.emit("BATCH_MATMUL", [lhs, rhs], adj_x=bool(adj_x), adj_y=bool(adj_y))


def _multiply_integers(context: TfliteContext, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Add the products of columns and rows: TensorFlow Lite does not multiply int32 matrices."""
    out, count = context.result(), lhs.shape[-1]
    require(count <= MOST_PRODUCTS, f"its {count} products of integers are too many to decompose")
    start, total = [0] * (len(lhs.shape) - 1), None
    for position in range(count):
        column = context.cut(lhs, [*start, position], (*lhs.shape[:-1], 1))
        row = context.cut(rhs, [*start[1:], position, 0], (*rhs.shape[:-2], 1, rhs.shape[-1]))
        product = context.emit("MUL", [column, row], out.like(), activation=0)
        total = product if total is None else context.emit("ADD", [total, product], out.like(), activation=0)
    assert total is not None  # no dimension is 0
    return total


def _swap(context: TfliteContext, matrices: Tensor, is_adjoint: bool) -> Tensor:
    rank = len(matrices.shape)
    return context.transpose(matrices, [*range(rank - 2), rank - 1, rank - 2]) if is_adjoint else matrices
