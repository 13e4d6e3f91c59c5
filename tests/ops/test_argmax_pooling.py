"""ARGMAX_POOL_2D and MAX_UNPOOL_2D: kernel, decomposition and engines beside loops and literal examples."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.errors import NnapiError
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

RANDOM = np.random.default_rng(8)


def pooled(x: Any, paddings: Any, strides: Any, size: Any, column_major: bool) -> tuple[Any, Any]:
    """Return maxima and positions, window by window; cells outside of the image do not count."""
    wide = np.pad(x.astype(np.float64), [(0, 0), *paddings, (0, 0)], constant_values=-np.inf)
    inside = np.pad(np.ones(x.shape[1:3]), paddings)
    rows, columns = ((wide.shape[1 + i] - size[i]) // strides[i] + 1 for i in (0, 1))
    largest, positions = np.zeros((2, len(x), rows, columns, x.shape[3]))
    for n, y, c, d in np.ndindex(*largest.shape):
        best = None
        for row, column in np.ndindex(*size):
            down, across = y * strides[0] + row, c * strides[1] + column
            number = column * size[0] + row if column_major else row * size[1] + column
            rank = wide[n, down, across, d], -number
            if inside[down, across] and (best is None or rank > best):
                best = rank
        assert best is not None
        largest[n, y, c, d], positions[n, y, c, d] = best[0], -best[1]
    return largest.astype(x.dtype), positions.astype(np.int32)


def unpooled(x: Any, positions: Any, size: Any, column_major: bool) -> Any:
    n, height, width, depth = x.shape
    out = np.zeros((n, height * size[0], width * size[1], depth), x.dtype)
    for at in np.ndindex(*x.shape):
        i, y, c, d = at
        number = int(positions[at])
        if 0 <= number < size[0] * size[1]:
            row, column = divmod(number, size[0])[::-1] if column_major else divmod(number, size[1])
            out[i, y * size[0] + row, c * size[1] + column, d] = x[at]
    return out


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("column_major", "expected"), [(False, [0, 1, 1]), (True, [0, 1, 2])])
def test_windows_in_numbers(column_major: bool, expected: list[int], way: str) -> None:
    """All cells of the first window are equal; the second has two maxima, the third one in the upper right."""
    x = np.array([[4, 4, 1, 7, 2, 3], [4, 4, 7, 0, 1, 0]], np.float32).reshape(1, 2, 6, 1)
    settings = [[0, 0], [0, 0]], [2, 2], [2, 2], column_major
    model = model_of(lambda b: b.argmax_pool_2d(b.input(tensor("float32", x.shape)), *settings))
    largest, positions = run(model, way, x)
    assert largest.reshape(-1).tolist() == [4, 7, 3]
    assert positions.reshape(-1).tolist() == expected


CASES: list[tuple[tuple[int, ...], Any, Any, Any]] = [
    ((2, 4, 6, 3), [[0, 0], [0, 0]], [2, 2], [2, 2]),
    ((1, 5, 7, 2), [[0, 0], [0, 0]], [2, 3], [2, 3]),
    ((1, 6, 7, 2), [[1, 1], [0, 2]], [2, 1], [3, 3]),
    ((1, 5, 6, 2), [[0, 0], [1, 0]], [3, 2], [1, 2]),
    ((1, 4, 5, 2), [[0, 0], [0, 0]], [1, 2], [1, 1]),
]


@each_row("way", WAYS)
@each_row("column_major", [False, True])
@each_row(("shape", "paddings", "strides", "size"), CASES)
@each_row("type", ["float32", "uint8", "int8"])
def test_random_images(
    type: str, shape: Any, paddings: Any, strides: Any, size: Any, column_major: bool, way: str
) -> None:
    """Of few values, so that many maxima are equal, and padding beside the lowest value of the type."""
    quantization = () if type == "float32" else (0.5, 3)
    low = -2 if type == "float32" else np.iinfo(type).min
    x = RANDOM.integers(low, low + 3, shape).astype(type)
    settings = paddings, strides, size, column_major
    model = model_of(lambda b: b.argmax_pool_2d(b.input(tensor(type, shape, *quantization)), *settings))
    for found, expected in zip(run(model, way, x), pooled(x, *settings), strict=True):
        np.testing.assert_array_equal(found, expected)


@each_row("way", WAYS)
@each_row("column_major", [False, True])
@each_row("size", [[2, 2], [2, 3], [3, 1], [1, 1]])
def test_maxima_are_written_back(size: list[int], column_major: bool, way: str) -> None:
    """Positions from -1 on, up to one beyond the window."""
    x = RANDOM.normal(size=(2, 3, 4, 5)).astype(np.float32)
    positions = RANDOM.integers(-1, size[0] * size[1] + 1, x.shape, np.int32)
    model = model_of(
        lambda b: b.max_unpool_2d(
            b.input(tensor("float32", x.shape)), b.input(tensor("int32", x.shape)), size, column_major
        )
    )
    np.testing.assert_array_equal(run(model, way, x, positions)[0], unpooled(x, positions, size, column_major))


@each_row("way", WAYS)
@each_row("is_read", [False, True])
@each_row("size", [[2, 2], [2, 3]])
def test_pooling_and_unpooling(size: list[int], is_read: bool, way: str) -> None:
    """The pair that engines take whole, with the positions as an output too."""
    x = RANDOM.integers(0, 3, (1, 6, 12, 4)).astype(np.float32)

    def make(b: Builder) -> Any:
        largest, positions = b.argmax_pool_2d(b.input(tensor("float32", x.shape)), [[0, 0]] * 2, size, size, True)
        written = b.max_unpool_2d(largest, positions, size, True)
        return (written, positions) if is_read else written

    largest, positions = pooled(x, [[0, 0]] * 2, size, size, True)
    expected = unpooled(largest, positions, size, True), positions
    for found, wanted in zip(run(model_of(make), way, x), expected, strict=False):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (([[0, 0]] * 2, [1, 1], [2, 2, 2], False), r"size \[2, 2, 2\] must be two numbers above 0"),
        (([[0, 0]] * 2, [0, 1], [2, 2], False), "strides"),
        (([[2, 0], [0, 0]], [1, 1], [2, 2], False), "must be below"),
        (([[0, 0]] * 2, [1, 1], [4, 2], False), r"no window of \[4, 2\] fits input of \[3, 3\] cells"),
    ],
)
def test_refusals_of_pooling(settings: Any, reason: str) -> None:
    b = Builder()
    with pytest.raises(NnapiError, match=reason):
        b.argmax_pool_2d(b.input(tensor("float32", (1, 3, 3, 1))), *settings)


def test_refusals_of_unpooling() -> None:
    b = Builder()
    x, positions = b.input(tensor("float32", (1, 3, 3, 1))), b.input(tensor("int32", (1, 3, 4, 1)))
    with pytest.raises(NnapiError, match=r"positions has shape \[1, 3, 4, 1\], must have \[1, 3, 3, 1\]"):
        b.max_unpool_2d(x, positions, [2, 2], True)
    with pytest.raises(NnapiError, match=r"size \[2, 0\] must be at least 1"):
        b.max_unpool_2d(x, b.input(tensor("int32", (1, 3, 3, 1))), [2, 0], True)
