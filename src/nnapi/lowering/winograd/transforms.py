"""The transforms of minimal filtering along one dimension: F(m, r) computes m results of a filter of r taps.

The number of multiplications is m + r - 1, one for each point at which polynomials are evaluated. The points are small
powers of two, so the transforms of inputs and results multiply without rounding.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from nnapi.model.operand import Array
from nnapi.ops.shapes import Pair

POINTS: dict[int, tuple[float, ...]] = {4: (0.0, 1.0, -1.0), 6: (0.0, 1.0, -1.0, 0.5, -2.0)}
"""The points for a number of multiplications; infinity is the last one. With 1/2 and -2, the error is two thirds of
that with the usual 2 and -2."""
ONE, MINUS_ONE = 1, 2
"""Positions of these points. The product at 1 is added to every result."""


class Transform(NamedTuple):
    """Matrices whose rows are the results, the transformed filter and the transformed input, as float64."""

    output: Array
    filter: Array
    input: Array

    def count_sums(self) -> int:
        """Return the additions and multiplications of whole tensors from products to results: one for each factor, one
        more if it is not 1 or -1, and the sum and the difference of the products at 1 and -1."""
        factors = np.delete(self.output, (ONE, MINUS_ONE), 1)
        return 2 + int(np.count_nonzero(factors)) + int(np.count_nonzero(factors[:, 1:] * (abs(factors[:, 1:]) - 1)))


Transforms = tuple[Transform | None, Transform | None]
"""Those along the height and the width; None for a dimension that is not transformed."""
CHUNK = 16
"""Output channels of a filter that are transformed together, as their float64 values fit into a processor's cache."""


def transform_filter(filter: Array, transforms: Transforms) -> Array:
    """Return the filters of all products as float32, by product along the height and along the width. They have one
    tap along a transformed dimension."""
    units, *sizes, depth = filter.shape
    down, across = (
        np.eye(k)[np.newaxis] if transform is None else transform.filter[:, np.newaxis]
        for k, transform in zip(sizes, transforms, strict=True)
    )
    factors = np.einsum("aip,bjq->abijpq", down, across)
    products, taps = factors.shape[:2], factors.shape[2:4]
    factors = factors.reshape(-1, sizes[0] * sizes[1])
    result = np.empty((*products, units, *taps, depth), np.float32)
    for begin in range(0, units, CHUNK):
        part = filter[begin : begin + CHUNK].reshape(-1, sizes[0] * sizes[1], depth)
        made = (factors @ part.astype(np.float64)).reshape(-1, *products, *taps, depth)
        result[:, :, begin : begin + CHUNK] = made.transpose(1, 2, 0, 3, 4, 5)
    return result


@cache
def make_transform(products: int, taps: int) -> Transform:
    """Return the transform with this number of multiplications for a filter of ``taps`` taps, by Toom and Cook."""
    points, results = POINTS[products], products - taps + 1
    output = np.array([[x**i for x in points] + [float(i == results - 1)] for i in range(results)])
    others = [[y for y in points if y != x] for x in points]
    scales = [np.prod([x - y for y in rest]) for x, rest in zip(points, others, strict=True)]
    rows = [[x**i / scale for i in range(taps)] for x, scale in zip(points, scales, strict=True)]
    filter = np.array([*rows, [*[0.0] * (taps - 1), 1.0]])
    input = np.array([*([*np.poly(rest)[::-1], 0.0] for rest in others), np.poly(points)[::-1]])
    return Transform(output, filter, input)


def find_transforms(tile: Pair, size: Sequence[int]) -> Transforms:
    """Return the transforms of a tile: the multiplications along the height and the width, 0 for none."""
    down, across = (
        make_transform(products, taps) if products else None for products, taps in zip(tile, size, strict=True)
    )
    return down, across
