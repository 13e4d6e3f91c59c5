"""Blocks of an image as depth and back.

DEPTH_TO_SPACE: blocks of channels rearranged into height and width.
SPACE_TO_DEPTH: blocks of pixels rearranged into channels.
"""

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Layout, Scalar, Tensor, positive
from nnapi.ops.types import reals


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
