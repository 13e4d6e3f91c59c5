"""Selection of elements by position, key or order."""

import math
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import DTYPES, Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.coordinates import Reduction
from nnapi.ops.shapes import axis_of


@lower(Op.GATHER)
def gather(context: TfliteContext, input: Tensor, axis: int, indices: Tensor) -> Tensor:
    return context.emit("GATHER", [input, indices], axis=axis_of(axis, len(input.shape)))


@lower(Composite.TAKE)
def take(context: TfliteContext, input: Tensor, axis: int, indices: Tensor) -> Tensor:
    axis = axis_of(axis, len(input.shape))
    return context.emit("GATHER", [input, count_from_start(context, indices, constant([input.shape[axis]]))], axis=axis)


@lower(Composite.GATHER_ELEMENTS)
def gather_elements(context: TfliteContext, input: Tensor, axis: int, indices: Tensor, from_end: bool) -> Tensor:
    """Gather from each line along the axis, as from a batch of its own."""
    own, rank = input.shape, len(input.shape)
    axis = axis_of(axis, rank)
    others = [i for i in range(rank) if i != axis]
    require(
        all(indices.shape[i] == own[i] for i in others), f"indices of {list(indices.shape)} do not cover {list(own)}"
    )
    order, lines = [*others, axis], math.prod(own[i] for i in others)
    at = count_from_start(context, indices, constant([own[axis]])) if from_end else indices
    x, at = (context.transpose(each, order) for each in (input, at))
    moved, count = tuple(at.shape), at.shape[-1]
    x, at = context.reshape(x, (lines, own[axis])), context.reshape(at, (lines, count))
    out = context.result()
    picked = context.emit("GATHER", [x, at], out.like(shape=at.shape), axis=1, batch_dims=1)
    return context.transpose(context.reshape(picked, moved), np.argsort(order).tolist())


@lower(Composite.GATHER_ND)
def gather_nd(context: TfliteContext, input: Tensor, indices: Tensor, batch_dims: int, from_end: bool) -> Tensor:
    depth = indices.shape[-1]
    require(not batch_dims or depth == 1, "TensorFlow Lite's GATHER_ND has no batches")
    sizes = constant(input.shape[batch_dims : batch_dims + depth])
    at = count_from_start(context, indices, sizes) if from_end else indices
    if not batch_dims and len(at.shape) == 1:  # TensorFlow Lite's result of one element has no dimensions
        out, at = context.result(), context.reshape(at, (1, depth))
        picked = context.emit("GATHER_ND", [input, at], out.like(shape=(1, *input.shape[depth:])))
        return context.reshape(picked, out.shape, out)
    if not batch_dims:
        return context.emit("GATHER_ND", [input, at])
    return context.emit("GATHER", [input, context.reshape(at, at.shape[:-1])], axis=batch_dims, batch_dims=batch_dims)


@lower(Composite.SCATTER_ND)
def scatter_nd(
    context: TfliteContext, input: Tensor, indices: Tensor, updates: Tensor, reduction: int, from_end: bool
) -> Tensor:
    """Add the updates to zeros, and the sum to the input."""
    require(reduction == Reduction.ADD, "TensorFlow Lite's SCATTER_ND writes into zeros and adds updates")
    require(not input.is_quantized, "TensorFlow Lite adds no quantized updates")
    depth, count = indices.shape[-1], math.prod(indices.shape[:-1])
    at = count_from_start(context, indices, constant(input.shape[:depth])) if from_end else indices
    at, updates = context.reshape(at, (count, depth)), context.reshape(updates, (count, *input.shape[depth:]))
    added = context.emit("SCATTER_ND", [at, updates, constant(input.shape)], input.like())
    return context.emit("ADD", [input, added], activation=0)


def count_from_start(context: TfliteContext, indices: Tensor, sizes: Tensor) -> Tensor:
    """Return indices; those that are negative, and count from the end, become positive."""
    if indices.data is not None:
        return indices.like(data=indices.data + (indices.data < 0) * sizes.value)
    negative = context.emit("LESS", [indices, context.fill(indices, 0)], indices.like(type="bool"))
    moved = context.emit("ADD", [indices, sizes], indices.like(), activation=0)
    return context.emit("SELECT", [negative, moved, indices], indices.like())


@lower(Op.SELECT)
def select(context: TfliteContext, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    out = context.result()
    return context.emit("SELECT", [condition, context.requantize(a, out), context.requantize(b, out)], out)


@lower(Op.ARGMAX, Op.ARGMIN)
def extreme_position(context: TfliteContext, input: Tensor, axis: int) -> Tensor:
    """Reshape the position: for an input of rank 1, NNAPI's result has rank 1 and TensorFlow Lite's rank 0."""
    out, axis = context.result(), axis_of(axis, len(input.shape))
    kept = tuple(size for i, size in enumerate(input.shape) if i != axis)
    position = out if out.shape == kept else out.like(shape=kept)
    context.emit(context.kind, [input, constant(axis)], position, type=ELEMENTS["i32"])
    return out if position is out else context.reshape(position, out.shape, out)


@lower(Op.TOPK_V2)
def top_k(context: TfliteContext, input: Tensor, k: int) -> Sequence[Tensor]:
    """Reverse rows: of equal elements, TensorFlow Lite puts the first index first, NNAPI the last."""
    values, indices = context.results(2)
    last = len(input.shape) - 1
    backward = context.emit("REVERSE_V2", [input, constant([last])], input.like())
    from_behind = indices.like()
    context.emit_several("TOPK_V2", [backward, constant(k)], [values, from_behind])
    return values, context.emit("SUB", [constant([input.shape[last] - 1]), from_behind], indices, activation=0)


@lower(Composite.TOP_K)
def top_k_along(context: TfliteContext, input: Tensor, axis: int, k: int, largest: bool) -> Sequence[Tensor]:
    rank = len(input.shape)
    require(largest and axis_of(axis, rank) == rank - 1, "TensorFlow Lite finds the largest elements of the last axis")
    return context.emit_several("TOPK_V2", [input, constant(k)], context.results(2))


@lower(Op.EMBEDDING_LOOKUP, Op.HASHTABLE_LOOKUP)
def look_up(context: TfliteContext, **inputs: Tensor) -> Sequence[Tensor]:
    return context.emit_several(context.kind, list(inputs.values()), context.results(len(context.call.results)))


@lower(Op.LSH_PROJECTION)
def lsh_projection(context: TfliteContext, hash: Tensor, input: Tensor, weight: Tensor | None, type: int) -> Tensor:
    """Refuse the deprecated sparse type, which adds no offsets. LiteRT requires weights: without any they are ones."""
    require(type != 1, "TensorFlow Lite's LSH_PROJECTION has no sparse type without offsets")
    is_same = DTYPES[input.type] == context.type("input").dtype
    require(is_same, f"the bytes of input are hashed, which is {context.type('input').name} and becomes {input.type}")
    weights = weight or constant(np.ones(input.shape[0]), "f32")
    return context.emit("LSH_PROJECTION", [hash, input, weights], type=1 if type == 3 else type)
