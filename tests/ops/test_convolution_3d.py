"""CONV_3D and TRANSPOSE_CONV_3D: kernel, decomposition and engines beside loops and literal examples."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.errors import NnapiError
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

RANDOM = np.random.default_rng(4)
NONE, ONES = [[0, 0]] * 3, [1, 1, 1]


def whole(*shape: int) -> Any:
    """Whole numbers, whose sums are exact."""
    return RANDOM.integers(-4, 5, shape).astype(np.float32)


def convolved(x: Any, w: Any, bias: Any, paddings: Any, strides: Any, dilations: Any, groups: int) -> Any:
    """Return the sums that the formula gives, window by window."""
    units, *size, depth = w.shape
    x = np.pad(x, [(0, 0), *paddings, (0, 0)])
    spans = [(cells - 1) * gap + 1 for cells, gap in zip(size, dilations, strict=True)]
    counts = [(cells - span) // step + 1 for cells, span, step in zip(x.shape[1:4], spans, strides, strict=True)]
    found = np.zeros((len(x), *counts, units), np.float32)
    for *at, unit in np.ndindex(*counts, units):
        starts = [position * step for position, step in zip(at, strides, strict=True)]
        first = unit // (units // groups) * depth
        where = tuple(
            slice(start, start + span, gap) for start, span, gap in zip(starts, spans, dilations, strict=True)
        )
        found[:, *at, unit] = (x[:, *where, first : first + depth] * w[unit]).sum((1, 2, 3, 4)) + bias[unit]
    return found


def transposed(x: Any, w: Any, bias: Any, paddings: Any, strides: Any) -> Any:
    """Return the sums that each cell adds to, cell by cell, without the padding."""
    units, *size, _ = w.shape
    spans = [(cells - 1) * step + taps for cells, taps, step in zip(x.shape[1:4], size, strides, strict=True)]
    wide = np.zeros((len(x), *(span + 9 for span in spans), units), np.float32)
    for at in np.ndindex(*x.shape[1:4]):
        for tap in np.ndindex(*size):
            where = tuple(position * step + i for position, step, i in zip(at, strides, tap, strict=True))
            wide[:, *where] += x[:, *at] @ w[:, *tap].T
    cut = tuple(slice(before, span - after) for (before, after), span in zip(paddings, spans, strict=True))
    return wide[:, *cut] + bias


@pytest.mark.parametrize("way", WAYS)
def test_a_convolution_in_numbers(way: str) -> None:
    """Each window adds a cell and its neighbors in depth, height and width, times 1, 10, 100 and 1000."""
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2, 1)
    w = np.zeros((1, 2, 2, 2, 1), np.float32)
    w[0, 0, 0, 0], w[0, 1, 0, 0], w[0, 0, 1, 0], w[0, 0, 0, 1] = 1, 10, 100, 1000
    model = model_of(lambda b: b.conv_3d(b.input(tensor("float32", x.shape)), w, [0.5], NONE, ONES, ONES, 1, "relu"))
    assert run(model, way, x)[0].tolist() == [[[[[0 + 40 + 200 + 1000 + 0.5]]]]]


@pytest.mark.parametrize("way", WAYS)
def test_a_transposed_convolution_in_numbers(way: str) -> None:
    x = np.array([1, 2], np.float32).reshape(1, 2, 1, 1, 1)
    w = np.array([1, 10, 100], np.float32).reshape(1, 3, 1, 1, 1)
    model = model_of(
        lambda b: b.transpose_conv_3d(b.input(tensor("float32", x.shape)), w, [1], [[1, -1], [0, 0], [0, 0]], [2, 1, 1])
    )
    assert run(model, way, x)[0].reshape(-1).tolist() == [11, 103, 21, 201, 1]


CASES: list[tuple[tuple[int, ...], tuple[int, ...], Any, Any, Any, int]] = [
    ((2, 4, 5, 6, 3), (4, 3, 2, 3, 3), [[1, 1], [0, 1], [2, 0]], [1, 2, 1], ONES, 1),
    ((1, 7, 4, 5, 2), (3, 3, 2, 2, 2), [[0, 2], [1, 0], [0, 0]], [2, 1, 2], [2, 1, 3], 1),
    ((1, 4, 5, 4, 4), (6, 2, 3, 2, 2), [[1, 0], [1, 1], [0, 1]], [1, 1, 2], ONES, 2),
    ((1, 4, 5, 4, 4), (6, 2, 3, 2, 2), NONE, ONES, [1, 2, 1], 2),
    ((1, 4, 5, 4, 3), (6, 3, 2, 2, 1), [[1, 1], [0, 1], [1, 0]], [2, 1, 1], [1, 2, 2], 3),
    ((2, 6, 3, 4, 3), (5, 3, 1, 1, 3), [[1, 1], [0, 0], [0, 0]], [2, 1, 1], [2, 1, 1], 1),
    ((2, 3, 5, 4, 3), (5, 1, 3, 2, 3), [[0, 0], [1, 1], [0, 1]], [1, 2, 1], ONES, 1),
    ((1, 5, 4, 4, 2), (2, 1, 1, 1, 2), NONE, [2, 2, 1], ONES, 1),
]


@each_row("way", WAYS)
@each_row(("shape", "filter", "paddings", "strides", "dilations", "groups"), CASES)
def test_convolutions(
    shape: Any, filter: Any, paddings: Any, strides: Any, dilations: Any, groups: int, way: str
) -> None:
    x, w, bias = whole(*shape), whole(*filter), whole(filter[0])
    settings = paddings, strides, dilations, groups
    model = model_of(lambda b: b.conv_3d(b.input(tensor("float32", shape)), w, bias, *settings))
    np.testing.assert_array_equal(run(model, way, x)[0], convolved(x, w, bias, *settings))


@pytest.mark.parametrize("way", WAYS)
def test_a_computed_filter(way: str) -> None:
    x, w, bias = whole(1, 3, 4, 3, 2), whole(2, 2, 2, 2, 2), whole(2)
    settings: Any = (NONE, ONES, ONES, 1)

    def make(b: Any) -> Any:
        return b.conv_3d(*(b.input(tensor("float32", each.shape)) for each in (x, w, bias)), *settings)

    model = model_of(make)
    np.testing.assert_array_equal(run(model, way, x, w, bias)[0], convolved(x, w, bias, *settings))


@each_row("way", WAYS)
@each_row(
    ("size", "paddings", "strides"),
    [
        ((3, 2, 3), NONE, ONES),
        ((3, 3, 2), [[1, 1], [0, 1], [1, 0]], [2, 3, 1]),
        ((2, 3, 3), [[0, -1], [1, -1], [1, 0]], [3, 2, 2]),
        ((1, 2, 1), NONE, [3, 1, 2]),
        ((4, 1, 1), [[3, 2], [0, 0], [0, 0]], [2, 1, 1]),
    ],
)
def test_transposed_convolutions(size: Any, paddings: Any, strides: Any, way: str) -> None:
    x, w, bias = whole(2, 3, 4, 2, 3), whole(2, *size, 3), whole(2)
    model = model_of(
        lambda b: b.relu(b.transpose_conv_3d(b.input(tensor("float32", x.shape)), w, bias, paddings, strides))
    )
    expected = np.maximum(transposed(x, w, bias, paddings, strides), 0)
    np.testing.assert_array_equal(run(model, way, x)[0], expected)


@pytest.mark.parametrize("way", WAYS)
def test_float16(way: str) -> None:
    x, w = whole(1, 3, 3, 3, 2).astype(np.float16), whole(2, 2, 2, 2, 2).astype(np.float16)
    zeros = np.zeros(2, np.float16)
    model = model_of(lambda b: b.conv_3d(b.input(tensor("float16", x.shape)), w, zeros, NONE, ONES, ONES, 1))
    (found,) = run(model, way, x)
    assert found.dtype == np.float16
    real = [each.astype(np.float32) for each in (x, w, zeros)]
    np.testing.assert_array_equal(found, convolved(real[0], real[1], real[2], NONE, ONES, ONES, 1))


def build(
    filter: Any = (2, 2, 2, 2, 2), paddings: Any = NONE, strides: Any = ONES, dilations: Any = ONES, groups: int = 1
) -> Any:
    b = Builder()
    x = b.input(tensor("float32", (1, 3, 3, 3, 2)))
    return b.conv_3d(
        x, np.ones(filter, np.float32), np.zeros(filter[0], np.float32), paddings, strides, dilations, groups
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"filter": (2, 2, 2, 2, 3)}, "filter has depth 3, must be the 2 of input divided by 1 groups"),
        ({"filter": (3, 2, 2, 2, 1), "groups": 2}, "filter has 3 channels, which 2 groups do not divide"),
        ({"filter": (2, 2, 2, 2)}, "filter has rank 4, must have rank 5"),
        ({"paddings": [[0, 0]] * 2}, r"paddings has shape \[2, 2\], must be \[3, 2\]"),
        ({"paddings": [[0, 0], [-1, 0], [0, 0]]}, "must be at least 0"),
        ({"paddings": [[0, 0], [0, 2], [0, 0]]}, r"must be below the \[2, 2, 2\] cells that the window reaches"),
        ({"strides": [1, 0, 1]}, r"strides \[1, 0, 1\] must be at least 1"),
        ({"strides": [1, 1]}, r"strides has shape \[2\], must be \[3\]"),
        ({"dilations": [3, 1, 1]}, r"no window of \[4, 2, 2\] fits input of \[3, 3, 3\] cells"),
        ({"groups": 0}, "groups is 0, must be above 0"),
    ],
)
def test_refusals(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(NnapiError, match=reason):
        build(**settings)


def test_refusals_of_transposed_convolutions() -> None:
    for paddings, reason in (
        ([[-1, 0], [0, 0], [0, 0]], "must not be negative before the volume"),
        ([[3, 3], [0, 0], [0, 0]], "out would be -1 × 4 × 4, must not be empty"),
    ):
        b = Builder()
        x = b.input(tensor("float32", (1, 3, 3, 3, 1)))
        with pytest.raises(NnapiError, match=reason):
            b.transpose_conv_3d(x, np.ones((1, 3, 2, 2, 1), np.float32), [0], paddings, ONES)
