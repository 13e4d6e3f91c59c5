"""Blocks of an image as batches and back.

BATCH_TO_SPACE_ND: blocks of pixels moved from the batch into height and width.
SPACE_TO_BATCH_ND: blocks of pixels moved from height and width into the batch.
"""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Layout, Tensor, Values
from nnapi.ops.pad import add_paddings, pad, zero_point_facet
from nnapi.ops.types import reals


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
SPACE_TO_BATCH_ND.facets(zero_point_facet)


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
