"""MAX_POOL_3D and AVERAGE_POOL_3D: kernel, decomposition and engines beside loops and literal examples."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.errors import NnapiError
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

RANDOM = np.random.default_rng(5)


def pooled(x: Any, paddings: Any, strides: Any, size: Any, combine: Any) -> Any:
    """Return the result of each window, whose cells outside the volume are NaN."""
    wide = np.pad(x.astype(np.float64), [(0, 0), *paddings, (0, 0)], constant_values=np.nan)
    counts = [(cells - taps) // step + 1 for cells, taps, step in zip(wide.shape[1:4], size, strides, strict=True)]
    found = np.zeros((len(x), *counts, x.shape[-1]))
    for at in np.ndindex(*counts):
        where = tuple(slice(i * step, i * step + taps) for i, step, taps in zip(at, strides, size, strict=True))
        found[:, *at] = combine(wide[:, *where], axis=(1, 2, 3))
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kind", "expected"), [("max_pool_3d", [5, 7, 5, 7]), ("average_pool_3d", [2.5, 4.5, 3, 5])])
def test_volumes_in_numbers(kind: str, expected: list[float], way: str) -> None:
    """Windows of a column in depth and height, and half a window at the border."""
    x = np.array([0, 2, 1, 3, 4, 6, 5, 7], np.float32).reshape(1, 2, 2, 2, 1)
    around, size = [[0, 0], [0, 1], [0, 0]], [2, 2, 1]
    model = model_of(lambda b: getattr(b, kind)(b.input(tensor("float32", x.shape)), around, [1, 1, 1], size))
    assert run(model, way, x)[0].reshape(-1).tolist() == expected


CASES: list[tuple[tuple[int, ...], Any, Any, Any]] = [
    ((2, 4, 5, 6, 3), [[0, 0]] * 3, [1, 1, 1], [2, 3, 2]),
    ((1, 5, 6, 7, 2), [[1, 0], [0, 1], [1, 2]], [2, 1, 3], [2, 2, 3]),
    ((1, 4, 4, 5, 3), [[1, 1], [0, 0], [0, 0]], [1, 1, 1], [3, 1, 1]),
    ((1, 3, 4, 5, 3), [[0, 0], [1, 0], [0, 1]], [1, 2, 2], [1, 2, 2]),
    ((1, 3, 4, 5, 3), [[0, 0]] * 3, [2, 3, 2], [1, 1, 1]),
]


@each_row("way", WAYS)
@each_row(("kind", "combine"), [("max_pool_3d", np.nanmax), ("average_pool_3d", np.nanmean)])
@each_row(("shape", "paddings", "strides", "size"), CASES)
def test_random_volumes(shape: Any, paddings: Any, strides: Any, size: Any, kind: str, combine: Any, way: str) -> None:
    x = RANDOM.normal(size=shape).astype(np.float32)
    settings = paddings, strides, size
    model = model_of(lambda b: getattr(b, kind)(b.input(tensor("float32", shape)), *settings))
    np.testing.assert_allclose(run(model, way, x)[0], pooled(x, *settings, combine), 1e-6, 1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("type", ["uint8", "int8"])
def test_quantized_maxima(type: str, way: str) -> None:
    limits = np.iinfo(type)
    x = RANDOM.integers(limits.min, limits.max + 1, (1, 3, 4, 4, 2)).astype(type)
    settings = [[1, 0], [0, 0], [0, 1]], [1, 2, 1], [2, 2, 2]
    model = model_of(lambda b: b.max_pool_3d(b.input(tensor(type, x.shape, 0.5, 3)), *settings))
    np.testing.assert_array_equal(run(model, way, x)[0], pooled(x, *settings, np.nanmax))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (([[0, 0]] * 3, [1, 1, 1], [2, 2]), r"size \[2, 2\] must be three numbers above 0"),
        (([[0, 0]] * 3, [1, 1, 1], [2, 2, 0]), r"size \[2, 2, 0\] must be three numbers above 0"),
        (([[0, 0]] * 3, [1, 1, 0], [2, 2, 2]), "strides"),
        (([[2, 0]] * 3, [1, 1, 1], [2, 2, 2]), "must be below"),
        (([[0, 0]] * 3, [1, 1, 1], [4, 2, 2]), r"no window of \[4, 2, 2\] fits input of \[3, 3, 3\] cells"),
    ],
)
def test_refusals(settings: Any, reason: str) -> None:
    b = Builder()
    with pytest.raises(NnapiError, match=reason):
        b.max_pool_3d(b.input(tensor("float32", (1, 3, 3, 3, 1))), *settings)
