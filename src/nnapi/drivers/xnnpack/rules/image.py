"""Images with other extents: resized, blocks as depth, blocks as batches, channels shuffled."""

from __future__ import annotations

from math import prod

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.site import Site, need
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.model.operand import Array
from nnapi.ops.shapes import Pair, axis_of


@lower(Op.RESIZE_BILINEAR)
def resize_bilinear(site: Site, input: Tensor, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    return site.emit(
        "RESIZE_BILINEAR", [input, constant(size)], site.result(),
        align_corners=align_corners, half_pixel_centers=half_pixel_centers,
    )  # fmt: skip


@lower(Op.RESIZE_NEAREST_NEIGHBOR)
def resize_nearest(site: Site, input: Tensor, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    if not (align_corners or half_pixel_centers):
        for extent, out in zip(input.shape[1:3], size, strict=True):
            need(_steps_agree(extent, out), f"the engine's fixed-point steps from {extent} to {out} cells pick others")
    return site.emit(
        "RESIZE_NEAREST_NEIGHBOR", [input, constant(size)], site.result(),
        align_corners=align_corners, half_pixel_centers=half_pixel_centers,
    )  # fmt: skip


def _steps_agree(extent: int, out: int) -> bool:
    """Whether the engine, which steps along an axis in 65536ths, takes each cell from where the operation does."""
    cells = np.arange(out)
    wanted = np.floor(cells.astype(np.float32) * (np.float32(extent) / np.float32(out)))
    taken = cells * ((extent << 16) // out + 1) >> 16
    return bool((np.minimum(wanted, extent - 1) == np.minimum(taken, extent - 1)).all())


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def blocks(site: Site, input: Tensor, block_size: int) -> Tensor:
    return site.emit(site.operation_name, [input], site.result(), block_size=block_size)


@lower(Op.BATCH_TO_SPACE_ND)
def batch_to_space(site: Site, input: Tensor, block_shape: Array) -> Tensor:
    nothing = constant([[0, 0], [0, 0]])
    return site.emit("BATCH_TO_SPACE_ND", [input, constant(block_shape), nothing], site.result())


@lower(Op.SPACE_TO_BATCH_ND)
def space_to_batch(site: Site, input: Tensor, block_shape: Array, paddings: Array) -> Tensor:
    return site.emit("SPACE_TO_BATCH_ND", [input, constant(block_shape), constant(paddings)], site.result())


@lower(Op.CHANNEL_SHUFFLE)
def channel_shuffle(site: Site, input: Tensor, num_groups: int, axis: int) -> Tensor:
    """The axis as groups and their members, which change places."""
    axis = axis_of(axis, len(input.shape))
    before, after = input.shape[:axis], input.shape[axis + 1 :]
    rows = prod(before), num_groups, input.shape[axis] // num_groups, prod(after)
    turned = site.transposed(site.reshaped(input, rows), (0, 2, 1, 3))
    out = site.result()
    return site.emit("RESHAPE", [turned, constant(out.shape)], out)
