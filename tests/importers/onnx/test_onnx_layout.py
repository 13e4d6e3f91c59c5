"""Operands beside images that are stored with their channels last, and beyond NNAPI's rank."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.importers.onnx.images import image_shape  # noqa: E402
from nnapi.importers.onnx.layout import flatten_shape  # noqa: E402
from tests.importers.onnx.operator_cases import X, chain, compare, computed, made, reference, single, step  # noqa: E402

FIRST = step("Transpose", perm=[0, 3, 1, 2])
"""The image [2, 5, 3, 4] of an input with its channels last."""
FIVE, FLAT = step("Reshape", np.array([2, 3, 2, 2, 5])), step("Reshape", np.array([-1]))


def numbers(*shape: int) -> Any:
    return (np.arange(np.prod(shape)) / 8 - 3).reshape(shape).astype(np.float32)


@pytest.mark.parametrize(
    "shape", [(), (1,), (1, 1, 1), (4,), (3, 1), (3, 4), (5, 1, 1), (5, 3, 4), (2, 1, 1, 1), (2, 5, 3, 4)]
)
def test_a_constant_beside_an_image_is_stored_as_the_image_is(shape: tuple[int, ...]) -> None:
    compare(chain(X, FIRST, step("Sub", numbers(*shape))), X, "SUB TRANSPOSE")


@pytest.mark.parametrize(
    ("axes", "keepdims", "operations"),
    [
        ([1], 1, "REDUCE_MAX SUB TRANSPOSE"),
        ([2, 3], 1, "REDUCE_MAX SUB TRANSPOSE"),
        ([0, 1, 2], 0, "REDUCE_MAX RESHAPE RESHAPE SUB TRANSPOSE"),
        ([0, 1], 0, "REDUCE_MAX RESHAPE RESHAPE SUB TRANSPOSE"),
        ([0, 1, 2, 3], 0, "REDUCE_MAX RESHAPE SUB TRANSPOSE"),
    ],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_a_computed_operand_beside_an_image(axes: list[int], keepdims: int, operations: str, is_first: bool) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["i"], perm=[0, 3, 1, 2]),
        helper.make_node("ReduceMax", ["i"], ["m"], axes=axes, keepdims=keepdims),
        helper.make_node("Sub", ["m", "i"] if is_first else ["i", "m"], ["y"]),
    ]
    compare(made(nodes, {}, X), X, operations)


@pytest.mark.parametrize(
    ("shape", "operations"),
    [
        ((1,), "RESHAPE SUB"),
        ((5,), "RESHAPE SUB RESHAPE"),
        ((2, 2, 1), "RESHAPE SUB RESHAPE"),
        ((3, 1, 1, 1), "RESHAPE SUB RESHAPE"),
        ((2, 1, 2, 2, 1), "SUB RESHAPE"),
        ((2, 3, 2, 2, 5), "RESHAPE SUB"),
    ],
)
def test_five_axes_are_merged_where_they_stretch_alike(shape: tuple[int, ...], operations: str) -> None:
    content = chain(X, FIVE, step("Sub", numbers(*shape)), FLAT)
    compare(content, X, operations)


def test_axes_that_stretch_by_turns() -> None:
    """Up to six axes are computed, more are refused."""
    for other in (numbers(2, 1, 2, 1, 5), numbers(2, 1, 2, 1, 1)):
        content = chain(X, FIVE, step("Sub", other), FLAT)
        np.testing.assert_array_equal(computed(nnapi.load(content)), reference(content, X))
    seven = step("Reshape", np.array([2, 1, 3, 1, 4, 1, 5]))
    with pytest.raises(BadDataError, match="its shapes stretch along 7 axes, operations along at most 6"):
        nnapi.load(chain(X, seven, step("Sub", numbers(1, 2, 1, 2, 1, 2, 1)), FLAT))


@pytest.mark.parametrize(
    ("shape", "operations"),
    [
        ((2, 3, 4, 5), "TRANSPOSE MAX_POOL_2D TRANSPOSE"),
        ((2, 3, 1, 5), "TRANSPOSE MAX_POOL_2D TRANSPOSE"),
        ((2, 3, 4, 1), "TRANSPOSE MAX_POOL_2D TRANSPOSE"),
        ((2, 1, 4, 5), "RESHAPE MAX_POOL_2D RESHAPE"),
        ((2, 3, 1, 1), "RESHAPE MAX_POOL_2D RESHAPE"),
    ],
)
def test_an_image_of_one_channel_or_pixel_is_not_transposed(shape: tuple[int, ...], operations: str) -> None:
    x = numbers(*shape)
    compare(single("MaxPool", x, kernel_shape=[1, 1]), x, operations)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_of_pixels_are_joined_as_they_are_stored(axis: int) -> None:
    nodes = step("MaxPool", kernel_shape=[1]), step("Concat", ".", axis=axis)
    compare(chain(X[0], *nodes), X[0], "RESHAPE TRANSPOSE MAX_POOL_2D CONCATENATION TRANSPOSE RESHAPE")


def test_an_image_is_transposed_once_for_all_that_read_it() -> None:
    nodes = [helper.make_node("MaxPool", ["x"], [name], kernel_shape=[1, k]) for k, name in enumerate("ab", 1)]
    nodes += [
        helper.make_node("Slice", ["a", "begin", "end", "axes"], ["c"]),
        helper.make_node("Sub", ["c", "b"], ["y"]),
    ]
    constants = {"begin": np.array([1]), "end": np.array([5]), "axes": np.array([3])}
    compare(made(nodes, constants, X), X, "TRANSPOSE MAX_POOL_2D MAX_POOL_2D SLICE SUB TRANSPOSE")


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 5, 1)])
def test_other_ranks_are_not_images(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadDataError, match=f"NNAPI has images of two dimensions, the input is of rank {len(shape)}"):
        nnapi.load(single("DepthToSpace", numbers(*shape), blocksize=1))


def test_shapes_of_images_and_of_matrices() -> None:
    assert image_shape((2, 3, 4, 5), is_nhwc=True) == (2, 4, 5, 3)
    assert image_shape((2, 3, 4, 5), is_nhwc=False) == (2, 3, 4, 5)
    assert image_shape((2, 3, 4), is_nhwc=True) == (2, 1, 4, 3)
    assert image_shape((2, 3, 4), is_nhwc=False) == (2, 3, 1, 4)
    found = [flatten_shape((2, 3, 0, 5), axis) for axis in range(5)]
    assert found == [(1, 0), (2, 0), (6, 0), (0, 5), (0, 1)]
