"""Pooling that tells where the maxima are, and its reverse; padding does not count.

ARGMAX_POOL_2D: the largest element of each window of an image, and its position in the window.
MAX_UNPOOL_2D: an image of zeros with one element of each window written at its position.

A position is the number of a cell in its window, padding included: by rows, or by columns with ``column_major``. Of
equal maxima, the one with the lowest number counts. MAX_UNPOOL_2D writes nothing at a position outside of the window.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, Values
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import Pair, count_windows_in, need_image, need_numbers
from nnapi.ops.signature_types import INT32, QUANT8, QUANT8_SIGNED, floats, reals
from nnapi.ops.windows import Step, taps

LARGEST = 20_000
"""The largest number of elements of a random image."""
ONES = np.ones(2, np.int32)
COLUMN_MAJOR = Scalar("column_major", OperandCode.BOOL, since=3)

ARGMAX_POOL_2D = Operation(
    CompositeCode.ARGMAX_POOL_2D,
    facts=Facts(Kind.REDUCTION, Trait.CHOOSES | Trait.ORDERS),
    inputs=(
        Tensor("input", reals(3, quant8=3), rank=4, late_rank=True),
        Values("paddings", rank=2, since=3),
        Values("strides", since=3),
        Values("size", since=3),
        COLUMN_MAJOR,
    ),
    outputs=(Tensor("out", like="input", quant="input"), Tensor("positions", INT32, since=3)),
)
MAX_UNPOOL_2D = Operation(
    CompositeCode.MAX_UNPOOL_2D,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("input", floats(3), rank=4, late_rank=True),
        Tensor("positions", INT32, rank=4, late_rank=True, since=3),
        Values("size", since=3),
        COLUMN_MAJOR,
    ),
    outputs=(Tensor("out", like="input"),),
)


class Cell(NamedTuple):
    """A cell of a window: its row, its column, and its number."""

    row: int
    column: int
    number: int


def list_cells(size: Sequence[int], column_major: bool) -> list[Cell]:
    """Return the cells of a window in the order of their numbers."""
    height, width = size
    if column_major:
        return [Cell(row, column, column * height + row) for column in range(width) for row in range(height)]
    return [Cell(row, column, row * width + column) for row in range(height) for column in range(width)]


@ARGMAX_POOL_2D.shape
def infer_pooled(input: OperandType, paddings: Array, strides: Array, size: Array, column_major: bool) -> list[Shape]:
    n, *image, depth = need_image("input", input)
    return [(n, *count_windows_in(image, size.tolist(), paddings, strides, ONES), depth)] * 2


@MAX_UNPOOL_2D.shape
def infer_unpooled(input: OperandType, positions: OperandType, size: Array, column_major: bool) -> Shape:
    n, height, width, depth = need_image("input", input)
    need(positions.shape == input.shape, f"positions has shape {list(positions.shape)}, must have {list(input.shape)}")
    need_numbers("size", size, (2,), least=1)
    return (n, height * int(size[0]), width * int(size[1]), depth)


@ARGMAX_POOL_2D.kernel(kind="raw", types=(QUANT8, QUANT8_SIGNED))
@ARGMAX_POOL_2D.kernel
def argmax_pool_2d(
    input: Array, paddings: Array, strides: Array, size: Array, column_major: bool
) -> tuple[Array, Array]:
    out = count_windows_in(input.shape[1:3], size.tolist(), paddings, strides, ONES)
    shape = (input.shape[0], *out, input.shape[3])
    largest, positions = np.zeros(shape, input.dtype), np.full(shape, -1, np.int32)
    rows, columns = (
        dict(taps(input.shape[1 + i], int(size[i]), int(strides[i]), int(paddings[i, 0]), out[i])) for i in (0, 1)
    )
    for cell, to, of in _pair(list_cells(size.tolist(), column_major), rows, columns):
        x, kept, where = input[:, of[0], of[1]], largest[:, to[0], to[1]], positions[:, to[0], to[1]]
        is_larger = (x > kept) | (where < 0)
        kept[is_larger], where[is_larger] = x[is_larger], cell.number
    return largest, positions


def _pair(
    cells: Sequence[Cell], rows: dict[int, Step], columns: dict[int, Step]
) -> Iterator[tuple[Cell, tuple[slice, slice], tuple[slice, slice]]]:
    """Yield each cell that meets the image, with the windows in which it does, and the elements there."""
    for cell in cells:
        if cell.row in rows and cell.column in columns:
            (down, of_rows), (across, of_columns) = rows[cell.row], columns[cell.column]
            yield cell, (down, across), (of_rows, of_columns)


@MAX_UNPOOL_2D.kernel
def max_unpool_2d(input: Array, positions: Array, size: Array, column_major: bool) -> Array:
    (n, height, width, depth), (down, across) = input.shape, size.tolist()
    out = np.zeros((n, height, down, width, across, depth), input.dtype)
    for row, column, number in list_cells((down, across), column_major):
        np.copyto(out[:, :, row, :, column], input, where=positions == number)
    return out.reshape(n, height * down, width * across, depth)


@ARGMAX_POOL_2D.proposal
def propose_pooling(draw: Draw) -> Proposal:
    """Propose adjacent windows, which engines take, or any."""
    given = draw.need_rank(4)
    is_adjacent = draw.chance(0.5)
    size: Pair = draw.pick((2, 2), (2, 2), (3, 3), (1, 2), (2, 1), (2, 3), (3, 1))
    strides, paddings, image = [], [], []
    for axis, window in enumerate(size):
        stride = window if is_adjacent else draw.pick(1, 1, 2, 3)
        around = [0, 0] if is_adjacent else [draw.pick(0, draw.upto(window - 1)) for _ in range(2)]
        cells = max(1, (draw.pick(1, 2, 3, 5, 8) - 1) * stride + window - sum(around) + draw.upto(stride - 1))
        image.append(given[1 + axis] if given else cells)
        strides.append(stride)
        paddings.append(around)
    draw.proposal.shapes["input"] = given or draw.bound((draw.pick(1, 1, 2), *image, draw.dimension(64)), LARGEST)
    numbers = {"paddings": paddings, "strides": strides, "size": size}
    draw.proposal.numbers |= {name: np.array(value, np.int32) for name, value in numbers.items()}
    return draw.proposal


@MAX_UNPOOL_2D.proposal
def propose_unpooling(draw: Draw) -> Proposal:
    shape = draw.need_rank(4) or draw.bound(
        (draw.pick(1, 1, 2), draw.dimension(17), draw.dimension(17), draw.dimension(64)), LARGEST // 8
    )
    size = draw.pick((2, 2), (2, 2), (3, 3), (1, 2), (2, 3))
    positions = draw.rng.integers(0, int(np.prod(size)), shape, np.int32)
    draw.proposal.shapes |= {"input": shape, "positions": shape}
    draw.proposal.numbers |= {"size": np.array(size, np.int32), "positions": positions}
    return draw.proposal
