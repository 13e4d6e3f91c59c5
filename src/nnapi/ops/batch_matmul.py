"""BATCH_MATMUL: the product of each pair of matrices, either of which may be transposed."""

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.ops.types import FLOAT16, FLOAT32, INT32, QUANT8_SIGNED

BATCH_MATMUL = Operation(
    OperationCode.BATCH_MATMUL,
    facts=Facts(Kind.PRODUCT, summed=slice(-2, -1)),
    inputs=(
        Tensor("lhs", dict.fromkeys((FLOAT32, FLOAT16, INT32, QUANT8_SIGNED), 6), rank=(2, 3, 4), late_rank=True),
        Tensor("rhs", like="lhs", rank=(2, 3, 4), late_rank=True),
        Scalar("adj_x", OperandCode.BOOL, since=6),
        Scalar("adj_y", OperandCode.BOOL, since=6),
    ),
    outputs=(Tensor("out", like="lhs"),),
)


@BATCH_MATMUL.shape
def infer_shape(lhs: OperandType, rhs: OperandType, adj_x: bool, adj_y: bool) -> Shape:
    need(lhs.rank == rhs.rank, f"rhs has rank {rhs.rank}, lhs has {lhs.rank}")
    *batch, rows, inner = _turn(lhs.shape, adj_x)
    *others, rhs_inner, columns = _turn(rhs.shape, adj_y)
    need(batch == others, f"rhs has leading dimensions {others}, lhs has {batch}")
    need(inner == rhs_inner, f"rhs has {rhs_inner} rows to multiply, lhs has {inner} columns")
    return (*batch, rows, columns)


def _turn(shape: Shape, adjoint: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if adjoint else shape


@BATCH_MATMUL.kernel(scaled=("lhs", "rhs"), types=(QUANT8_SIGNED,))
@BATCH_MATMUL.kernel
def batch_matmul(lhs: Array, rhs: Array, adj_x: bool, adj_y: bool) -> Array:
    return (lhs.swapaxes(-1, -2) if adj_x else lhs) @ (rhs.swapaxes(-1, -2) if adj_y else rhs)
