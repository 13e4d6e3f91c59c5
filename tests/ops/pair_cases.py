"""Shared by tests of operations on two tensors: pairs that broadcast, and each pair of values."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.ops.tensor_cases import reals, shapes, stored


@st.composite
def pairs(draw: st.DrawFn, kinds: Any) -> Any:
    """Two inputs of one kind whose shapes stretch to one; quantized ones differ in scale and zero point."""
    full = draw(shapes(dimension=3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = kinds[draw(st.sampled_from(sorted(kinds)))]
    both = []
    for scale in (kind.scale, kind.scale * draw(st.sampled_from([1, 0.5, 3]))):
        shape = tuple(draw(st.sampled_from([1, dimension])) for dimension in full)
        shape = shape[draw(st.integers(0, len(shape) - 1)) :]
        type = type_of(kind, shape, scale)
        both.append((type, stored(type, random)))
    return both if draw(st.booleans()) else both[::-1]


def type_of(kind: Any, shape: tuple[int, ...], scale: float) -> Any:
    return type(kind)(kind.code, shape, scale, kind.zero_point)


def assert_pairs(check: Any, meaning: Any, x: tuple[Any, ...], y: tuple[Any, ...]) -> None:
    """``check`` the results that ``meaning`` gives for each pair of real numbers."""
    a, b = reals(*x), reals(*y)
    shape = tuple(
        max(left, right)
        for left, right in zip((1,) * (b.ndim - a.ndim) + a.shape, (1,) * (a.ndim - b.ndim) + b.shape, strict=True)
    )
    real = np.empty(shape)
    for index in np.ndindex(*shape):
        real[index] = meaning(_stretched(a, index).item(), _stretched(b, index).item())
    check(real)


def _stretched(x: Any, index: tuple[int, ...]) -> Any:
    return x[
        tuple(i if dimension > 1 else 0 for i, dimension in zip(index[len(index) - x.ndim :], x.shape, strict=True))
    ]
