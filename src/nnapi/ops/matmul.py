"""Products of matrices.

FULLY_CONNECTED: the product of rows and weights, plus bias and activation.
BATCH_MATMUL: the product of each pair of matrices, either of which may be transposed.
"""

import math

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Facet, Operation
from nnapi.model.parameter import Activation, Scalar, Tensor
from nnapi.model.proposal import MOST, Draw, Proposal
from nnapi.ops.convolution_parameters import check_bias, scale_facet
from nnapi.ops.signature_types import BIAS, FLOAT16, FLOAT32, INT32, QUANT8_SIGNED, reals

FULLY_CONNECTED = Operation(
    OperationCode.FULLY_CONNECTED,
    facts=Facts(Kind.PRODUCT, summed=slice(1, None)),
    inputs=(
        Tensor("input", reals(), rank=(2, 3, 4), late_rank=True),
        Tensor("weights", like="input", rank=2, late_rank=True, channel=0),
        Tensor("bias", like="input", via=BIAS, rank=1, late_rank=True),
        Activation(),
    ),
    outputs=(Tensor("out", like="input"),),
    zero_sized=True,
)


@FULLY_CONNECTED.check
def shapes_agree(input: OperandType, weights: OperandType, bias: OperandType) -> None:
    """The shapes are checked if all three ranks are known; unspecified dimensions are skipped."""
    if not (input.rank and weights.rank and bias.rank):
        return
    need(input.rank in (2, 3, 4), f"input has rank {input.rank}, must have rank 2 or 3 or 4", BadDataError)
    need(weights.rank == 2, f"weights has rank {weights.rank}, must have rank 2", BadDataError)
    need(bias.rank == 1, f"bias has rank {bias.rank}, must have rank 1", BadDataError)
    units, width = weights.shape
    need(
        width == 0 or input.size % width == 0,
        f"input holds {input.size} elements, not a multiple of the {width} columns of weights",
        BadDataError,
    )
    length = bias.shape[0]
    need(0 in (units, length) or units == length, f"bias has length {length}, weights has {units} rows", BadDataError)


@FULLY_CONNECTED.check
def output_scale(input: OperandType, weights: OperandType, out: OperandType) -> Facet | None:
    return scale_facet(input, weights, out)


@FULLY_CONNECTED.shape
def infer_fully_connected_shape(input: OperandType, weights: OperandType, bias: OperandType) -> Shape:
    units, width = weights.shape
    need(units and width, f"weights has shape {list(weights.shape)}, must not be empty")
    need(input.size % width == 0, f"input holds {input.size} elements, not a multiple of {width}")
    check_bias(bias, units, input, weights, "weights")
    return (input.size // width, units)


@FULLY_CONNECTED.kernel(scaled=("input", "weights"))
def fully_connected(input: Array, weights: Array, bias: Array) -> Array:
    y = input.reshape(-1, weights.shape[1]) @ weights.T
    y += bias
    return y


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
def infer_batch_matmul_shape(lhs: OperandType, rhs: OperandType, adj_x: bool, adj_y: bool) -> Shape:
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


@FULLY_CONNECTED.proposal
def propose_fully_connected(draw: Draw) -> Proposal:
    shape = draw.shape(2, 2, 3, 4)
    size = math.prod(shape)
    width = shape[-1] if draw.chance(0.7) else draw.pick(*(n for n in range(1, size + 1) if size % n == 0))
    units = draw.dimension(max(1, MOST // width))
    return Proposal({"input": shape, "weights": (units, width), "bias": (units,)})


@BATCH_MATMUL.proposal
def propose_batch_matmul(draw: Draw) -> Proposal:
    lhs = draw.shape(2, 3, 4)
    adj_x, adj_y = draw.chance(0.4), draw.chance(0.4)
    batches = tuple(1 if draw.chance(0.3) else dimension for dimension in lhs[:-2])
    inner, outer = lhs[-2] if adj_x else lhs[-1], draw.dimension(max(1, MOST // max(1, math.prod(lhs))))
    rhs = (*batches, outer, inner) if adj_y else (*batches, inner, outer)
    return Proposal({"lhs": lhs, "rhs": rhs}, {"adj_x": adj_x, "adj_y": adj_y})
