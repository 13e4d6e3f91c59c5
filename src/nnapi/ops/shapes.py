"""Arithmetic of dimensions."""

import math
from collections.abc import Sequence
from typing import Any

from nnapi.codes import PaddingCode
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Arguments
from nnapi.shapes.size import drop_ones

Pair = tuple[int, int]
"""(height, width)."""
Padding = tuple[Pair, Pair]
"""((top, bottom), (left, right))."""
PAD_NAMES = (("pad_top", "pad_bottom"), ("pad_left", "pad_right"))


def broadcast(names: tuple[str, str], a: Shape, b: Shape) -> Shape:
    """Return the shape that two shapes broadcast to, aligned at the last axis; raise OpFailedError if there is none."""
    if a is b:
        return a
    rank = max(len(a), len(b))
    long, short = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    wide = [drop_ones(sizes) for sizes in zip(long, short, strict=True)]
    if not all(sizes == [sizes[0]] * len(sizes) for sizes in wide if sizes):
        raise OpFailedError(
            f"{names[0]} of shape {list(a)} and {names[1]} of shape {list(b)} do not broadcast: from the last axis on, "
            "dimensions must be equal or 1"
        )
    return tuple([sizes[0] if sizes else 1 for sizes in wide])


def outer_and_inner(shape: Shape, axis: int) -> tuple[int, int]:
    """Return the number of elements in the dimensions before an axis, and in those after it."""
    return math.prod(shape[:axis]), math.prod(shape[axis + 1 :])


def same_shape(input: OperandType, **others: Any) -> Shape:
    return input.shape


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    need(-rank <= axis < rank, f"{name} is {axis}, must be in [{-rank}, {rank})")
    return axis % rank


def need_shape(name: str, type: OperandType | None, want: Shape) -> None:
    if type is not None and type.shape != want:
        raise OpFailedError(f"{name} has shape {list(type.shape)}, must be {list(want)}")


def need_image(name: str, image: OperandType) -> Shape:
    """Return the dimensions of an image; raise OpFailedError if any but the number of batches is 0."""
    shape = image.dimensions
    if 0 in shape[1:]:
        raise OpFailedError(f"{name} has shape {list(shape)}, only the number of batches may be 0")
    return shape


def same_padding(dimension: int, size: int, stride: int, dilation: int = 1) -> Pair:
    """Return the padding (before, after) for ``ceil(dimension / stride)`` outputs; an odd cell goes after."""
    out = -(-dimension // stride)
    total = (out - 1) * stride + (size - 1) * dilation + 1 - dimension
    return (total // 2, total - total // 2) if total > 0 else (0, 0)


def count_windows(dimension: int, size: int, stride: int, padding: Pair, dilation: int = 1) -> int:
    count = (dimension + padding[0] + padding[1] - (size - 1) * dilation - 1) // stride + 1
    return count if count > 0 else 0


NO_PADDING: Padding = ((0, 0), (0, 0))


def count_windows_of_image(
    image: Sequence[int], size: Sequence[int], stride: Pair, padding: Padding = NO_PADDING, dilation: Pair = (1, 1)
) -> Pair:
    rows = count_windows(image[0], size[0], stride[0], padding[0], dilation[0])
    columns = count_windows(image[1], size[1], stride[1], padding[1], dilation[1])
    if not (rows and columns):
        raise OpFailedError(
            f"no window of {_reach(size[0], dilation[0])} × {_reach(size[1], dilation[1])} fits input of {image[0]} × "
            f"{image[1]} cells with {describe_padding(padding)}"
        )
    return rows, columns


def need_numbers(name: str, numbers: Array, shape: Shape, *, least: int | None = None) -> None:
    need(numbers.shape == shape, f"{name} has shape {list(numbers.shape)}, must be {list(shape)}")
    if least is not None:
        need(bool((numbers >= least).all()), f"{name} {numbers.tolist()} must be at least {least}")


def count_windows_in(
    cells: Sequence[int], size: Sequence[int], paddings: Array, strides: Array, dilations: Array
) -> Shape:
    """Return the number of windows along the axes of an image or volume of ``cells``.

    Padding as large as the window is refused, because a window would hold only padding.
    """
    count = len(cells)
    number = "three" if count == 3 else "two"
    need(len(size) == count and min(size) > 0, f"size {list(size)} must be {number} numbers above 0")
    need_numbers("paddings", paddings, (count, 2), least=0)
    for name, numbers in (("strides", strides), ("dilations", dilations)):
        need_numbers(name, numbers, (count,), least=1)
    reach = tuple(map(_reach, size, dilations.tolist()))
    narrow = all(max(pair) < most for pair, most in zip(paddings.tolist(), reach, strict=True))
    need(narrow, f"paddings {paddings.tolist()} must be below the {list(reach)} cells that the window reaches")
    out = tuple(map(count_windows, cells, size, strides.tolist(), paddings.tolist(), dilations.tolist()))
    need(all(out), f"no window of {list(reach)} fits input of {list(cells)} cells with paddings {paddings.tolist()}")
    return out


def _reach(size: int, dilation: int) -> int:
    return (size - 1) * dilation + 1


def pop_explicit_padding(arguments: Arguments) -> Padding:
    """Remove the scalars of explicit padding from an overload's arguments; return the padding."""
    (top, bottom), (left, right) = PAD_NAMES
    return ((arguments.pop(top), arguments.pop(bottom)), (arguments.pop(left), arguments.pop(right)))


def describe_padding(padding: Padding) -> str:
    return ", ".join(
        f"{name} {cells}"
        for names, pair in zip(PAD_NAMES, padding, strict=True)
        for name, cells in zip(names, pair, strict=True)
    )


def normalize_windows(arguments: Arguments, image: OperandType, size: Pair, dilation: Pair = (1, 1)) -> Arguments:
    """Replace an overload's padding and stride scalars by ``padding`` and ``stride`` pairs.

    Explicit padding as large as the window is refused, because a window would hold only padding.
    """
    stride = (arguments.pop("stride_h"), arguments.pop("stride_w"))
    scheme = arguments.pop("padding_scheme", None)
    if scheme is None:
        padding = pop_explicit_padding(arguments)
        _check_padding(padding, size, dilation)
    elif scheme == PaddingCode.PADDING_SAME:
        height, width = image.dimensions[1:3]
        padding = (
            same_padding(height, size[0], stride[0], dilation[0]),
            same_padding(width, size[1], stride[1], dilation[1]),
        )
    else:
        need(scheme == PaddingCode.PADDING_VALID, f"padding_scheme is {scheme}, must be 1 (SAME) or 2 (VALID)")
        padding = NO_PADDING
    arguments["padding"], arguments["stride"] = padding, stride
    return arguments


def _check_padding(padding: Padding, size: Pair, dilation: Pair) -> None:
    for names, pair, reach, dimension in zip(PAD_NAMES, padding, map(_reach, size, dilation), size, strict=True):
        for name, cells in zip(names, pair, strict=True):
            if not (0 <= cells < reach or dimension == 0):
                raise OpFailedError(
                    f"{name} is {cells}, must not be negative and be below the {reach} cells that the window reaches"
                )
