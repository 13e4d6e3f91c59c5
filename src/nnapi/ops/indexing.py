"""Look elements up by position, order or key.

GATHER: slices along an axis at the given indices.
SELECT: the elements of one of two tensors, chosen by a condition for each.
ARGMAX: the index of the largest element along an axis.
ARGMIN: the index of the smallest element along an axis.
TOPK_V2: the k largest elements of each row, and their indices.
TOP_K: the k largest or smallest elements along an axis, and their indices; of equal elements, the first comes first.
EMBEDDING_LOOKUP: the rows of a table at the given indices.
HASHTABLE_LOOKUP: the rows of a table at the given keys, and which keys were found.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, positive
from nnapi.model.proposal import Draw, Proposal, propose_along_axis, propose_equal_shapes
from nnapi.operation_codes import CompositeCode
from nnapi.ops.index_checks import check_range
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import BOOL8, FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, numbers

GATHER = Operation(
    OperationCode.GATHER,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Tensor("input", numbers(3, int32=3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Tensor("indices", INT32, since=3),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
)


@GATHER.shape
def infer_gather_shape(input: OperandType, axis: int, indices: OperandType) -> Shape:
    axis = axis_of(axis, input.rank)
    return (*input.shape[:axis], *indices.shape, *input.shape[axis + 1 :])


@GATHER.kernel(kind="raw")
def gather(input: Array, axis: int, indices: Array) -> Array:
    check_range("indices", indices, input.shape[axis])
    return np.take(input, indices, axis)


SELECT = Operation(
    OperationCode.SELECT,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES),
    inputs=(Tensor("condition", BOOL8, since=3), Tensor("a", numbers(3, int32=3)), Tensor("b", like="a")),
    outputs=(Tensor("out", like="a"),),
)


@SELECT.shape
def infer_select_shape(condition: OperandType, a: OperandType, b: OperandType) -> Shape:
    need(
        condition.shape == a.shape == b.shape,
        f"condition, a and b have shapes {list(condition.shape)}, {list(a.shape)}, {list(b.shape)}, must be the same",
    )
    return a.shape


@SELECT.kernel
def select(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


def _position(code: OperationCode, function: Callable[..., Any]) -> Operation:
    operation = Operation(
        code,
        facts=Facts(Kind.REDUCTION, Trait.CHOOSES | Trait.ORDERS),
        inputs=(Tensor("input", numbers(3, int32=3)), Scalar("axis", OperandCode.INT32, since=3)),
        outputs=(Tensor("out", INT32, since=3),),
        failure=BadDataError,
    )

    @operation.shape
    def infer_shape(input: OperandType, axis: int) -> Shape:
        axis = axis_of(axis, input.rank)
        need(input.shape[axis], f"input has no elements along axis {axis}: {input}", BadDataError)
        return (*input.shape[:axis], *input.shape[axis + 1 :]) or (1,)

    @operation.kernel(kind="raw")
    def position(input: Array, axis: int) -> Array:
        out = np.asarray(function(input, axis), np.int32)
        return out.reshape(out.shape or (1,))

    return operation


ARGMAX = _position(OperationCode.ARGMAX, np.argmax)
ARGMIN = _position(OperationCode.ARGMIN, np.argmin)


TOPK_V2 = Operation(
    OperationCode.TOPK_V2,
    facts=Facts(traits=Trait.CHOOSES | Trait.ORDERS),
    inputs=(Tensor("input", numbers(3, int32=3)), Scalar("k", OperandCode.INT32, since=3, check=positive)),
    outputs=(Tensor("values", like="input", quant="input"), Tensor("indices", INT32, since=3)),
)


@TOPK_V2.shape
def infer_top_k_shapes(input: OperandType, k: int) -> list[Shape]:
    *rows, dimension = input.shape
    need(k <= dimension, f"k is {k}, must not be above {dimension}, the last dimension of input")
    return [(*rows, k)] * 2


@TOPK_V2.kernel(kind="raw")
def top_k(input: Array, k: int) -> tuple[Array, Array]:
    ascending = np.argsort(input, axis=-1, kind="stable")
    indices = ascending[..., : -k - 1 : -1]  # reversed, so of equal values the last one comes first
    return np.take_along_axis(input, indices, -1), indices.astype(np.int32)


TOP_K = Operation(
    CompositeCode.TOP_K,
    facts=Facts(traits=Trait.CHOOSES | Trait.ORDERS),
    inputs=(
        Tensor("input", numbers(3, int32=3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("k", {OperandCode.INT32: 3, INT32: 3}),  # a tensor of one element may be computed
        Scalar("largest", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("values", like="input", quant="input"), Tensor("indices", INT32, since=3)),
)


@TOP_K.shape
def infer_top_k_along(input: OperandType, axis: int, k: int, largest: bool) -> list[Shape]:
    axis = axis_of(axis, input.rank)
    size = input.shape[axis]
    need(k > 0 or k == size, f"k is {k}, must be above 0")
    need(k <= size, f"k is {k}, must not be above {size}, dimension {axis} of input")
    return [(*input.shape[:axis], k, *input.shape[axis + 1 :])] * 2


@TOP_K.kernel(kind="raw")
def top_k_along(input: Array, axis: int, k: int, largest: bool) -> tuple[Array, Array]:
    x = np.moveaxis(input, axis, -1)
    if largest:  # sort the reversed row, so that the first of equal elements is the last
        indices = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., : -k - 1 : -1]
    else:
        indices = np.argsort(x, axis=-1, kind="stable")[..., :k]
    values = np.take_along_axis(x, indices, -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis).astype(np.int32)


EMBEDDING_LOOKUP = Operation(
    OperationCode.EMBEDDING_LOOKUP,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("lookups", INT32, rank=1, late_rank=True),
        Tensor("values", {FLOAT32: 1, FLOAT16: 4, INT32: 3, QUANT8: 3, QUANT8_SIGNED: 4}),
    ),
    outputs=(Tensor("out", like="values", quant="values"),),
    failure=BadDataError,
)


@EMBEDDING_LOOKUP.shape
def infer_embedding_lookup_shape(lookups: OperandType, values: OperandType) -> Shape:
    need(values.rank >= 2, f"values has rank {values.rank}, must have at least rank 2")
    return (*lookups.shape, *values.shape[1:])


@EMBEDDING_LOOKUP.kernel(kind="raw")
def embedding_lookup(lookups: Array, values: Array) -> Array:
    check_range("lookups", lookups, len(values))
    return values[lookups]


HASHTABLE_LOOKUP = Operation(
    OperationCode.HASHTABLE_LOOKUP,
    facts=Facts(traits=Trait.MOVES),
    inputs=(
        Tensor("lookups", INT32, rank=1, late_rank=True),
        Tensor("keys", INT32, rank=1, late_rank=True),
        Tensor("values", {FLOAT32: 1, INT32: 1, QUANT8: 1}),
    ),
    outputs=(Tensor("out", like="values", quant="values"), Tensor("hits", QUANT8, quant={QUANT8: (1.0, 0)})),
    failure=BadDataError,
)


@HASHTABLE_LOOKUP.shape
def infer_hashtable_lookup_shapes(lookups: OperandType, keys: OperandType, values: OperandType) -> list[Shape]:
    need(
        keys.shape[0] == values.shape[0],
        f"keys has {keys.shape[0]} elements, values has {values.shape[0]} rows, must be as many",
    )
    return [(*lookups.shape, *values.shape[1:]), lookups.shape]


@HASHTABLE_LOOKUP.kernel(kind="raw")
def hashtable_lookup(lookups: Array, keys: Array, values: Array) -> list[Array]:
    rows = np.minimum(np.searchsorted(keys, lookups), len(keys) - 1)
    hits = keys[rows] == lookups
    found = hits.reshape(-1, *[1] * (values.ndim - 1))
    # A missing key gives a row of zero bytes, whatever the zero point.
    return [np.where(found, values[rows], values.dtype.type(0)), hits.view(np.uint8)]


@GATHER.proposal
def propose_gather(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    indices = tuple(draw.dimension(8) for _ in range(draw.pick(1, 1, 2)))
    numbers = draw.rng.integers(0, shape[axis], indices, np.int32)
    return Proposal({"input": shape}, {"axis": axis}, {"indices": numbers})


@TOPK_V2.proposal
def propose_topk(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, {"k": draw.pick(1, shape[-1], 1 + draw.upto(shape[-1] - 1))})


@TOP_K.proposal
def propose_top_k_along(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    return Proposal({"input": shape}, {"axis": axis, "k": draw.upto(shape[axis] - 1) + 1})


@EMBEDDING_LOOKUP.proposal
def propose_embedding_lookup(draw: Draw) -> Proposal:
    values = draw.bound((draw.dimension(), *(draw.dimension(64) for _ in range(draw.pick(1, 2, 3)))))
    return Proposal(
        {"values": values}, numbers={"lookups": draw.rng.integers(0, values[0], draw.dimension(17), np.int32)}
    )


@HASHTABLE_LOOKUP.proposal
def propose_hashtable_lookup(draw: Draw) -> Proposal:
    values = draw.bound((draw.dimension(127), *(draw.dimension(64) for _ in range(draw.pick(0, 1, 2)))))
    keys = np.sort(draw.rng.choice(np.arange(-500, 500), values[0], replace=False))
    lookups = draw.rng.choice([*keys, 501], draw.dimension(17))
    return Proposal({"values": values}, numbers={"lookups": lookups, "keys": keys})


SELECT.proposal(propose_equal_shapes)


for _operation in (ARGMAX, ARGMIN):
    _operation.proposal(propose_along_axis)
