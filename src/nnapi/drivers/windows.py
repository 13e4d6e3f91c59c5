"""Limits of sliding windows: valid numbers on which engines overflow are kept from them.

NNAPI allows every dimension, stride and dilation of 31 bits. Engines multiply and divide such numbers in 32 bits.
"""

from __future__ import annotations

from nnapi.ops.shapes import Padding, Pair

WIDEST = 1 << 16
"""Cells of padding before or behind an image, far beyond any network's, with which engines still compute."""


def too_wide(padding: Padding) -> str:
    """Return the reason why an engine should not get windows with this padding; an empty string where it may.

    Without much padding a window is at most as wide as the image, which is in memory, so nothing else needs a bound.
    """
    cells = max(max(pair) for pair in padding)
    return f"{cells} cells of padding are more than the {WIDEST} that engines are given" if cells > WIDEST else ""


def limit_steps(shape: Pair, size: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)) -> tuple[Pair, Pair]:
    """Return the smallest equivalent strides and dilations: a window of one element has dilation 1, and no stride
    exceeds the padded image."""
    steps = tuple(min(step, cells + sum(pair)) for step, cells, pair in zip(stride, shape, padding, strict=True))
    gaps = tuple(gap if cells > 1 else 1 for gap, cells in zip(dilation, size, strict=True))
    return (steps[0], steps[1]), (gaps[0], gaps[1])
