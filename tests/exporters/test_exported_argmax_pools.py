"""Pools with the positions of their maxima, and the reverse, as MaxPool and MaxUnpool; ONNX Runtime is the judge."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
import onnx

import nnapi
from nnapi.model.builder import Builder
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, tensor
from tests.exporters.exported_cases import run_onnxruntime
from tests.ops.composite_cases import model_of

RANDOM = np.random.default_rng(5)
WINDOWS = [
    ((2, 2), (2, 2), [[0, 0], [0, 0]]),
    ((3, 2), (1, 2), [[1, 2], [0, 1]]),
    ((2, 3), (3, 1), [[0, 1], [2, 0]]),
    ((5, 7), (2, 2), [[3, 2], [4, 5]]),
]
"""Sizes, strides and paddings of windows; the last is larger than the image."""


def export(model: Model, path: Path) -> list[str]:
    nnapi.export(model, path)
    return [node.op_type for node in onnx.load(path).graph.node]


def judge(model: Model, path: Path, *inputs: Any) -> None:
    """Compare the results of ONNX Runtime, and of the file read again, with those of the model."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    expected = list(nnapi.compile(model, "nnapi-reference", cache=False).run(*inputs))
    again = nnapi.compile(nnapi.load(path), "nnapi-reference", cache=False).run(*inputs)
    for found in (run_onnxruntime(path, inputs), list(again)):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("type", [tensor("float32"), tensor("quant8_asymm", (), 0.5, 7)], ids=["float32", "quant8"])
@pytest.mark.parametrize(("size", "strides", "paddings"), WINDOWS)
def test_positions_of_maxima_are_those_of_max_pool(
    size: Any, strides: Any, paddings: Any, type: OperandType, by_columns: bool, tmp_path: Path
) -> None:
    """Few different values, so that windows have several maxima."""
    x = RANDOM.integers(0, 4, (2, 6, 5, 3)).astype(type.dtype)

    def pool(b: Builder) -> Any:
        around, steps, window = (np.array(each, np.int32) for each in (paddings, strides, size))
        return b.argmax_pool_2d(b.input(type.with_dimensions(x.shape)), around, steps, window, by_columns)

    model = model_of(pool)
    kinds = export(model, tmp_path / "model.onnx")
    assert "MaxPool" in kinds
    assert "Where" not in kinds  # of the decomposition
    judge(model, tmp_path / "model.onnx", x)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("size", [(2, 2), (1, 3), (3, 2)])
def test_positions_outside_of_their_windows_write_nothing(size: Any, by_columns: bool, tmp_path: Path) -> None:
    x = RANDOM.normal(size=(2, 3, 4, 5)).astype(np.float32)
    positions = RANDOM.integers(-2, size[0] * size[1] + 2, x.shape).astype(np.int32)

    def unpool(b: Builder) -> Any:
        values, places = b.input(tensor("float32", x.shape)), b.input(tensor("int32", x.shape))
        return b.max_unpool_2d(values, places, np.array(size, np.int32), by_columns)

    model = model_of(unpool)
    assert export(model, tmp_path / "model.onnx").count("MaxUnpool") == 1
    judge(model, tmp_path / "model.onnx", x, positions)


def test_an_unpooled_image_has_its_maxima_at_their_places(tmp_path: Path) -> None:
    x = RANDOM.normal(size=(1, 8, 6, 4)).astype(np.float32)

    def pool_and_unpool(b: Builder) -> Any:
        two = np.array([2, 2], np.int32)
        largest, positions = b.argmax_pool_2d(
            b.input(tensor("float32", x.shape)), np.zeros((2, 2), np.int32), two, two, False
        )
        return b.max_unpool_2d(largest, positions, two, False)

    model = model_of(pool_and_unpool)
    kinds = export(model, tmp_path / "model.onnx")
    assert kinds.index("MaxPool") < kinds.index("MaxUnpool")
    judge(model, tmp_path / "model.onnx", x)
