"""Change the dimensions of a tensor but not its elements, or return the dimensions.

RESHAPE: the same elements under another shape.
SQUEEZE: the tensor without axes of size 1.
EXPAND_DIMS: the tensor with an axis of size 1 inserted.
RANK: the number of dimensions.
SHAPE: the dimensions.
"""

import math

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Scalar, Tensor, Values, upto
from nnapi.model.proposal import Draw, Proposal, propose_equal_shapes
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import BOOL8, INT32, PER_CHANNEL, QUANT8_SYMM, QUANT16, QUANT16_SYMM, numbers, reals

RESHAPE = Operation(
    OperationCode.RESHAPE,
    facts=Facts(Kind.RESHAPE, Trait.FOLDS | Trait.MOVES | Trait.RESTATES),
    inputs=(Tensor("input", numbers(int32=6), rank=upto(4), high=upto(8)[4:]), Values("shape")),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)

SQUEEZE = Operation(
    OperationCode.SQUEEZE,
    facts=Facts(Kind.RESHAPE, Trait.FOLDS | Trait.MOVES | Trait.RESTATES),
    inputs=(Tensor("input", reals(2), rank=upto(4), high=HIGH), Values("dims", optional=True, since=2)),
    outputs=(Tensor("out", like="input", quant="input"),),
)

EXPAND_DIMS = Operation(
    OperationCode.EXPAND_DIMS,
    facts=Facts(Kind.RESHAPE, Trait.FOLDS | Trait.MOVES | Trait.RESTATES),
    inputs=(Tensor("input", numbers(3, int32=3)), Scalar("axis", OperandCode.INT32, since=3)),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)


@RESHAPE.shape
def infer_reshape_shape(input: OperandType, shape: Array) -> Shape:
    wanted = shape.tolist()
    is_legal = wanted.count(-1) <= 1 and all(dimension >= -1 for dimension in wanted)
    need(is_legal, f"shape {wanted} may hold -1 once and nothing below")
    if -1 in wanted:
        rest = -math.prod(wanted)
        wanted[wanted.index(-1)] = input.size // rest if rest else 0
    need(math.prod(wanted) == input.size, f"shape {wanted} holds {math.prod(wanted)} elements, input has {input.size}")
    return tuple(wanted)


@RESHAPE.kernel(kind="raw")
def reshape(input: Array, shape: Array) -> Array:
    return input.reshape(shape)


@SQUEEZE.shape
def infer_squeeze_shape(input: OperandType, dims: Array | None) -> Shape:
    drop = set(_find_dropped(input.shape, dims))
    return tuple(dimension for axis, dimension in enumerate(input.shape) if axis not in drop) or (1,)


@SQUEEZE.kernel(kind="raw")
def squeeze(input: Array, dims: Array | None) -> Array:
    kept = input.squeeze(_find_dropped(input.shape, dims))
    return kept.reshape(kept.shape or (1,))


@EXPAND_DIMS.shape
def infer_expand_dims_shape(input: OperandType, axis: int) -> Shape:
    axis = axis_of(axis, input.rank + 1)
    return (*input.shape[:axis], 1, *input.shape[axis:])


@EXPAND_DIMS.kernel(kind="raw")
def expand_dims(input: Array, axis: int) -> Array:
    return np.expand_dims(input, axis)


def _find_dropped(shape: Shape, dims: Array | None) -> tuple[int, ...]:
    if dims is None:
        return tuple(axis for axis, dimension in enumerate(shape) if dimension == 1)
    drop = tuple({axis_of(int(axis), len(shape), "dims") for axis in dims})
    need(all(shape[axis] == 1 for axis in drop), f"dims {sorted(drop)} of {list(shape)} are not all of dimension 1")
    return drop


TYPES = (*numbers(), BOOL8, PER_CHANNEL, QUANT8_SYMM, QUANT16, QUANT16_SYMM)

RANK = Operation(
    OperationCode.RANK,
    facts=Facts(traits=Trait.CHOOSES),
    inputs=(Tensor("input", dict.fromkeys(TYPES, 4)),),
    outputs=(Scalar("rank", OperandCode.INT32, since=4),),
)


@RANK.shape
def infer_rank_shape(input: OperandType) -> Shape:
    return ()


@RANK.kernel(kind="raw")
def rank(input: Array) -> Array:
    return np.array(input.ndim, np.int32)


SHAPE = Operation(
    CompositeCode.SHAPE,
    facts=Facts(traits=Trait.CHOOSES),
    inputs=(Tensor("input", numbers(3, int32=3) | {BOOL8: 3}),),
    outputs=(Tensor("out", INT32, since=3),),
    zero_sized=True,
)


@SHAPE.shape
def infer_shape_shape(input: OperandType) -> Shape:
    return (input.rank,)


@SHAPE.kernel(kind="raw")
def shape(input: Array) -> Array:
    return np.array(input.shape, np.int32)


@EXPAND_DIMS.proposal
def propose_new_axis(draw: Draw) -> Proposal:
    shape = draw.shape(1, 2, 3)
    return Proposal({"input": shape}, {"axis": draw.axis(len(shape) + 1)})


@RESHAPE.proposal
def propose_reshape(draw: Draw) -> Proposal:
    shape = draw.shape()
    left = math.prod(shape)
    wanted: list[int] = []
    for _ in range(draw.upto(3)):
        wanted.append(draw.pick(*(n for n in range(1, min(left, 64) + 1) if left % n == 0)))
        left //= wanted[-1]
    wanted = draw.rng.permutation([*wanted, left]).tolist()
    if draw.chance(0.3):
        wanted[draw.upto(len(wanted) - 1)] = -1
    return Proposal({"input": shape}, numbers={"shape": wanted})


@SQUEEZE.proposal
def propose_squeeze(draw: Draw) -> Proposal:
    shape = draw.shape()
    if draw.given is None:
        kept = draw.upto(len(shape) - 1)
        shape = tuple(dimension if axis < kept and draw.chance(0.6) else 1 for axis, dimension in enumerate(shape))
    ones = draw.rng.permutation([axis for axis, dimension in enumerate(shape) if dimension == 1])
    return Proposal({"input": shape}, numbers={"dims": ones[: 1 + draw.upto(len(ones) - 1)]} if len(ones) else {})


RANK.proposal(propose_equal_shapes)
SHAPE.proposal(propose_equal_shapes)
