"""Indices of gathers and scatters, mostly within the tensor that they refer to, and locations in an image."""

import math
from typing import Any

import numpy as np

from nnapi.model.operand import Shape
from nnapi.model.proposal import Draw, Proposal, proposes
from nnapi.ops.coordinates import Reduction
from nnapi.ops.grid_sample import Mode, Padding

MOST = 2000
"""The largest number of elements of a tensor: the decomposition of a scatter compares all with all indices."""


@proposes("TAKE")
def propose_take(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    indices = tuple(draw.dimension(8) for _ in range(draw.pick(1, 1, 2)))
    return Proposal({"input": shape}, {"axis": axis}, {"indices": _draw_indices(draw, indices, shape[axis], True)})


@proposes("GATHER_ELEMENTS")
def propose_gather_elements(draw: Draw) -> Proposal:
    shape, axis, is_from_end = _draw_axis(draw)
    own = [draw.upto(size - 1) + 1 if draw.chance(0.2) else size for size in shape]
    own[axis] = draw.dimension(8)
    indices = _draw_indices(draw, own, shape[axis], is_from_end)
    return Proposal({"input": shape}, {"axis": axis, "from_end": is_from_end}, {"indices": indices})


@proposes("SCATTER_ELEMENTS")
def propose_scatter_elements(draw: Draw) -> Proposal:
    """Different indices in each line: without a reduction, devices may keep different updates of an element."""
    shape, axis, is_from_end = _draw_axis(draw)
    order = np.argsort(draw.rng.random(shape), axis)
    chosen = order.take(range(draw.upto(shape[axis] - 1) + 1), axis)
    indices = _count_from_end(draw, chosen, shape[axis], is_from_end)
    scalars = {"axis": axis, "from_end": is_from_end, "reduction": int(draw.pick(*Reduction))}
    return Proposal({"input": shape, "updates": indices.shape}, scalars, {"indices": indices})


@proposes("GATHER_ND")
def propose_gather_nd(draw: Draw) -> Proposal:
    shape, is_from_end = draw.bound(draw.shape(), MOST), draw.chance(0.5)
    batch = draw.upto(len(shape) - 1) if draw.chance(0.3) else 0
    depth = draw.upto(len(shape) - batch - 1) + 1
    own = (*shape[:batch], draw.dimension(8), depth)
    indices = _draw_indices(draw, own, np.array(shape[batch : batch + depth]), is_from_end)
    return Proposal({"input": shape}, {"batch_dims": batch, "from_end": is_from_end}, {"indices": indices})


@proposes("SCATTER_ND")
def propose_scatter_nd(draw: Draw) -> Proposal:
    """Different positions, as in SCATTER_ELEMENTS."""
    shape, is_from_end = draw.bound(draw.shape(), MOST), draw.chance(0.5)
    depth = draw.upto(len(shape) - 1) + 1
    span = shape[:depth]
    chosen = draw.rng.permutation(math.prod(span))[: draw.dimension(16)]
    positions = np.stack(np.unravel_index(chosen, span), -1)
    indices = _count_from_end(draw, positions, np.array(span), is_from_end)
    scalars = {"from_end": is_from_end, "reduction": int(draw.pick(*Reduction))}
    return Proposal({"input": shape, "updates": (len(chosen), *shape[depth:])}, scalars, {"indices": indices})


@proposes("GRID_SAMPLE")
def propose_grid_sample(draw: Draw) -> Proposal:
    """Propose an image, or a volume, which the cubic mode does not take."""
    if draw.ranges.is_high and draw.ranges.given is None:
        shape = draw.bound((draw.dimension(3), *(draw.dimension(8) for _ in range(3)), draw.dimension(17)))
        draw.proposal.shapes["input"] = shape
    else:
        shape = draw.image()
    axes = len(shape) - 2
    draw.proposal.shapes["grid"] = (shape[0], *(draw.dimension(8) for _ in range(axes)), axes)
    draw.proposal.scalars["mode"] = int(draw.pick(*(Mode if axes == 2 else (Mode.NEAREST, Mode.LINEAR))))
    draw.proposal.scalars["padding"] = int(draw.pick(*Padding))
    return draw.proposal


@proposes("TOP_K")
def propose_top_k_along(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    return Proposal({"input": shape}, {"axis": axis, "k": draw.upto(shape[axis] - 1) + 1})


def _draw_axis(draw: Draw) -> tuple[Shape, int, bool]:
    shape = draw.bound(draw.shape(), MOST)
    return shape, draw.axis(len(shape)), draw.chance(0.5)


def _draw_indices(draw: Draw, shape: Any, sizes: Any, is_from_end: bool) -> Any:
    return _count_from_end(draw, draw.rng.integers(0, sizes, shape), sizes, is_from_end)


def _count_from_end(draw: Draw, indices: Any, sizes: Any, is_from_end: bool) -> Any:
    """Let some of the indices count from the end, if the operation permits that."""
    moved = draw.rng.integers(0, 2, indices.shape) * sizes if is_from_end else 0
    return (indices - moved).astype(np.int32)
