"""Rearrange or repeat the elements of a tensor, or fill one.

TRANSPOSE: the tensor with its axes in another order.
REVERSE: the elements along an axis in reverse order.
TILE: the tensor repeated along each axis.
FILL: a tensor of the given shape with one value.
RANGE: the numbers from a start in equal steps, before a limit.
"""

import math

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import MAX_BYTES, Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Levels, Scalar, Tensor, Values, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.quantized_values import need_alike
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import FLOAT16, FLOAT32, INT32, floats, numbers, reals

TRANSPOSE = Operation(
    OperationCode.TRANSPOSE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", reals(2), rank=upto(4), high=HIGH), Values("perm", optional=True, since=2)),
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
    return tuple(dimension * times for dimension, times in zip(input.shape, multiples.tolist(), strict=True))


@TILE.kernel(kind="raw")
def tile(input: Array, multiples: Array) -> Array:
    return np.tile(input, multiples)


FILLED: dict[int, int | Levels] = {OperandCode.FLOAT32: FLOAT32, OperandCode.FLOAT16: FLOAT16, OperandCode.INT32: INT32}

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


RANGE = Operation(
    CompositeCode.RANGE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.ORDERS),
    inputs=(
        Tensor("start", floats(3) | {INT32: 3}, rank=1, late_rank=True),
        Tensor("limit", like="start", rank=1, late_rank=True),
        Tensor("delta", like="start", rank=1, late_rank=True),
    ),
    outputs=(Tensor("out", like="start", since=3),),
)


@RANGE.shape
def infer_range_shape(**numbers: OperandType) -> tuple[int | None, ...]:
    for name, type in numbers.items():
        need_shape(name, type, (1,))
    return (None,)


@RANGE.kernel(kind="raw")
def number_range(start: Array, limit: Array, delta: Array) -> Array:
    """Return ``start + i * delta``. The kernel rounds once: the count and the numbers are computed in float64."""
    first, end, step = (each.astype(np.float64).item() for each in (start, limit, delta))
    need(step != 0, "delta is 0")
    count = max(math.ceil((end - first) / step), 0)
    need(count * start.itemsize <= MAX_BYTES, f"it gives {count} numbers")
    return (first + np.arange(count) * step).astype(start.dtype)


@REVERSE.proposal
def propose_reverse(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, numbers={"axis": [draw.upto(len(shape) - 1)]})


@TRANSPOSE.proposal
def propose_transpose(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, numbers={"perm": draw.rng.permutation(len(shape))})


@TILE.proposal
def propose_tile(draw: Draw) -> Proposal:
    shape = draw.bound(draw.shape(), 5000) if draw.given is None else draw.shape()
    return Proposal({"input": shape}, numbers={"multiples": [draw.pick(1, 1, 2, 3) for _ in shape]})


@FILL.proposal
def propose_fill(draw: Draw) -> Proposal:
    return Proposal(numbers={"dims": draw.bound(tuple(draw.dimension(64) for _ in range(draw.pick(1, 2, 3, 4))))})


@RANGE.proposal
def propose_range(draw: Draw) -> Proposal:
    start, count, delta = draw.upto(20) - 10, draw.dimension(33), draw.pick(1, 2, -3)
    numbers = {"start": [start], "limit": [start + count * delta], "delta": [delta]}
    return Proposal(dict.fromkeys(numbers, (1,)), {}, numbers)
