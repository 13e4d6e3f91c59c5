"""Read or write elements at computed coordinates.

TAKE: slices along an axis at the given indices; negative indices count from the end.
GATHER_ELEMENTS: the elements whose coordinate along an axis is the index, and the others those of the index itself.
GATHER_ND: the elements or slices at the coordinates in the last axis of indices.
SCATTER_ELEMENTS: a tensor with elements replaced, or combined with updates; positions are as in GATHER_ELEMENTS.
SCATTER_ND: a tensor with elements or slices replaced, or combined with updates; positions are as in GATHER_ND.

An index out of range fails the run. With ``from_end``, negative indices count from the end of their axis. Of several
updates of an element without a reduction, the last remains; an engine with several threads may keep another.
"""

import math
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, Unless, not_negative, one_of
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.index_checks import check_coordinates, check_range
from nnapi.ops.indexing import infer_gather_shape
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import INT32, numbers


class Reduction(IntEnum):
    """How an update is combined with the element at its position."""

    NONE = 0
    ADD = 1
    MUL = 2
    MIN = 3
    MAX = 4


COMBINE: Mapping[int, Callable[..., Any]] = {
    Reduction.ADD: np.add.at,
    Reduction.MUL: np.multiply.at,
    Reduction.MIN: np.minimum.at,
    Reduction.MAX: np.maximum.at,
}
INPUT, INDICES = Tensor("input", numbers(3, int32=3)), Tensor("indices", INT32, since=3)
AXIS, FROM_END = Scalar("axis", OperandCode.INT32, since=3), Scalar("from_end", OperandCode.BOOL, since=3)
MOST_DRAWN = 2000
"""The largest number of elements in random tests: the decomposition of a scatter compares all with all indices."""

UPDATES = Tensor("updates", like="input")
REDUCTION = Scalar("reduction", OperandCode.INT32, since=3, check=one_of(*Reduction))
MOVED = Tensor("out", like="input", quant="input")
WRITTEN = Tensor("out", like="input", quant=Unless("input"))

TAKE = Operation(
    CompositeCode.TAKE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(INPUT, AXIS, INDICES),
    outputs=(MOVED,),
)
GATHER_ELEMENTS = Operation(
    CompositeCode.GATHER_ELEMENTS,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(INPUT, AXIS, INDICES, FROM_END),
    outputs=(MOVED,),
)
GATHER_ND = Operation(
    CompositeCode.GATHER_ND,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(INPUT, INDICES, Scalar("batch_dims", OperandCode.INT32, since=3, check=not_negative), FROM_END),
    outputs=(MOVED,),
)
SCATTER_ELEMENTS = Operation(
    CompositeCode.SCATTER_ELEMENTS,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS),
    inputs=(INPUT, AXIS, INDICES, UPDATES, REDUCTION, FROM_END),
    outputs=(WRITTEN,),
)
SCATTER_ND = Operation(
    CompositeCode.SCATTER_ND,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS),
    inputs=(INPUT, INDICES, UPDATES, REDUCTION, FROM_END),
    outputs=(WRITTEN,),
)


TAKE.shape(infer_gather_shape)


@GATHER_ELEMENTS.shape
def infer_gathered_elements(input: OperandType, axis: int, indices: OperandType, from_end: bool) -> Shape:
    _need_within(input, axis_of(axis, input.rank), indices)
    return indices.shape


@SCATTER_ELEMENTS.shape
def infer_scattered_elements(
    input: OperandType, axis: int, indices: OperandType, updates: OperandType, reduction: int, from_end: bool
) -> Shape:
    _need_within(input, axis_of(axis, input.rank), indices)
    _need_shape("updates", updates, indices.shape)
    return input.shape


@GATHER_ND.shape
def infer_gathered_slices(input: OperandType, indices: OperandType, batch_dims: int, from_end: bool) -> Shape:
    depth = _depth("indices", indices, input.rank - batch_dims)
    batches = input.shape[:batch_dims]
    need(
        batch_dims < indices.rank and indices.shape[:batch_dims] == batches,
        f"indices has shape {list(indices.shape)}, must begin with {list(batches)}",
    )
    return (*indices.shape[:-1], *input.shape[batch_dims + depth :]) or (1,)


