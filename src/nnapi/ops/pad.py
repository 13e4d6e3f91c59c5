"""Surround a tensor by zeros, by one value, or by its reflection.

PAD: the tensor surrounded by zeros.
PAD_V2: the tensor surrounded by a value.
MIRROR_PAD: the tensor surrounded by its own mirror image.
"""

from typing import Literal

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Facet, Operation
from nnapi.model.parameter import HIGH, Levels, Scalar, Tensor, Values, one_of, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.quantized_values import need_alike
from nnapi.ops.signature_types import FLOAT16, FLOAT32, QUANT8, QUANT8_SIGNED, numbers, reals

FILL_SCALAR: dict[int, int | Levels] = {
    FLOAT32: OperandCode.FLOAT32,
    FLOAT16: OperandCode.FLOAT16,
    QUANT8: OperandCode.INT32,
    QUANT8_SIGNED: OperandCode.INT32,
}
"""The type of the padding value, by that of the input; it is quantized like the input."""
MODES: tuple[Literal["reflect"], Literal["symmetric"]] = ("reflect", "symmetric")

PAD = Operation(
    OperationCode.PAD,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(Tensor("input", reals(2), rank=upto(4), high=HIGH), Values("paddings", rank=2, since=2)),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)

PAD_V2 = Operation(
    OperationCode.PAD_V2,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("input", reals(3), rank=upto(4), high=HIGH),
        Values("paddings", rank=2, since=3),
        Scalar("pad_value", like="input", via=FILL_SCALAR, since=3),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)

MIRROR_PAD = Operation(
    OperationCode.MIRROR_PAD,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("input", numbers(7, int32=7)),
        Values("paddings", rank=2, late_rank=False, since=7),
        Scalar("mode", OperandCode.INT32, since=7, check=one_of(0, 1)),
    ),
    outputs=(Tensor("out", like="input", quant="input", since=7),),
)


def zero_point_facet(input: OperandType) -> Facet | None:
    """Before level 3, padding of quantized tensors was specified only for zero point 0."""
    if input.code == QUANT8 and input.zero_point:
        return Facet(3, "input has a zero point other than 0")
    return None


def add_paddings(shape: Shape, paddings: Array) -> Shape:
    """Return ``shape`` plus ``paddings`` [rank, 2], before and after each axis; OpFailedError if they do not fit."""
    need(paddings.shape == (len(shape), 2), f"paddings has shape {list(paddings.shape)}, must be {[len(shape), 2]}")
    need(bool((paddings >= 0).all()), f"paddings {paddings.tolist()} must not be negative")
    return tuple(dimension + sum(around) for dimension, around in zip(shape, paddings.tolist(), strict=True))


PAD.check(zero_point_facet)


@PAD.shape
@PAD_V2.shape
def infer_pad_shape(input: OperandType, paddings: Array, pad_value: float = 0) -> Shape:
    return add_paddings(input.shape, paddings)


@PAD.kernel(kind="exact")
def pad(call: Call, input: Array, paddings: Array) -> Array:
    return np.pad(input, paddings, constant_values=call.arguments["input"].zero_point)


@PAD_V2.kernel(kind="raw")
def pad_v2(input: Array, paddings: Array, pad_value: float) -> Array:
    return np.pad(input, paddings, constant_values=np.array(pad_value).astype(input.dtype))


MIRROR_PAD.check(need_alike)


@MIRROR_PAD.check
def paddings_fit_input(input: OperandType, paddings: OperandType) -> None:
    if paddings.rank:
        rows, columns = paddings.shape
        need(
            columns in (0, 2) and (not rows or not input.rank or rows == input.rank),
            f"paddings has shape {list(paddings.shape)}, must be [rank of input, 2]",
            BadDataError,
        )


@MIRROR_PAD.shape
def infer_mirror_pad_shape(input: OperandType, paddings: Array, mode: int) -> Shape:
    shape = add_paddings(input.shape, paddings)
    limits, widths = [size - (1 - mode) for size in input.shape], paddings.tolist()  # NumPy warns of compared sizes
    need(
        all(width <= limit for row, limit in zip(widths, limits, strict=True) for width in row),
        f"paddings {widths} must not be above {limits} in mode {mode} ({MODES[mode].upper()})",
    )
    return shape


@MIRROR_PAD.kernel(kind="raw")
def mirror_pad(input: Array, paddings: Array, mode: int) -> Array:
    return np.pad(input, paddings, mode=MODES[mode])


@PAD.proposal
@PAD_V2.proposal
@MIRROR_PAD.proposal
def propose_pad(draw: Draw) -> Proposal:
    shape = draw.shape()
    most = (lambda dimension: min(dimension - 1, 3)) if "mode" in draw.names else (lambda dimension: 3)
    is_image = len(shape) == 4 and draw.chance(draw.spatial)
    channels = 1 if draw.chance(draw.nchw) else 3
    paddings = [
        [0 if is_image and axis in (0, channels) else draw.pick(0, draw.upto(most(dimension))) for _ in "<>"]
        for axis, dimension in enumerate(shape)
    ]
    return Proposal({"input": shape}, {"mode": draw.upto(1)} if "mode" in draw.names else {}, {"paddings": paddings})
