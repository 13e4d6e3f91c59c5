"""Move blocks of an image between depth, batch and space; interleave groups of channels.

DEPTH_TO_SPACE: blocks of channels rearranged into height and width.
SPACE_TO_DEPTH: blocks of pixels rearranged into channels.
BATCH_TO_SPACE_ND: blocks of pixels moved from the batch into height and width.
SPACE_TO_BATCH_ND: blocks of pixels moved from height and width into the batch.
CHANNEL_SHUFFLE: channels reshaped to [groups, channels / groups], transposed, and flattened.
"""

from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Layout, Scalar, Tensor, Values, positive, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.pad import add_paddings, pad, zero_point_facet
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import reals


def _blocks(code: OperationCode) -> Operation:
    return Operation(
        code,
        facts=Facts(Kind.MOVEMENT, Trait.MOVES),
        inputs=(
            Tensor("input", reals(), rank=4, late_rank=True, image=True),
            Scalar("block_size", OperandCode.INT32, check=positive),
            Layout(),
        ),
        outputs=(Tensor("out", like="input", quant="input", image=True),),
        failure=BadDataError,
    )


DEPTH_TO_SPACE = _blocks(OperationCode.DEPTH_TO_SPACE)
SPACE_TO_DEPTH = _blocks(OperationCode.SPACE_TO_DEPTH)


@DEPTH_TO_SPACE.shape
def infer_depth_to_space_shape(input: OperandType, block_size: int) -> Shape:
    n, h, w, depth = input.shape
    need(depth % block_size**2 == 0, f"input has depth {depth}, must be a multiple of block_size² = {block_size**2}")
    return n, h * block_size, w * block_size, depth // block_size**2


@DEPTH_TO_SPACE.kernel(kind="raw")
def depth_to_space(input: Array, block_size: int) -> Array:
    n, h, w, depth = input.shape
    blocks = input.reshape(n, h, w, block_size, block_size, depth // block_size**2)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * block_size, w * block_size, -1)


@SPACE_TO_DEPTH.shape
def infer_space_to_depth_shape(input: OperandType, block_size: int) -> Shape:
    n, h, w, depth = input.shape
    need(
        h % block_size == 0 and w % block_size == 0,
        f"input is {h} × {w}, both must be multiples of block_size = {block_size}",
    )
    return n, h // block_size, w // block_size, depth * block_size**2


@SPACE_TO_DEPTH.kernel(kind="raw")
def space_to_depth(input: Array, block_size: int) -> Array:
    n, h, w, depth = input.shape
    blocks = input.reshape(n, h // block_size, block_size, w // block_size, block_size, depth)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(n, h // block_size, w // block_size, -1)


def _batches(code: OperationCode, *more: Any) -> Operation:
    return Operation(
        code,
        facts=Facts(Kind.MOVEMENT, Trait.MOVES),
        inputs=(
            Tensor("input", reals(2), rank=4, late_rank=True, image=True),
            Values("block_shape", since=2),
            *more,
            Layout(),
        ),
        outputs=(Tensor("out", like="input", quant="input", image=True),),
        failure=BadDataError,
    )


BATCH_TO_SPACE_ND = _batches(OperationCode.BATCH_TO_SPACE_ND)
SPACE_TO_BATCH_ND = _batches(OperationCode.SPACE_TO_BATCH_ND, Values("paddings", rank=2, since=2))
SPACE_TO_BATCH_ND.check(zero_point_facet)


def _block(block_shape: Array) -> tuple[int, int]:
    need(
        len(block_shape) == 2 and block_shape.min() >= 1,
        f"block_shape is {block_shape.tolist()}, must be 2 values (height, width) above 0",
    )
    return int(block_shape[0]), int(block_shape[1])


@BATCH_TO_SPACE_ND.shape
def infer_batch_to_space_nd_shape(input: OperandType, block_shape: Array) -> Shape:
    (n, h, w, depth), (down, across) = input.shape, _block(block_shape)
    need(n % (down * across) == 0, f"input has {n} batches, must be a multiple of {down} × {across}")
    return n // (down * across), h * down, w * across, depth


@BATCH_TO_SPACE_ND.kernel(kind="raw")
def batch_to_space(input: Array, block_shape: Array) -> Array:
    (n, h, w, depth), (down, across) = input.shape, block_shape
    blocks = input.reshape(down, across, n // (down * across), h, w, depth)
    return blocks.transpose(2, 3, 0, 4, 1, 5).reshape(-1, h * down, w * across, depth)


@SPACE_TO_BATCH_ND.shape
def infer_space_to_batch_nd_shape(input: OperandType, block_shape: Array, paddings: Array) -> Shape:
    (n, *image, depth), (down, across) = input.shape, _block(block_shape)
    h, w = add_paddings(tuple(image), paddings)
    need(h % down == 0 and w % across == 0, f"the padded input is {h} × {w}, must be multiples of {down} × {across}")
    return n * down * across, h // down, w // across, depth


@SPACE_TO_BATCH_ND.kernel(kind="exact")
def space_to_batch(call: Call, input: Array, block_shape: Array, paddings: Array) -> Array:
    x = pad(call, input, np.pad(paddings, ((1, 1), (0, 0))))
    (n, h, w, depth), (down, across) = x.shape, block_shape
    blocks = x.reshape(n, h // down, down, w // across, across, depth)
    return blocks.transpose(2, 4, 0, 1, 3, 5).reshape(-1, h // down, w // across, depth)


CHANNEL_SHUFFLE = Operation(
    OperationCode.CHANNEL_SHUFFLE,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("input", reals(3), rank=upto(4), high=HIGH),
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


@CHANNEL_SHUFFLE.proposal
def propose_channel_shuffle(draw: Draw) -> Proposal:
    shape, count = draw.shape(), draw.pick(1, 2, 3, 4)
    shape, axis = draw.divisible(shape, count)
    return Proposal({"input": shape}, {"axis": axis, "num_groups": count})


@SPACE_TO_DEPTH.proposal
@DEPTH_TO_SPACE.proposal
def propose_blocks(draw: Draw) -> Proposal:
    draw.proposal.scalars["block_size"] = block = draw.pick(1, 2, 2, 3)
    h, w, c = draw.dimension(11), draw.dimension(11), draw.dimension(8)
    draw.image(h=h * block, w=w * block, c=c * block * block)
    return draw.proposal


@BATCH_TO_SPACE_ND.proposal
def propose_batch_to_space(draw: Draw) -> Proposal:
    draw.proposal.numbers["block_shape"] = block = [draw.pick(1, 2, 3), draw.pick(1, 2, 3)]
    batch = draw.pick(1, 2) * block[0] * block[1]
    draw.image(n=batch, h=draw.dimension(11), w=draw.dimension(11), c=draw.dimension(17))
    return draw.proposal


@SPACE_TO_BATCH_ND.proposal
def propose_space_to_batch(draw: Draw) -> Proposal:
    block = [draw.pick(1, 2, 3), draw.pick(1, 2, 3)]
    shape = draw.image(h=draw.dimension(17), w=draw.dimension(17), c=draw.dimension(17))
    paddings = []
    for dimension, size in zip(shape[1:3], block, strict=True):
        before = draw.upto(2)
        paddings.append([before, -(dimension + before) % size + draw.pick(0, 0, size)])
    draw.proposal.numbers = {"block_shape": block, "paddings": paddings}
    return draw.proposal
