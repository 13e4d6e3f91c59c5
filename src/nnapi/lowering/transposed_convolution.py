"""Transposed convolutions whose padding is negative, which file formats lack: zeros around the image do the same."""

from __future__ import annotations

from nnapi.ops.shapes import Padding, Pair


def surround(padding: Padding, stride: Pair) -> tuple[Padding, Padding]:
    """How many zeros go around an image, and the padding of the result then. A zero before or behind an axis makes the
    result longer there by a stride of nothing but bias, as a negative padding does."""
    zeros = [[max(0, -(number // step)) for number in pair] for pair, step in zip(padding, stride, strict=True)]
    rows, columns = (
        ((before, behind), (pair[0] + before * step, pair[1] + behind * step))
        for (before, behind), pair, step in zip(zeros, padding, stride, strict=True)
    )
    return (rows[0], columns[0]), (rows[1], columns[1])
