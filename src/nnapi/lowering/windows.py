"""Windows that slide over images: the engines' limit of padding, and equivalent paddings, strides and dilations."""

from nnapi.ops.shapes import Padding, Pair

WIDEST = 1 << 16
"""Maximum elements of padding on each side. Engines compute sizes in 32 bits and would overflow."""


def explain_too_wide(padding: Padding) -> str:
    """Return why a window's padding is refused; empty if it is supported. The image's size bounds everything else."""
    cells = max(max(pair) for pair in padding)
    return f"{cells} cells of padding are more than the {WIDEST} that engines are given" if cells > WIDEST else ""


def limit_steps(shape: Pair, size: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)) -> tuple[Pair, Pair]:
    """Return the smallest strides and dilations with the same result: no stride exceeds the padded image."""
    steps = tuple(min(step, cells + sum(pair)) for step, cells, pair in zip(stride, shape, padding, strict=True))
    gaps = tuple(gap if cells > 1 else 1 for gap, cells in zip(dilation, size, strict=True))
    return (steps[0], steps[1]), (gaps[0], gaps[1])


def separate_zeros(padding: Padding, stride: Pair) -> tuple[Padding, Padding]:
    """Return the zeros to put around the image of a transposed convolution, and the padding that then remains.

    File formats have no negative padding. A row or column of zeros makes the result longer by one stride that only the
    bias fills. The padding can cut off that much more, so it is no longer negative.
    """
    zeros = [[max(0, -(number // step)) for number in pair] for pair, step in zip(padding, stride, strict=True)]
    rows, columns = (
        ((before, behind), (pair[0] + before * step, pair[1] + behind * step))
        for (before, behind), pair, step in zip(zeros, padding, stride, strict=True)
    )
    return (rows[0], columns[0]), (rows[1], columns[1])
