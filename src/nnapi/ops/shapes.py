"""Arithmetic of extents that several operations share."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.codes import PaddingCode
from nnapi.errors import need
from nnapi.model.operand import OperandType, Shape
from nnapi.model.operation import Arguments

Pair = tuple[int, int]
"""(height, width)."""
Padding = tuple[Pair, Pair]
"""((top, bottom), (left, right))."""


def broadcast(a: Shape, b: Shape) -> Shape:
    """Extents of two tensors combined element by element, aligned at the last axis."""
    rank = max(len(a), len(b))
    long, short = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    need(
        all(x == y or 1 in (x, y) for x, y in zip(long, short, strict=True)),
        f"shapes {list(a)} and {list(b)} do not broadcast",
    )
    return tuple(y if x == 1 else x for x, y in zip(long, short, strict=True))


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    """A possibly negative axis as 0..rank-1."""
    need(-rank <= axis < rank, f"{name} is {axis}, must be in [{-rank}, {rank})")
    return axis % rank


def need_shape(name: str, type: OperandType | None, want: Shape) -> None:
    """Raise OpFailedError unless a tensor that is given has exactly the extents it must have."""
    need(
        type is None or type.shape == want,
        f"{name} has shape {list(type.shape if type else ())}, must be {list(want)}",
    )


def need_image(name: str, image: OperandType) -> Shape:
    """The extents of an image, of which only the number of batches may be 0."""
    need(0 not in image.shape[1:], f"{name} has shape {list(image.shape)}, only the number of batches may be 0")
    return image.shape


def same_padding(extent: int, size: int, stride: int, dilation: int = 1) -> Pair:
    """Padding (before, after) that makes the output ``ceil(extent / stride)``; the odd one goes after."""
    out = -(-extent // stride)
    total = max(0, (out - 1) * stride + (size - 1) * dilation + 1 - extent)
    return total // 2, total - total // 2


def windows(extent: int, size: int, stride: int, padding: Pair, dilation: int = 1) -> int:
    """How many windows fit: the output extent of a convolution or pooling."""
    return max(0, (extent + sum(padding) - ((size - 1) * dilation + 1)) // stride + 1)


NO_PADDING: Padding = ((0, 0), (0, 0))


def slide(
    image: Sequence[int], size: Pair, stride: Pair, padding: Padding = NO_PADDING, dilation: Pair = (1, 1)
) -> Pair:
    """How many windows fit, down and across; OpFailedError where none does."""
    rows, columns = map(windows, image, size, stride, padding, dilation)
    need(
        rows and columns,
        f"no window of {size[0]} × {size[1]} fits {image[0]} × {image[1]} cells with padding {padding}",
    )
    return rows, columns


def spatial(
    arguments: Arguments, image: OperandType, size: Pair, dilation: Pair = (1, 1), limit: bool = True
) -> Arguments:
    """Replace a form's padding and stride scalars by ``padding`` and ``stride`` pairs.

    ``limit`` refuses explicit padding as large as the window, which would pool nothing but padding.
    """
    stride = (arguments.pop("stride_h"), arguments.pop("stride_w"))
    scheme = arguments.pop("padding_scheme", None)
    if scheme is None:
        padding = (
            (arguments.pop("pad_top"), arguments.pop("pad_bottom")),
            (arguments.pop("pad_left"), arguments.pop("pad_right")),
        )
        for (before, after), extent, step in zip(padding, size, dilation, strict=True):
            reach = (extent - 1) * step + 1
            need(
                not limit or (0 <= before < reach and 0 <= after < reach) or extent == 0,
                f"padding ({before}, {after}) must not be negative and be below the window of {reach}",
            )
    elif scheme == PaddingCode.PADDING_SAME:
        height, width = image.shape[1:3]
        padding = (
            same_padding(height, size[0], stride[0], dilation[0]),
            same_padding(width, size[1], stride[1], dilation[1]),
        )
    else:
        need(scheme == PaddingCode.PADDING_VALID, f"padding_scheme is {scheme}, must be 1 (SAME) or 2 (VALID)")
        padding = NO_PADDING
    return arguments | {"padding": padding, "stride": stride}
