"""Elements that change their position and nothing else.

RESHAPE, SQUEEZE, EXPAND_DIMS: the same elements under other dimensions. TRANSPOSE: the axes in another order. REVERSE:
the elements along one axis in the opposite order. TILE: a tensor repeated along each axis. CHANNEL_SHUFFLE: the
channels of groups interleaved. CONCATENATION: tensors side by side along an axis they have. PACK: tensors of one shape
stacked along a new axis. SPLIT: equal consecutive slices along an axis, each an output. FILL: a tensor of given
dimensions, all of one value. RANK: the number of a tensor's axes, as a scalar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Facet, Operation
from nnapi.model.parameter import Levels, Scalar, Several, Tensor, Values, not_negative, positive, upto
from nnapi.ops.quantization import need_alike, offset, requantizer, same_quantization
from nnapi.ops.shapes import axis_of
from nnapi.ops.types import (
    BOOL8,
    FLOAT16,
    FLOAT32,
    INT32,
    PER_CHANNEL,
    QUANT8,
    QUANT8_SYMM,
    QUANT16,
    QUANT16_SYMM,
    numbers,
    reals,
)

RESHAPE = Operation(
    OperationCode.RESHAPE,
    facts=Facts(Kind.RESHAPE, Trait.FOLDS | Trait.MOVES | Trait.RESTATES),
    inputs=(Tensor("input", numbers(int32=6), rank=upto(4)), Values("shape")),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)

SQUEEZE = Operation(
    OperationCode.SQUEEZE,
    facts=Facts(Kind.RESHAPE, Trait.FOLDS | Trait.MOVES | Trait.RESTATES),
    inputs=(Tensor("input", reals(2), rank=upto(4)), Values("dims", optional=True, since=2)),
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
    wanted = [int(dimension) for dimension in shape]
    need(wanted.count(-1) <= 1 and min(wanted) >= -1, f"shape {wanted} may hold -1 once and nothing below")
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


TRANSPOSE = Operation(
    OperationCode.TRANSPOSE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", reals(2), rank=upto(4)), Values("perm", optional=True, since=2)),
    outputs=(Tensor("out", like="input", quant="input"),),
    zero_sized=True,
)


@TRANSPOSE.shape
def infer_transpose_shape(input: OperandType, perm: Array | None) -> Shape:
    if perm is None:
        return input.shape[::-1]
    need(
        sorted(perm.tolist()) == list(range(input.rank)),
        f"perm is {perm.tolist()}, must be a permutation of 0..{input.rank - 1}",
    )
    return tuple(input.shape[axis] for axis in perm)


@TRANSPOSE.kernel(kind="raw")
def transpose(input: Array, perm: Array | None) -> Array:
    return np.transpose(input, perm)


REVERSE = Operation(
    OperationCode.REVERSE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", numbers(7, int32=7), rank=upto(8)), Values("axis", late_rank=False, since=7)),
    outputs=(Tensor("out", like="input", quant="input", since=7),),
)
REVERSE.check(need_alike)


@REVERSE.shape
def infer_reverse_shape(input: OperandType, axis: Array) -> Shape:
    need(len(axis) == 1, f"axis holds {len(axis)} values, must hold 1")
    need(0 <= axis[0] < input.rank, f"axis is {axis[0]}, must be in [0, {input.rank})")
    return input.shape


@REVERSE.kernel(kind="raw")
def reverse(input: Array, axis: Array) -> Array:
    return np.flip(input, axis[0])


TILE = Operation(
    OperationCode.TILE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", numbers(3, int32=3)), Values("multiples", since=3)),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)


@TILE.shape
def infer_tile_shape(input: OperandType, multiples: Array) -> Shape:
    need(len(multiples) == input.rank, f"multiples holds {len(multiples)} values, must hold {input.rank}")
    need(bool((multiples >= 0).all()), f"multiples {multiples.tolist()} must not be negative")
    return tuple(dimension * int(times) for dimension, times in zip(input.shape, multiples, strict=True))


@TILE.kernel(kind="raw")
def tile(input: Array, multiples: Array) -> Array:
    return np.tile(input, multiples)


CHANNEL_SHUFFLE = Operation(
    OperationCode.CHANNEL_SHUFFLE,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("input", reals(3), rank=upto(4)),
        Scalar("num_groups", OperandCode.INT32, since=3, check=positive),
        Scalar("axis", OperandCode.INT32, since=3),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
)


@CHANNEL_SHUFFLE.shape
def infer_channel_shuffle_shape(input: OperandType, num_groups: int, axis: int) -> Shape:
    axis = axis_of(axis, input.rank)
    dimension = input.shape[axis]
    need(
        dimension % num_groups == 0,
        f"axis {axis} of input has dimension {dimension}, must be a multiple of {num_groups}",
    )
    return input.shape


@CHANNEL_SHUFFLE.kernel(kind="raw")
def channel_shuffle(input: Array, num_groups: int, axis: int) -> Array:
    axis = axis_of(axis, input.ndim)
    groups = input.reshape(*input.shape[:axis], num_groups, -1, *input.shape[axis + 1 :])
    return groups.swapaxes(axis, axis + 1).reshape(input.shape)


CONCATENATION = Operation(
    OperationCode.CONCATENATION,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.REQUANTIZES),
    inputs=(Several(Tensor("inputs", reals(), rank=upto(4))), Scalar("axis", OperandCode.INT32, check=not_negative)),
    outputs=(Tensor("out", like="inputs"),),
    zero_sized=True,
)


@CONCATENATION.facets
def mixed_quantization(inputs: Sequence[OperandType], out: OperandType) -> list[Facet]:
    """Before level 3 every input had to have the output's scale and zero point."""
    if out.code == QUANT8 and not all(same_quantization(type, out) for type in inputs):
        return [Facet(3, "inputs and out differ in scale or zero point")]
    return []


