"""ARGMAX_POOL_2D and MAX_UNPOOL_2D by comparisons, one for each cell of a window."""

import numpy as np

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.lowering.decompositions.movement import pad
from nnapi.lowering.decompositions.pooling import MOST_TAPS
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import Array, Shape
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.argmax_pooling import Cell, list_cells


@decomposition(Composite.ARGMAX_POOL_2D)
def argmax_pool_2d(
    b: Decomposition, input: Tensor, paddings: Array, strides: Array, size: Array, column_major: bool
) -> tuple[Tensor, Tensor]:
    """Count the cells of each window before the first that is the maximum, from the last cell on."""
    cells = list_cells(size.tolist(), column_major)
    require(len(cells) <= MOST_TAPS, f"a window of {len(cells)} cells is too large")
    (top, bottom), (left, right) = paddings.tolist()
    (down, across), (height, width) = strides.tolist(), size.tolist()
    largest = b.max_pool_2d(input, left, right, top, bottom, across, down, width, height, 0)
    x = pad(b, input, np.array([[0, 0], *paddings.tolist(), [0, 0]]), 0)
    one, none = b.constant(np.ones(1, np.int32)), b.constant(np.zeros(largest.shape, np.int32))
    count = none
    inside = np.pad(np.ones(input.shape[1:3], np.bool_), paddings)
    for cell in reversed(cells[:-1]):
        begin, end = _span_cell(cell, strides, largest.shape[1:3])
        own = b.strided_slice(x, [0, *begin, 0], [x.shape[0], *end, x.shape[3]], [1, down, across, 1], 0, 0, 0)
        differs = b.not_equal(own, largest)
        is_outside = ~inside[begin[0] : end[0] : down, begin[1] : end[1] : across]
        if is_outside.any():
            differs = b.logical_or(differs, b.constant(is_outside[np.newaxis, ..., np.newaxis]))
        count = b.select(differs, b.add(count, one, 0), none)
    return largest, count


def _span_cell(cell: Cell, strides: Array, windows: Shape) -> tuple[list[int], list[int]]:
    """Return where slices that take a cell of each window begin and end."""
    begin = [cell.row, cell.column]
    return begin, (begin + (np.array(windows) - 1) * strides + 1).tolist()


@decomposition(Composite.MAX_UNPOOL_2D)
def max_unpool_2d(b: Decomposition, input: Tensor, positions: Tensor, size: Array, column_major: bool) -> Tensor:
    """Interleave columns, then rows, of images that are zero except where a position is the cell's number."""
    n, height, width, depth = input.shape
    zeros = b.constant(np.zeros(input.shape, input.type.dtype))
    rows: dict[int, list[Tensor]] = {}
    for row, _, number in sorted(list_cells(size.tolist(), column_major)):
        is_there = b.equal(positions, b.number(positions, number))
        rows.setdefault(row, []).append(b.select(is_there, input, zeros))
    down, across = size.tolist()
    line = across * width * depth
    lines = [b.reshape(b.concatenate(parts, 3), (n, height, line)) for parts in rows.values()]
    return b.reshape(b.concatenate(lines, 2), (n, down * height, across * width, depth))
