"""RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, GRID_SAMPLE."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.sizes import integers
from nnapi.drivers.openvino.value import Node, Value
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.grid_sample import Mode, Padding
from nnapi.ops.resize import nearest_cells
from nnapi.ops.shapes import Pair
from nnapi.ops.signature_types import INT32


@lower(Op.RESIZE_BILINEAR)
def resize_bilinear(
    context: OpenvinoContext, input: Value, size: Pair, align_corners: bool, half_pixel_centers: bool
) -> Value:
    mode = "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
    y = op.interpolate(
        input.real(first=True),
        integers(size),
        "linear_onnx",
        "sizes",
        coordinate_transformation_mode=mode,
        axes=integers([2, 3]),
    )
    return context.result(y, first=True)


@lower(Op.RESIZE_NEAREST_NEIGHBOR)
def resize_nearest_neighbor(context: OpenvinoContext, input: Value, size: Pair, **sampling: bool) -> Value:
    """Gather pixels by index, because the engine's indices may differ by one. They are exact if all pixels are repeated
    equally often. Gathering is slower, as the engine transposes images for convolutions."""
    dimensions = input.type.dimensions[1:3]
    picks = [nearest_cells(dimension, out, **sampling) for dimension, out in zip(dimensions, size, strict=True)]
    is_even = all(_repeats(picked, dimension) for picked, dimension in zip(picks, dimensions, strict=True))

    def repeat(x: Node) -> Node:
        return op.interpolate(
            x,
            integers(size),
            "nearest",
            "sizes",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
            axes=integers([2, 3]),
        )

    def pick(x: Node) -> Node:
        for axis, dimension, picked in zip((2, 3), dimensions, picks, strict=True):
            if not np.array_equal(picked, np.arange(dimension)):
                x = op.gather(x, op.constant(picked.astype(np.int32)), integers(axis))
        return x

    return context.move(input, repeat if is_even else pick, first=True)


def _repeats(picked: Array, dimension: int) -> bool:
    """Return whether each of ``dimension`` pixels is repeated equally often, in order: then the engine is exact."""
    return np.array_equal(picked, np.repeat(np.arange(dimension), len(picked) // dimension))


MODES = {Mode.NEAREST: "nearest", Mode.LINEAR: "bilinear", Mode.CUBIC: "bicubic"}


@lower(Composite.GRID_SAMPLE)
def grid_sample(
    context: OpenvinoContext, input: Value, grid: Value, mode: int, padding: int, align_corners: bool
) -> Value:
    require(input.type.code != INT32, "the engine samples integers as float32")
    require(input.type.rank == 4, "the engine samples no volumes")
    names = {"mode": MODES[Mode(mode)], "padding_mode": Padding(padding).name.lower()}
    sampled = op.grid_sample(input.real(first=True), grid.real(), {"align_corners": align_corners, **names})
    return context.result(sampled, first=True)
