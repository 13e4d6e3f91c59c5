"""Resize images.

RESIZE_BILINEAR: an image resized with bilinear interpolation.
RESIZE_NEAREST_NEIGHBOR: an image resized, each pixel from the nearest one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import ROUNDING, Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Arguments, Operation, Overload
from nnapi.model.parameter import REQUIRED, Layout, LayoutParameter, Levels, Scalar, Tensor, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.shapes import Pair, need_image
from nnapi.ops.signature_types import FLOAT_SCALAR, reals

SAMPLING = tuple(
    Scalar(name, OperandCode.BOOL, since=4, default=False) for name in ("align_corners", "half_pixel_centers")
)

LARGEST = np.float32(2**31 - 128)


def _resize(code: OperationCode, facts: Facts, types: Levels, layout: LayoutParameter, level: int) -> Operation:
    image = Tensor("input", types, rank=4, late_rank=True, image=True)
    shape = (Scalar(name, OperandCode.INT32, since=level, check=positive) for name in ("width", "height"))
    scale = (Scalar(name, like="input", via=FLOAT_SCALAR, since=3) for name in ("width_scale", "height_scale"))
    operation = Operation(
        code,
        facts=facts,
        overloads=(
            Overload("by_shape", (image, *shape, layout, *SAMPLING), _by_shape),
            Overload("by_scale", (image, *scale, layout, *SAMPLING), _by_scale),
        ),
        outputs=(Tensor("out", like="input", image=True, quant="input"),),
        zero_sized=True,
    )

    @operation.shape
    def infer_shape(input: OperandType, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Shape:
        n, _, _, depth = need_image("input", input)
        need(not (align_corners and half_pixel_centers), "align_corners and half_pixel_centers are both true")
        return (n, *size, depth)

    return operation


def _by_shape(arguments: Arguments) -> Arguments:
    arguments = dict(arguments)
    return arguments | {"size": (arguments.pop("height"), arguments.pop("width"))}


def _by_scale(arguments: Arguments) -> Arguments:
    arguments = dict(arguments)
    height, width = arguments["input"].shape[1:3]
    return arguments | {"size": (_scale_size(arguments, "height", height), _scale_size(arguments, "width", width))}


def _scale_size(arguments: Arguments, name: str, dimension: int) -> int:
    """Return ``dimension`` times its scale, rounded down; raise OpFailedError if that is below 1."""
    scale = np.float32(arguments.pop(f"{name}_scale"))
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.floor(np.float32(dimension) * scale)
    need(
        1 <= out <= LARGEST or dimension == 0,
        f"{name}_scale is {scale:g}, which turns the {name} {dimension} of input into {out:g}, must be at least 1 and "
        "below 2³¹",
    )
    return int(out) if dimension else 0


RESIZE_BILINEAR = _resize(
    OperationCode.RESIZE_BILINEAR, Facts(Kind.RESIZE, Trait.SCALES, rounded_first=1.0), reals(1, quant8=3), Layout(), 1
)
RESIZE_NEAREST_NEIGHBOR = _resize(
    OperationCode.RESIZE_NEAREST_NEIGHBOR, Facts(Kind.RESIZE, Trait.MOVES), reals(3), Layout(default=REQUIRED), 3
)


@RESIZE_BILINEAR.kernel(scaled=("input",))
def resize_bilinear(input: Array, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Array:
    for axis, out in zip((1, 2), size, strict=True):
        low, high, share = neighbors(input.shape[axis], out, align_corners, half_pixel_centers)
        first, second = input.take(low, axis), input.take(high, axis)
        input = first + (second - first) * share.reshape(-1, *[1] * (3 - axis))
    return input


@RESIZE_NEAREST_NEIGHBOR.kernel(kind="raw")
def resize_nearest_neighbor(input: Array, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Array:
    for axis, out in zip((1, 2), size, strict=True):
        input = input.take(nearest_cells(input.shape[axis], out, align_corners, half_pixel_centers), axis)
    return input


def neighbors(dimension: int, out: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Array, Array, Array]:
    """Return the input cells before and behind each of ``out`` cells, and the weight of the second."""
    at = source_positions(dimension, out, align_corners, half_pixel_centers)
    at = np.clip(at - np.float32(0.5) if half_pixel_centers else at, 0, dimension - 1)
    low = at.astype(np.intp)
    return low, np.minimum(low + 1, dimension - 1), at - low


def nearest_cells(dimension: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """Return the nearest input cell for each of ``out`` cells."""
    at = source_positions(dimension, out, align_corners, half_pixel_centers)
    nearest = np.floor(at + np.float32(0.5)) if align_corners else np.floor(at)
    cells: Array = np.clip(nearest, 0, dimension - 1).astype(np.intp)
    return cells


def source_positions(dimension: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """Return the input position of each of ``out`` cells along an axis, or of the cell's center, in float32."""
    corners = align_corners and out > 1
    scale = np.float32(dimension - 1) / np.float32(out - 1) if corners else np.float32(dimension) / np.float32(out)
    return (np.arange(out, dtype=np.float32) + np.float32(0.5 if half_pixel_centers else 0)) * scale


@RESIZE_BILINEAR.proposal
@RESIZE_NEAREST_NEIGHBOR.proposal
def propose_resize(draw: Draw) -> Proposal:
    proposal = draw.proposal
    _, h, w, _ = draw.image(n=draw.pick(1, 2), h=draw.dimension(33), w=draw.dimension(33), c=draw.dimension(17))
    if draw.overload == "by_shape":
        proposal.scalars |= {"height": draw.dimension(64), "width": draw.dimension(64)}
    else:
        for name, dimension in (("height_scale", h), ("width_scale", w)):
            proposal.scalars[name] = draw.pick(1.0, 2.0, 0.5, 1.5, 1 / 3, 3.0, draw.dimension(33) / dimension)
    corners = draw.chance(0.4)
    proposal.scalars |= {"align_corners": corners, "half_pixel_centers": not corners and draw.chance(0.5)}
    return proposal


@RESIZE_BILINEAR.loss
def lose_by_interpolation(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    return [by_interpolation(inputs[0], outputs[0], is_nchw=len(inputs) > 3 and bool(inputs[3]))]


def by_interpolation(x: Array, result: Array, *, is_nchw: bool) -> Array:
    """Return the loss by float32 positions, which grows with the difference of neighbors."""
    numbers = x.astype(np.float64)
    steps = [
        np.abs(np.diff(numbers, axis=axis)).max(initial=0) * x.shape[axis] for axis in ((2, 3) if is_nchw else (1, 2))
    ]
    return np.full(result.shape, 4 * ROUNDING["fp32"] * sum(steps))
