"""Windows that slide over images: limits of engines, and equivalent paddings, strides and dilations."""

from nnapi.ops.shapes import Padding, Pair

WIDEST = 1 << 16
"""Cells of padding on each side that engines support; they compute in 32 bits and overflow on larger numbers."""


def explain_too_wide(padding: Padding) -> str:
    """Return the reason against a window's padding; empty if it is supported. The image bounds everything else."""
    cells = max(max(pair) for pair in padding)
    return f"{cells} cells of padding are more than the {WIDEST} that engines are given" if cells > WIDEST else ""


def limit_steps(shape: Pair, size: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)) -> tuple[Pair, Pair]:
    """Return the smallest equivalent strides and dilations: a stride at most as large as the padded image."""
    steps = tuple(min(step, cells + sum(pair)) for step, cells, pair in zip(stride, shape, padding, strict=True))
    gaps = tuple(gap if cells > 1 else 1 for gap, cells in zip(dilation, size, strict=True))
    return (steps[0], steps[1]), (gaps[0], gaps[1])


def separate_zeros(padding: Padding, stride: Pair) -> tuple[Padding, Padding]:
    """Return rows and columns of zeros to put around the image of a transposed convolution, and the padding with them.

    File formats have no negative padding. A zero at an end of an axis makes the result longer by a stride, which only
    the bias fills, so that the padding may cut off more.
    """
    zeros = [[max(0, -(number // step)) for number in pair] for pair, step in zip(padding, stride, strict=True)]
    rows, columns = (
        ((before, behind), (pair[0] + before * step, pair[1] + behind * step))
        for (before, behind), pair, step in zip(zeros, padding, stride, strict=True)
    )
    return (rows[0], columns[0]), (rows[1], columns[1])
