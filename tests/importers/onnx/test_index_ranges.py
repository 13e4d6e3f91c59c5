"""Computed indices out of range are an error of the run, on every device."""

import re
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper

import nnapi
from nnapi.errors import OpFailedError
from tests.engines import DEVICES, find_device
from tests.importers.onnx.literal_cases import file_of, node, results
from tests.importers.onnx.operator_cases import loaded

X = np.arange(24).reshape(2, 3, 4)
RANDOM = np.random.default_rng(9)


@each_row("device", DEVICES)
@each_row(
    ("gather", "indices", "tensor", "wrong"),
    [
        (node("Gather", "x i", axis=1), [[2, -3]], "i", [3, -4]),
        (node("GatherElements", "x i", axis=1), [[[0, 2, -3, 1]]], "i", [3, -4, 2**31 - 1, -(2**31)]),
        (node("GatherElements", "x i", axis=1), [[[0, 2, -3, 1]] * 3] * 2, "i", [3, -4, 2**31 - 1, -(2**31)]),
        (node("GatherElements", "x i", axis=2), [[[3], [-4], [0]]], "i", [4, -5]),
        (node("GatherND", "x i"), [[1, 2, 3], [-2, -3, -4]], "i[..., 2]", [4, -5, 2**30]),
        (node("GatherND", "x i", batch_dims=1), [[[2, 3]], [[-3, -4]]], "i[..., 1]", [4, -5, 2**30]),
        (node("GatherND", "x j"), [[1], [-2]], "j", [2, -3]),
    ],
)
def test_computed_indices_out_of_range_are_an_error(
    device: str, gather: Any, indices: Any, tensor: str, wrong: list[int]
) -> None:
    """The first axis whose index is out of range is named; another row is never read."""
    x, given = X.astype(np.float32), np.array(indices, np.int32)
    model = nnapi.load(file_of([gather], {"x": x, gather.input[1]: given}))
    compilation = nnapi.compile(model, find_device(device), cache=False)
    expected = results([gather], {"x": x}, {gather.input[1]: given})
    assert [compilation.run(x, given)[0].tolist()] == expected
    for number in wrong:
        bad = given.copy()
        bad.reshape(-1)[-1] = number
        with pytest.raises(OpFailedError, match=rf"indices {re.escape(tensor)} are in .*, must be in -"):
            compilation.run(x, bad)
    assert [compilation.run(x, given)[0].tolist()] == expected


@each_row("device", DEVICES)
@each_row("reduction", ["none", "add", "max"])
@each_row(
    ("kind", "indices", "tensor", "wrong"),
    [
        ("ScatterElements", [[0, 2, -3, 1, 0]], "x", [3, -4, 2**31 - 1]),
        ("ScatterElements", [[0, 2, -3]], "x", [3, -4, 2**31 - 1]),
        ("ScatterND", [[2, 4], [-3, -5]], "x[..., 1]", [5, -6, 2**30]),
        ("ScatterND", [[2], [-3]], "x", [3, -4]),
    ],
)
def test_computed_indices_out_of_range_write_nothing(
    device: str, reduction: str, kind: str, indices: Any, tensor: str, wrong: list[int]
) -> None:
    """Another row is never written."""
    x, data = np.array(indices, np.int32), RANDOM.normal(size=(3, 5)).astype(np.float32)
    shape = x.shape if kind == "ScatterElements" else (len(x), *data.shape[x.shape[1] :])
    updates, expected = RANDOM.normal(size=shape).astype(np.float32), data.copy()
    at = tuple(x.T) if kind == "ScatterND" else (x, np.arange(x.shape[1]))
    combine: Any = {"none": lambda old, new: new, "add": np.add, "max": np.maximum}[reduction]
    expected[at] = combine(data[at], updates)
    scatter = helper.make_node(kind, ["d", "x", "u"], ["y"], reduction=reduction)
    model = loaded([scatter], {"d": data, "u": updates}, x=x)
    compilation = nnapi.compile(model, find_device(device), cache=False)
    np.testing.assert_array_equal(compilation.run(x)[0], expected)
    for number in wrong:
        bad = x.copy()
        bad.reshape(-1)[-1] = number
        with pytest.raises(OpFailedError, match=rf"indices {re.escape(tensor)} are in .*{number}.*, must be in -"):
            compilation.run(bad)
