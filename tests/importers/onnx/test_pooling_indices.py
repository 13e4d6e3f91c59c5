"""Indices of pooled maxima and MaxUnpool beside ONNX Runtime's results, written as loops."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("onnx", reason="onnx is not installed")

from onnx import helper

import nnapi
from nnapi.errors import BadDataError
from tests.engines import DEVICES, find_device
from tests.importers.onnx.operator_cases import loaded, made

RANDOM = np.random.default_rng(4)


def few(*shape: int) -> Any:
    """Return few different values, so that many maxima are equal: the first in its row counts."""
    return RANDOM.integers(-2, 2, shape).astype(np.float32)


def pooled(x: Any, size: Any, strides: Any, pads: Any, column_major: int = 0) -> tuple[Any, Any]:
    """Return the maxima of each window, and their indices in the flattened image."""
    n, c, height, width = x.shape
    (top, left, bottom, right), counts = pads, []
    for cells, around, length, step in zip((height, width), (top + bottom, left + right), size, strides, strict=True):
        counts.append((cells + around - length) // step + 1)
    largest, indices = np.full((n, c, *counts), -np.inf, np.float32), np.zeros((n, c, *counts), np.int32)
    for i, d, row, column in np.ndindex(*largest.shape):
        at = i, d, row, column
        for down, across in np.ndindex(*size):
            y, z = row * strides[0] - top + down, column * strides[1] - left + across
            if 0 <= y < height and 0 <= z < width and x[i, d, y, z] > largest[at]:
                largest[at] = x[i, d, y, z]
                indices[at] = (i * c + d) * height * width + (z * height + y if column_major else y * width + z)
    return largest, indices


CASES: list[tuple[tuple[int, ...], Any, Any, Any, int]] = [
    ((2, 3, 4, 6), [2, 2], [2, 2], [0, 0, 0, 0], 0),
    ((2, 3, 4, 6), [2, 2], [2, 2], [0, 0, 0, 0], 1),
    ((1, 2, 5, 7), [3, 2], [1, 2], [1, 0, 1, 1], 0),
    ((1, 2, 5, 7), [2, 3], [2, 1], [0, 2, 1, 0], 1),
    ((1, 2, 5, 7), [1, 3], [2, 2], [0, 1, 0, 1], 0),
    ((1, 2, 5, 7), [3, 1], [2, 2], [1, 0, 1, 0], 1),
]


@each_row("device", DEVICES)
@each_row(("shape", "size", "strides", "pads", "order"), CASES)
def test_indices(shape: Any, size: Any, strides: Any, pads: Any, order: int, device: str) -> None:
    """The maxima minus the indices, which are cast to floats: one result that depends on both."""
    x = few(*shape)
    options: dict[str, Any] = {"kernel_shape": size, "strides": strides, "pads": pads, "storage_order": order}
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", "i"], **options),
        helper.make_node("Cast", ["i"], ["f"], to=1),
        helper.make_node("Sub", ["m", "f"], ["y"]),
    ]
    with nnapi.compile(loaded(nodes, x=x), find_device(device), cache=False) as compiled:
        found = compiled.run(x)[0]
    largest, indices = pooled(x, size, strides, pads, order)
    np.testing.assert_array_equal(found, largest - indices)


def unpool(x: Any, indices: Any, shape: Any) -> Any:
    out = np.zeros(shape, np.float32).reshape(-1)
    out[indices.reshape(-1)] = x.reshape(-1)
    return out.reshape(shape)


WINDOWS: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
PAIR = [
    helper.make_node("MaxPool", ["x"], ["m", "i"], **WINDOWS),
    helper.make_node("Relu", ["m"], ["r"]),
]


@pytest.mark.parametrize("device", DEVICES)
def test_maxima_go_back(device: str) -> None:
    """Pooling and unpooling with the same windows need no index of the flattened image."""
    x = few(2, 3, 4, 6)
    model = loaded([*PAIR, helper.make_node("MaxUnpool", ["r", "i"], ["y"], **WINDOWS)], x=x)
    names = [call.name for call in model.operations]
    assert names == ["TRANSPOSE", "ARGMAX_POOL_2D", "RELU", "MAX_UNPOOL_2D", "TRANSPOSE"]
    with nnapi.compile(model, find_device(device), cache=False) as compiled:
        found = compiled.run(x)[0]
    largest, indices = pooled(x, [2, 2], [2, 2], [0] * 4)
    np.testing.assert_array_equal(found, unpool(np.maximum(largest, 0), indices, x.shape))


@pytest.mark.parametrize("device", DEVICES)
def test_images_grow_to_the_output_shape(device: str) -> None:
    x = few(1, 2, 4, 6)
    node = helper.make_node("MaxUnpool", ["m", "i", "s"], ["y"], **WINDOWS)
    model = loaded([PAIR[0], node], {"s": np.array([1, 2, 5, 9])}, x=x)
    largest, indices = pooled(x, [2, 2], [2, 2], [0] * 4)
    expected = np.zeros((1, 2, 5, 9), np.float32)
    expected[:, :, :4, :6] = unpool(largest, indices, x.shape)
    with nnapi.compile(model, find_device(device), cache=False) as compiled:
        np.testing.assert_array_equal(compiled.run(x)[0], expected)


def test_indices_of_an_image_that_windows_do_not_cover() -> None:
    """They count the seventh column, which the unpooled image lacks."""
    model = loaded([PAIR[0], helper.make_node("MaxUnpool", ["m", "i"], ["y"], **WINDOWS)], x=few(1, 1, 4, 7))
    assert "SCATTER_ND" in [call.name for call in model.operations]


def test_indices_of_a_file() -> None:
    """Constant indices, with pads, which make the image smaller."""
    x, indices = few(1, 1, 2, 3), np.array([[[[0, 3, 5], [12, 13, 18]]]], np.int64)
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 0])
    model = nnapi.load(made([node], {"i": indices}, x))
    found = nnapi.compile(model, "nnapi-reference", cache=False).run(x)[0]
    np.testing.assert_array_equal(found, unpool(x, indices, (1, 1, 4, 6)))


def test_a_smaller_output_shape_is_refused() -> None:
    node = helper.make_node("MaxUnpool", ["m", "i", "s"], ["y"], **WINDOWS)
    with pytest.raises(
        BadDataError, match=r"its output shape \[1, 2, 3, 6\] is not as large as the unpooled \[1, 2, 4, 6\]"
    ):
        loaded([PAIR[0], node], {"s": np.array([1, 2, 3, 6])}, x=few(1, 2, 4, 6))