@SCATTER_ND.shape
def infer_scattered_slices(
    input: OperandType, indices: OperandType, updates: OperandType, reduction: int, from_end: bool
) -> Shape:
    depth = _depth("indices", indices, input.rank)
    _need_shape("updates", updates, (*indices.shape[:-1], *input.shape[depth:]) or (1,))
    return input.shape


def _need_within(input: OperandType, axis: int, indices: OperandType) -> None:
    """Check that indices are at coordinates that the input has, except along the axis."""
    sizes = enumerate(zip(indices.shape, input.shape, strict=False))
    is_within = indices.rank == input.rank and all(own <= most for i, (own, most) in sizes if i != axis)
    need(
        is_within,
        f"indices has shape {list(indices.shape)}, must fit into {list(input.shape)} along all axes but {axis}",
    )


def _need_shape(name: str, type: OperandType, shape: Shape) -> None:
    need(type.shape == shape, f"{name} has shape {list(type.shape)}, must have {list(shape)}")


def _depth(name: str, indices: OperandType, most: int) -> int:
    """Return the number of coordinates of each position."""
    depth = indices.shape[-1]
    need(0 < depth <= most, f"{name} has {depth} coordinates of each position, must have 1 to {most}")
    return depth


@TAKE.kernel(kind="raw")
def take(input: Array, axis: int, indices: Array) -> Array:
    check_range("indices", indices, input.shape[axis], from_end=True)
    return np.take(input, indices, axis)


@GATHER_ELEMENTS.kernel(kind="raw")
def gather_elements(input: Array, axis: int, indices: Array, from_end: bool) -> Array:
    return input.reshape(-1).take(_flatten_along(input.shape, axis % input.ndim, indices, from_end))


@SCATTER_ELEMENTS.kernel
def scatter_elements(input: Array, axis: int, indices: Array, updates: Array, reduction: int, from_end: bool) -> Array:
    at = _flatten_along(input.shape, axis % input.ndim, indices, from_end)
    return _write(input, (input.size,), at.reshape(-1), updates, reduction)


@GATHER_ND.kernel(kind="raw")
def gather_nd(input: Array, indices: Array, batch_dims: int, from_end: bool) -> Array:
    depth, batches = indices.shape[-1], math.prod(input.shape[:batch_dims])
    span, rest = input.shape[batch_dims : batch_dims + depth], input.shape[batch_dims + depth :]
    at = _flatten(span, indices, from_end)
    if batches > 1:
        at = at.reshape(batches, -1) + np.arange(batches).reshape(-1, 1) * math.prod(span)
    gathered = input.reshape(-1, *rest).take(at, 0)
    return gathered.reshape((*indices.shape[:-1], *rest) or (1,))


@SCATTER_ND.kernel
def scatter_nd(input: Array, indices: Array, updates: Array, reduction: int, from_end: bool) -> Array:
    depth = indices.shape[-1]
    at = _flatten(input.shape[:depth], indices, from_end).reshape(-1)
    return _write(input, (-1, *input.shape[depth:]), at, updates, reduction)


def _flatten_along(shape: Shape, axis: int, indices: Array, from_end: bool) -> Array:
    """Return positions in the flattened shape; along the axis, the index replaces the coordinate."""
    check_range("indices", indices, shape[axis], from_end=from_end)
    base: Array = np.zeros((1,) * len(shape), np.intp)
    for k, count in enumerate(indices.shape):
        if k != axis:
            along = [count if i == k else 1 for i in range(len(shape))]
            base = base + (np.arange(count) * math.prod(shape[k + 1 :])).reshape(along)
    return base + _count_from_start(indices, shape[axis], from_end) * math.prod(shape[axis + 1 :])


def _flatten(span: Shape, indices: Array, from_end: bool) -> Array:
    """Return positions in the flattened ``span`` of the coordinates in the last axis."""
    counted = _count_from_start(indices, np.array(span), from_end)
    try:
        return np.ravel_multi_index(tuple([counted[..., k] for k in range(len(span))]), span)  # it tests them
    except ValueError:
        check_coordinates("indices", indices, span, from_end=from_end)
        raise


