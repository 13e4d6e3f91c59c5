"""Elements by their index, key or rank.

GATHER: slices along an axis, picked by index. SELECT: from one tensor where a condition holds, from the other where
not. TOPK_V2: the k largest elements of each row, largest first, and where they are. ARGMAX, ARGMIN: where along an axis
the largest, or smallest, element is; the first of equals. EMBEDDING_LOOKUP: rows of a table by their number.
HASHTABLE_LOOKUP: rows of a table by their key. LSH_PROJECTION: bits of a locality-sensitive hash, each the sign of a
sum of pseudo-random values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, one_of, positive
from nnapi.ops.farmhash import fingerprint64
from nnapi.ops.shapes import axis_of, need_shape
from nnapi.ops.types import BOOL8, FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, numbers

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
    dimension, low, high = input.shape[axis], indices.min(), indices.max()
    need(low >= 0 and high < dimension, f"indices are in {low}..{high}, must be in 0..{dimension - 1}")
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


TOPK_V2 = Operation(
    OperationCode.TOPK_V2,
    facts=Facts(traits=Trait.CHOOSES | Trait.ORDERS),
    inputs=(Tensor("input", numbers(3, int32=3)), Scalar("k", OperandCode.INT32, since=3, check=positive)),
    outputs=(Tensor("values", like="input", quant="input"), Tensor("indices", INT32, since=3)),
)


@TOPK_V2.shape
def infer_topk_v2_shapes(input: OperandType, k: int) -> list[Shape]:
    *rows, dimension = input.shape
    need(k <= dimension, f"k is {k}, must not be above {dimension}, the last dimension of input")
    return [(*rows, k)] * 2


@TOPK_V2.kernel(kind="raw")
def top_k(input: Array, k: int) -> tuple[Array, Array]:
    ascending = np.argsort(input, axis=-1, kind="stable")
    indices = ascending[..., : -k - 1 : -1]  # reversed, so of equal values the one with the larger index comes first
    return np.take_along_axis(input, indices, -1), indices.astype(np.int32)


def _position(code: OperationCode, function: Callable[..., Any]) -> Operation:
    operation = Operation(
        code,
        facts=Facts(Kind.REDUCTION, Trait.CHOOSES | Trait.ORDERS),
        inputs=(Tensor("input", numbers(3, int32=3)), Scalar("axis", OperandCode.INT32, since=3)),
        outputs=(Tensor("out", INT32, since=3),),
        failure=BadDataError,
    )

    @operation.shape
    def infer_argmax_shape(input: OperandType, axis: int) -> Shape:
        axis = axis_of(axis, input.rank)
        return (*input.shape[:axis], *input.shape[axis + 1 :]) or (1,)

    @operation.kernel(kind="raw")
    def position(input: Array, axis: int) -> Array:
        out = np.asarray(function(input, axis), np.int32)
        return out.reshape(out.shape or (1,))

    return operation


ARGMAX = _position(OperationCode.ARGMAX, np.argmax)
ARGMIN = _position(OperationCode.ARGMIN, np.argmin)


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
    bad = lookups[(lookups < 0) | (lookups >= len(values))]
    need(not bad.size, f"lookups holds {bad[:1]}, values has rows 0 to {len(values) - 1}")
    return values[lookups]


HASHTABLE_LOOKUP = Operation(
    OperationCode.HASHTABLE_LOOKUP,
    facts=Facts(traits=Trait.MOVES),
    inputs=(
        Tensor("lookups", INT32, rank=1, late_rank=True),
        Tensor("keys", INT32, rank=1, late_rank=True),
        Tensor("values", {FLOAT32: 1, INT32: 1, QUANT8: 1}),
    ),
    outputs=(
        Tensor("out", like="values", quant="values"),
        Tensor("hits", QUANT8, quant={QUANT8: (1.0, 0)}),
    ),
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
    # A miss is a row of zero bytes, whatever the zero point.
    return [np.where(found, values[rows], values.dtype.type(0)), hits.view(np.uint8)]


SPARSE_DEPRECATED, DENSE, SPARSE = 1, 2, 3
"""Types: one number of bits for each hash, each bit for itself, or a number of bits that says which hash it is."""

LSH_PROJECTION = Operation(
    OperationCode.LSH_PROJECTION,
    facts=Facts(traits=Trait.ORDERS),
    inputs=(
        Tensor("hash", {FLOAT32: 1, FLOAT16: 3}, rank=2, late_rank=True),
        Tensor("input", {FLOAT32: 1, INT32: 1, QUANT8: 1, FLOAT16: 3}),
        Tensor("weight", like="hash", rank=1, late_rank=True, optional=True),
        Scalar("type", OperandCode.INT32, check=one_of(SPARSE_DEPRECATED, DENSE, SPARSE)),
    ),
    outputs=(Tensor("out", INT32),),
)


@LSH_PROJECTION.shape
def infer_lsh_projection_shape(hash: OperandType, input: OperandType, weight: OperandType | None, type: int) -> Shape:
    count, bits = hash.shape
    room = bits + (count - 1).bit_length() if type == SPARSE else bits
    need(room <= 32, f"hash has shape {list(hash.shape)}, which takes {room} bits, more than 32")
    need_shape("weight", weight, input.shape[:1])
    return (count * bits,) if type == DENSE else (count,)


@LSH_PROJECTION.kernel(kind="raw")
def lsh_projection(hash: Array, input: Array, weight: Array | None, type: int) -> Array:
    items = np.ascontiguousarray(input).reshape(len(input), -1).view(np.uint8)
    weights = np.ones(len(input)) if weight is None else weight.astype(np.float64)
    bits = np.array([[_bit(seed, items, weights) for seed in seeds] for seeds in hash.astype(np.float32)])
    if type == DENSE:
        return bits.reshape(-1).astype(np.int32)
    count, width = hash.shape
    packed = bits @ (1 << np.arange(width)[::-1])
    if type == SPARSE:
        packed += np.arange(count) << width
    return packed.astype(np.int32)


def _bit(seed: np.float32, items: Array, weights: Array) -> bool:
    """Whether the weighted sum over all items of the signed hash of (seed, item) is positive."""
    seeds = np.broadcast_to(np.array([seed]).view(np.uint8), (len(items), 4))
    signed = fingerprint64(np.hstack((seeds, items))).view(np.int64)
    return bool(signed.astype(np.float64) @ weights > 0)
