"""Results whose size depends on the data, and what reads them, in exported files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.operation_codes import CompositeCode as C
from tests.exporters.exported_cases import run_onnxruntime
from tests.importers.tflite.against_litert import litert
from tests.ops.kernel_cases import build, normal

I32 = np.int32
WHOLE = np.array([[-7, 9, 4], [0, 2, -3]], I32)
EQUAL = np.array([3, 1, 3, 2], I32)
ROWS = np.array([[1, 2], [0, 5], [1, 2]], np.float32)
BOXES, SCORES = np.abs(normal(2, 9, 4)), np.abs(normal(2, 2, 9))


def suppress(b: Any, x: Any, centered: bool = False) -> Any:
    return b.non_max_suppression(x, SCORES, 5, 0.5, 0.1, centered)


def look_up(b: Any, x: Any) -> Any:
    """The boxes that are kept."""
    rows = b.slice(suppress(b, x), [0, 2], [-1, 1])
    return b.gather(b.reshape(x, [18, 4]), 0, b.reshape(rows, [-1]))


def filter_positive(b: Any, x: Any) -> Any:
    """Twice the positive elements."""
    where = b.nonzero(b.greater(x, np.zeros(1, np.float32)))
    return b.mul(b.gather(x, 0, b.reshape(where, [-1])), np.array([2], np.float32))


CASES = {
    "boxes": (suppress, BOXES, [C.NON_MAX_SUPPRESSION]),
    "centered boxes": (lambda b, x: suppress(b, x, True), BOXES, [C.NON_MAX_SUPPRESSION]),
    "float16 boxes": (
        lambda b, x: b.non_max_suppression(x, SCORES.astype(np.float16), 5, 0.5, 0.1, False),
        BOXES.astype(np.float16),
        [C.NON_MAX_SUPPRESSION],
    ),
    "kept boxes": (look_up, BOXES, [C.NON_MAX_SUPPRESSION]),
    "positions": (lambda b, x: b.nonzero(x), WHOLE, [C.NONZERO]),
    "float16 positions": (lambda b, x: b.nonzero(x), np.array([0, 1.5, -0.0, 2], np.float16), [C.NONZERO]),
    "positive elements": (filter_positive, normal(9), [C.NONZERO]),
    "their shape": (lambda b, x: b.shape(b.nonzero(x)), WHOLE, [C.NONZERO, C.SHAPE]),
    "different integers": (lambda b, x: b.unique(x, 0, True)[0], EQUAL, [C.UNIQUE]),
    "first positions": (lambda b, x: b.unique(x, 0, False)[1], EQUAL, [C.UNIQUE]),
    "inverse": (lambda b, x: b.unique(x, -1, False)[2], EQUAL, [C.UNIQUE]),
    "counts of rows": (lambda b, x: b.unique(x, 0, True)[3], ROWS, [C.UNIQUE]),
    "different rows": (lambda b, x: b.neg(b.unique(x, 0, True)[0]), ROWS, [C.UNIQUE]),
    "float16 rows": (lambda b, x: b.unique(x, 0, True)[0], ROWS.astype(np.float16), [C.UNIQUE]),
    "repeated": (lambda b, x: b.tile(b.unique(x, 0, True)[0], np.array([2], I32)), EQUAL, [C.UNIQUE]),
    "integers": (lambda b, x: b.range(x, np.array([9], I32), np.array([2], I32)), np.array([1], I32), [C.RANGE]),
    "no integers": (lambda b, x: b.range(x, np.array([9], I32), np.array([2], I32)), np.array([10], I32), [C.RANGE]),
    "sum": (lambda b, x: b.add(b.range(x, np.array([9], I32), np.array([2], I32)), x), np.array([1], I32), [C.RANGE]),
    "halves": (
        lambda b, x: b.range(x, np.array([9], np.float16), np.array([2.5], np.float16)),
        np.array([1], np.float16),
        [C.RANGE],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_depend_on_the_data_in_onnx_files(name: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    make, x, codes = CASES[name]
    model, path = build(make, [x]), tmp_path / "model.onnx"
    nnapi.export(model, path)
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    (output,) = onnx.load(path).graph.output
    stated = [each.dim_value or None for each in output.type.tensor_type.shape.dim]
    assert len(stated) == expected.ndim
    assert all(size in (None, own) for size, own in zip(stated, expected.shape, strict=True))
    again = nnapi.load(path)
    assert [call.code for call in again.operations if call.code in codes] == codes
    np.testing.assert_array_equal(nnapi.compile(again, "nnapi-reference").run(x)[0], expected)
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    np.testing.assert_array_equal(run_onnxruntime(path, [x])[0], expected)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2][0] in (C.NONZERO, C.RANGE)])
def test_sizes_that_depend_on_the_data_in_tflite_files(name: str, tmp_path: Path) -> None:
    make, x, codes = CASES[name]
    model, path = build(make, [x]), tmp_path / "model.tflite"
    nnapi.export(model, path)
    (expected,) = nnapi.compile(model, "nnapi-reference").run(x)
    again = nnapi.load(path)
    assert codes[0] in [call.code for call in again.operations]
    np.testing.assert_array_equal(nnapi.compile(again, "nnapi-reference").run(x)[0], expected)
    if expected.size:  # LiteRT's interpreter returns no empty array
        (found,) = litert(path.read_bytes(), [x])
        np.testing.assert_array_equal(found, expected)


def test_the_shape_of_a_dynamic_input_in_a_tflite_file(tmp_path: Path) -> None:
    """It is an output, not only the shape that a RESHAPE takes."""
    b = nnapi.Builder()
    b.output(b.shape(b.input(nnapi.tensor("float32", (0, 3)), "rows")))
    nnapi.export(b.finish(), tmp_path / "model.tflite")
    again = nnapi.load(tmp_path / "model.tflite")
    assert nnapi.compile(again, "nnapi-reference").run(normal(5, 3))[0].tolist() == [5, 3]


def test_a_constant_that_depends_on_an_unknown_size_is_refused(tmp_path: Path) -> None:
    """The size is unknown in a branch, not in the model's inputs and outputs."""
    pytest.importorskip("onnx", reason="onnx is not installed")

    def branch(finds_largest: bool) -> nnapi.Model:
        b = nnapi.Builder()
        x = b.input(nnapi.tensor("float32", (1, 4)))
        different = b.unique(x, 1, True)[0]
        b.output(b.topk_v2(different, 1)[0] if finds_largest else b.slice(x, [0, 0], [1, 1]))
        return b.finish()

    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", (1, 4)))
    condition = b.input(nnapi.tensor("bool8", (1,)))
    b.output(*b.if_(condition, branch(True), branch(False), x))
    with pytest.raises(nnapi.BadDataError, match="a constant of Sub depends on dynamic dimensions"):
        nnapi.export(b.finish(), tmp_path / "model.onnx")
