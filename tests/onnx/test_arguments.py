"""Inputs and outputs of a session: checked and converted, and the same array where nothing differs."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
from nnapi.onnx.arguments import Input, Output
from nnapi.onnx.failures import InvalidArgument
from nnapi.onnx.ort_value import OrtValue
from nnapi.onnx.session_file import NodeArg

ROWS = NodeArg("x", "tensor(float)", ["n", 3])


def test_an_array_that_is_stored_as_it_is_is_not_copied() -> None:
    array = np.zeros((2, 3), np.float32)
    assert Input(ROWS).read(array) is array
    assert Output(ROWS).describe(array) is array
    unranked = NodeArg("x", "tensor(float)", [], is_ranked=False)
    assert Input(unranked).read(array) is array


@pytest.mark.parametrize(
    ("type", "given", "stored"),
    [
        ("tensor(int64)", np.array([1, -2]), np.int32),
        ("tensor(uint32)", np.array([1, 2], np.uint32), np.int32),
        ("tensor(double)", np.array([0.5]), np.float32),
        ("tensor(uint8)", np.array([7], np.uint8), np.uint8),
        ("tensor(bool)", np.array([True]), np.bool_),
        ("tensor(float)", [0.5, 2.0], np.float32),
        ("tensor(float)", OrtValue(np.array([0.5], np.float32)), np.float32),
    ],
)
def test_values_are_stored_with_32_bits(type: str, given: Any, stored: Any) -> None:
    found = Input(NodeArg("x", type, ["n"])).read(given)
    assert found.dtype == stored
    values = given.numpy() if isinstance(given, OrtValue) else given
    np.testing.assert_array_equal(found, values)


def test_scalars_have_one_element() -> None:
    scalar = NodeArg("x", "tensor(float)", [])
    assert Input(scalar).read(np.float32(2)).shape == (1,)
    assert Output(scalar).describe(np.array([2], np.float32)).shape == ()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 4), np.float32), r"x is of shape \['n', 3\], not \[2, 4\]"),
        (np.zeros(3, np.float32), r"x is of shape \['n', 3\], not \[3\]"),
        (np.zeros((2, 3)), r"x is of type tensor\(float\), not tensor\(double\)"),
    ],
)
def test_other_types_and_shapes_are_refused(array: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Input(ROWS).read(array)
    with pytest.raises(InvalidArgument, match="x holds integers beyond int32"):
        Input(NodeArg("x", "tensor(int64)", ["n"])).read(np.array([1 << 40]))
    with pytest.raises(InvalidArgument, match="which NNAPI does not have"):
        Input(NodeArg("x", "tensor(complex64)", ["n"])).read(np.array([1j], np.complex64))


def test_results_have_the_file_s_type() -> None:
    assert Output(NodeArg("y", "tensor(int64)", ["n"])).describe(np.array([3], np.int32)).dtype == np.int64
    assert Output(NodeArg("y", "tensor(bool)", ["n"])).describe(np.array([1], np.uint8)).tolist() == [True]
    texts = np.array(["a", "b"])
    assert Output(NodeArg("y", "tensor(string)", ["n"]), texts=texts).describe(np.array([1, 0])).tolist() == ["b", "a"]
    maps = Output(NodeArg("y", "seq", []), [("no", 0), ("yes", 1)]).describe(np.array([[0.25, 0.75]]))
    assert maps == [{"no": 0.25, "yes": 0.75}]
