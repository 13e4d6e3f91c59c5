"""What engines are handed of windows that slide: legal numbers that none of them counts with are kept from them.

NNAPI allows every dimension, stride and dilation of 31 bits. Engines multiply and divide such numbers in 32.
"""

from __future__ import annotations

from nnapi.ops.shapes import Padding, Pair

WIDEST = 1 << 16
"""Cells of padding before or behind an image, far beyond any network's, with which engines still compute."""


def too_wide(padding: Padding) -> str:
    """Why an engine should not be given windows with this padding, in a message; nothing where it may.

    Without much padding windows are no wider than the image, which is in memory; so nothing else needs a bound.
    """
    cells = max(max(pair) for pair in padding)
    return f"{cells} cells of padding are more than the {WIDEST} that engines are given" if cells > WIDEST else ""


def limit_steps(shape: Pair, size: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)) -> tuple[Pair, Pair]:
    """The strides and dilations that mean the same and are no larger than they must be: a dilation of single cells
    says nothing, and no stride beyond the padded image does."""
    steps = tuple(min(step, cells + sum(pair)) for step, cells, pair in zip(stride, shape, padding, strict=True))
    gaps = tuple(gap if cells > 1 else 1 for gap, cells in zip(dilation, size, strict=True))
    return (steps[0], steps[1]), (gaps[0], gaps[1])
