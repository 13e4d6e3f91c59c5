"""Reshapes, slices, padding and block moves by RESHAPE, TRANSPOSE, CONCATENATION and GATHER."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of, outer_and_inner
from nnapi.ops.slice import slice_steps

SWAPPED = (0, 2, 1, 3)


def result_dimensions(b: Decomposition) -> tuple[int, ...]:
    return b.call.results[0].dimensions


@decomposition(Op.SQUEEZE, Op.EXPAND_DIMS)
def reshape(b: Decomposition, input: Tensor, **_: Any) -> Tensor:
    return b.reshape(input, result_dimensions(b))


@decomposition(Op.FILL)
def fill(b: Decomposition, dims: Array, value: Any) -> Tensor:
    return b.full(b.call.results[0], value)


@decomposition(Op.PACK)
def pack(b: Decomposition, axis: int, inputs: Sequence[Tensor]) -> Tensor:
    shape = list(result_dimensions(b))
    shape[axis] = 1
    return b.concatenate([b.reshape(each, shape) for each in inputs], axis)


@decomposition(Composite.CONCATENATION_V2)
def concatenate_integers(b: Decomposition, inputs: Sequence[Tensor], axis: int) -> Tensor:
    """Extend each tensor with zeros and add them: CONCATENATION does not support int32."""
    length, total, begin = result_dimensions(b)[axis], None, 0
    for part in inputs:
        size = part.shape[axis]
        indices = np.pad(np.arange(size), (begin, length - begin - size), mode="edge")
        mask = np.zeros([length, *[1] * (len(part.shape) - axis - 1)], part.type.dtype)
        mask[begin : begin + size] = 1
        placed = b.mul(b.pick(part, axis, indices.tolist()), b.constant(mask), 0)
        total = placed if total is None else b.add(total, placed, 0)
        begin += size
    assert total is not None
    return total


@decomposition(Op.TRANSPOSE)
def transpose(b: Decomposition, input: Tensor, perm: Array | None) -> Tensor:
    order = range(len(input.shape))[::-1] if perm is None else perm.tolist()
    return b.gather_transposed(input, order)


# Slices


@decomposition(Op.SPLIT)
def split(b: Decomposition, input: Tensor, axis: int, num_splits: int) -> list[Tensor]:
    axis = axis_of(axis, len(input.shape))
    size = input.shape[axis] // num_splits
    return [b.block(input, axis, number * size, size) for number in range(num_splits)]


@decomposition(Op.SLICE)
def slice_block(b: Decomposition, input: Tensor, begin: Array, size: Array) -> Tensor:
    for axis, (first, count) in enumerate(zip(begin.tolist(), result_dimensions(b), strict=True)):
        input = b.pick(input, axis, range(first, first + count))
    return input


@decomposition(Op.STRIDED_SLICE)
def strided_slice(b: Decomposition, input: Tensor, shrink_axis_mask: int, **bounds: Any) -> Tensor:
    for axis, steps in enumerate(slice_steps(input.shape, **bounds)):
        input = b.pick(input, axis, range(steps.start, steps.stop, steps.step))
    return b.reshape(input, result_dimensions(b))


@decomposition(Op.REVERSE)
def reverse(b: Decomposition, input: Tensor, axis: Array) -> Tensor:
    only = axis_of(int(axis.reshape(-1)[0]), len(input.shape))
    return b.pick(input, only, range(input.shape[only])[::-1])


@decomposition(Op.TILE)
def tile(b: Decomposition, input: Tensor, multiples: Array) -> Tensor:
    for axis, count in enumerate(multiples.tolist()):
        input = b.pick(input, axis, list(range(input.shape[axis])) * count)
    return input


# Paddings


@decomposition(Op.PAD, Op.PAD_V2)
def pad(b: Decomposition, input: Tensor, paddings: Array, pad_value: float | None = None) -> Tensor:
    value = input.type.zero_point if pad_value is None else pad_value
    return b.pad_by_concatenation(input, paddings.tolist(), value)


@decomposition(Op.MIRROR_PAD)
def mirror_pad(b: Decomposition, input: Tensor, paddings: Array, mode: int) -> Tensor:
    for axis, around in enumerate(paddings.tolist()):
        indices = np.pad(np.arange(input.shape[axis]), around, mode="symmetric" if mode else "reflect")
        input = b.pick(input, axis, indices.tolist())
    return input


# Blocks


@decomposition(Op.CHANNEL_SHUFFLE)
def channel_shuffle(b: Decomposition, input: Tensor, num_groups: int, axis: int) -> Tensor:
    axis = axis_of(axis, len(input.shape))
    outer, inner = outer_and_inner(input.shape, axis)
    grouped = b.reshape(input, (outer, num_groups, input.shape[axis] // num_groups, inner))
    return b.reshape(b.transpose(grouped, SWAPPED), input.shape)


@decomposition(Op.DEPTH_TO_SPACE)
def depth_to_space(b: Decomposition, input: Tensor, block_size: int) -> Tensor:
    n, h, w, c = input.shape
    rows = b.transpose(b.reshape(input, (n * h, w, block_size, c // block_size)), SWAPPED)
    return b.reshape(rows, result_dimensions(b))


@decomposition(Op.SPACE_TO_DEPTH)
def space_to_depth(b: Decomposition, input: Tensor, block_size: int) -> Tensor:
    n, h, w, c = input.shape
    rows = b.reshape(input, (n * h // block_size, block_size, w // block_size, block_size * c))
    return b.reshape(b.transpose(rows, SWAPPED), result_dimensions(b))


@decomposition(Op.SPACE_TO_BATCH_ND)
def space_to_batch(b: Decomposition, input: Tensor, block_shape: Array, paddings: Array) -> Tensor:
    """Move columns first, so that row offsets are outermost in the result's batch dimension."""
    around = np.array([[0, 0], *paddings.tolist(), [0, 0]], np.int32)
    x = b.pad(input, around) if around.any() else input
    (n, h, w, c), (high, wide) = x.shape, block_shape.tolist()
    x = b.transpose(b.reshape(x, (n * h, w // wide, wide, c)), (2, 0, 1, 3))
    x = b.reshape(x, (wide * n, h // high, high, w // wide * c))
    return b.reshape(b.transpose(x, (2, 0, 1, 3)), result_dimensions(b))


@decomposition(Op.BATCH_TO_SPACE_ND)
def batch_to_space(b: Decomposition, input: Tensor, block_shape: Array) -> Tensor:
    (n, h, w, c), (high, wide) = input.shape, block_shape.tolist()
    n //= high * wide
    x = b.transpose(b.reshape(input, (high, wide * n, h, w * c)), (1, 2, 0, 3))
    x = b.transpose(b.reshape(x, (wide, n * h * high, w, c)), (1, 2, 0, 3))
    return b.reshape(x, result_dimensions(b))
