"""Paddings of sliding windows; TensorFlow Lite has two schemes, SAME and VALID."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.formats.tflite.schema import SAME, VALID
from nnapi.ops.shapes import Padding, Pair, same_padding


def around(padding: Padding) -> list[Sequence[int]]:
    return [(0, 0), *padding, (0, 0)]


def find_scheme(
    image: Sequence[int], size: Sequence[int], padding: Padding, stride: Pair, dilation: Pair = (1, 1)
) -> int | None:
    """Return the scheme that pads an image [height, width] so; None if neither does."""
    if not any(map(any, padding)):
        return VALID
    axes = zip(image, size, stride, dilation, strict=True)
    return SAME if tuple(map(tuple, padding)) == tuple(same_padding(*axis) for axis in axes) else None