@CONCATENATION.shape
def infer_concatenation_shape(inputs: Sequence[OperandType], axis: int) -> Shape:
    first = inputs[0].shape
    need(axis < len(first), f"axis is {axis}, must be in [0, {len(first)})")
    for position, type in enumerate(inputs):
        fits = type.rank == len(first) and all(
            i == axis or dimension == want for i, (dimension, want) in enumerate(zip(type.shape, first, strict=True))
        )
        need(fits, f"inputs {position} has shape {list(type.shape)}, must be {list(first)} but for axis {axis}")
    return (*first[:axis], sum(type.shape[axis] for type in inputs), *first[axis + 1 :])


@CONCATENATION.kernel(kind="exact")
def concatenate(call: Call, inputs: Sequence[Array], axis: int) -> Array:
    types, out = call.arguments["inputs"], call.results[0]
    return np.concatenate([_in_units_of(out, type, codes) for type, codes in zip(types, inputs, strict=True)], axis)


def _in_units_of(out: OperandType, type: OperandType, codes: Array) -> Array:
    if same_quantization(type, out):
        return codes
    return requantizer(out, FuseCode.FUSED_NONE, type.scale)(offset(type, codes))


PACK = Operation(
    OperationCode.PACK,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Scalar("axis", OperandCode.INT32, since=6, check=not_negative),
        Several(Tensor("inputs", numbers(6, int32=6))),
    ),
    outputs=(Tensor("out", like="inputs", quant="inputs", since=6),),
)


@PACK.check
def alike(inputs: Sequence[OperandType], out: OperandType) -> None:
    rank = next((type.rank for type in inputs if type.rank), out.rank - 1)
    need(not out.rank or out.rank == rank + 1, f"out has rank {out.rank}, must have rank {rank + 1}", BadDataError)
    for position, type in enumerate(inputs):
        need(
            same_quantization(type, out),
            f"inputs {position} is {type}, must have the scale and zero point of out, {out}",
            BadDataError,
        )
        need(type.rank in (0, rank), f"inputs {position} has rank {type.rank}, must have rank {rank}", BadDataError)


@PACK.shape
def infer_pack_shape(axis: int, inputs: Sequence[OperandType]) -> Shape:
    first = inputs[0].shape
    need(axis <= len(first), f"axis is {axis}, must be in [0, {len(first)}]")
    for position, type in enumerate(inputs):
        need(type.shape == first, f"inputs {position} has shape {list(type.shape)}, must be {list(first)}")
    return (*first[:axis], len(inputs), *first[axis:])


@PACK.kernel(kind="raw")
def pack(axis: int, inputs: Sequence[Array]) -> Array:
    return np.stack(inputs, axis)


SPLIT = Operation(
    OperationCode.SPLIT,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Tensor("input", numbers(3, int32=3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("num_splits", OperandCode.INT32, since=3, check=positive),
    ),
    outputs=(Several(Tensor("out", like="input", quant="input")),),
    failure=BadDataError,
)


@SPLIT.shape
def infer_split_shapes(input: OperandType, axis: int, num_splits: int) -> list[Shape]:
    axis = axis_of(axis, input.rank)
    dimension = input.shape[axis]
    need(
        dimension % num_splits == 0,
        f"axis {axis} of input has dimension {dimension}, must be a multiple of {num_splits}",
    )
    return [(*input.shape[:axis], dimension // num_splits, *input.shape[axis + 1 :])] * num_splits


@SPLIT.kernel(kind="raw")
def split(input: Array, axis: int, num_splits: int) -> list[Array]:
    return np.split(input, num_splits, axis)


FILLED: dict[int, int | Levels] = {OperandCode.FLOAT32: FLOAT32, OperandCode.FLOAT16: FLOAT16, OperandCode.INT32: INT32}
"""The result beside the value."""

FILL = Operation(
    OperationCode.FILL,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Values("dims", since=4), Scalar("value", dict.fromkeys(FILLED, 4))),
    outputs=(Tensor("out", like="value", via=FILLED, since=4),),
)


@FILL.shape
def infer_fill_shape(dims: Array, value: float) -> Shape:
    need(bool((dims >= 0).all()), f"dims {dims.tolist()} must not be negative")
    return tuple(dims.tolist())


@FILL.kernel(kind="exact")
def fill(call: Call, dims: Array, value: float) -> Array:
    return np.full(dims, value, call.results[0].dtype)


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