def _count_from_start(indices: Array, sizes: int | Array, from_end: bool) -> Array:
    if not from_end or indices.min(initial=0) >= 0:
        return indices
    return np.where(indices < 0, indices + sizes, indices)


def _write(input: Array, shape: Shape, at: Array, updates: Array, reduction: int) -> Array:
    """Write updates at positions along the first axis of the input, seen in another shape."""
    out = input.copy()
    rows = out.reshape(shape)
    given = updates.reshape(-1, *rows.shape[1:])
    if reduction == Reduction.NONE:
        rows[at] = given  # of several at one position, NumPy keeps the last
    else:
        COMBINE[reduction](rows, at, given)
    return out


@TAKE.proposal
def propose_take(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    indices = tuple(draw.dimension(8) for _ in range(draw.pick(1, 1, 2)))
    return Proposal({"input": shape}, {"axis": axis}, {"indices": _draw_indices(draw, indices, shape[axis], True)})


@GATHER_ELEMENTS.proposal
def propose_gather_elements(draw: Draw) -> Proposal:
    shape, axis, is_from_end = _draw_axis(draw)
    own = [draw.upto(size - 1) + 1 if draw.chance(0.2) else size for size in shape]
    own[axis] = draw.dimension(8)
    indices = _draw_indices(draw, own, shape[axis], is_from_end)
    return Proposal({"input": shape}, {"axis": axis, "from_end": is_from_end}, {"indices": indices})


@SCATTER_ELEMENTS.proposal
def propose_scatter_elements(draw: Draw) -> Proposal:
    """Different indices in each line: without a reduction, devices may keep different updates of an element."""
    shape, axis, is_from_end = _draw_axis(draw)
    order = np.argsort(draw.rng.random(shape), axis)
    chosen = order.take(range(draw.upto(shape[axis] - 1) + 1), axis)
    indices = _count_from_end(draw, chosen, shape[axis], is_from_end)
    scalars = {"axis": axis, "from_end": is_from_end, "reduction": int(draw.pick(*Reduction))}
    return Proposal({"input": shape, "updates": indices.shape}, scalars, {"indices": indices})


@GATHER_ND.proposal
def propose_gather_nd(draw: Draw) -> Proposal:
    shape, is_from_end = draw.bound(draw.shape(), MOST_DRAWN), draw.chance(0.5)
    batch = draw.upto(len(shape) - 1) if draw.chance(0.3) else 0
    depth = draw.upto(len(shape) - batch - 1) + 1
    own = (*shape[:batch], draw.dimension(8), depth)
    indices = _draw_indices(draw, own, np.array(shape[batch : batch + depth]), is_from_end)
    return Proposal({"input": shape}, {"batch_dims": batch, "from_end": is_from_end}, {"indices": indices})


@SCATTER_ND.proposal
def propose_scatter_nd(draw: Draw) -> Proposal:
    """Different positions, as in SCATTER_ELEMENTS."""
    shape, is_from_end = draw.bound(draw.shape(), MOST_DRAWN), draw.chance(0.5)
    depth = draw.upto(len(shape) - 1) + 1
    span = shape[:depth]
    chosen = draw.rng.permutation(math.prod(span))[: draw.dimension(16)]
    positions = np.stack(np.unravel_index(chosen, span), -1)
    indices = _count_from_end(draw, positions, np.array(span), is_from_end)
    scalars = {"from_end": is_from_end, "reduction": int(draw.pick(*Reduction))}
    return Proposal({"input": shape, "updates": (len(chosen), *shape[depth:])}, scalars, {"indices": indices})


def _draw_axis(draw: Draw) -> tuple[Shape, int, bool]:
    shape = draw.bound(draw.shape(), MOST_DRAWN)
    return shape, draw.axis(len(shape)), draw.chance(0.5)


def _draw_indices(draw: Draw, shape: Any, sizes: Any, is_from_end: bool) -> Any:
    return _count_from_end(draw, draw.rng.integers(0, sizes, shape), sizes, is_from_end)


def _count_from_end(draw: Draw, indices: Any, sizes: Any, is_from_end: bool) -> Any:
    """Let some of the indices count from the end, if the operation permits that."""
    moved = draw.rng.integers(0, 2, indices.shape) * sizes if is_from_end else 0
    return (indices - moved).astype(np.int32)
