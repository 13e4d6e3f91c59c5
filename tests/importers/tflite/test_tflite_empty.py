"""Tensors without elements and files of constants only, against LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.tflite.against_litert import litert, loaded, run
from tests.tflite_writer import const, f32, single

X = np.arange(6, dtype=np.float32).reshape(2, 3)
STRIDED = [f32(2, 3), const([1, 0]), const([1, 3]), const([1, 1])]
CASES: list[tuple[bytes, list[Any]]] = [
    (single("ADD", [f32(2, 3).of(X), f32(2, 3).of(X)], f32(2, 3), "AddOptions"), []),
    (single("ADD", [f32(0, 3).of(X[:0]), f32(0, 3).of(X[:0])], f32(0, 3), "AddOptions"), []),
    (single("RELU", [f32(0, 3)], f32(0, 3)), [X[:0]]),
    (single("RESHAPE", [f32(0, 3), const([0])], f32(0)), [X[:0]]),
    (single("CONCATENATION", [f32(0, 3), f32(2, 3)], f32(2, 3), "ConcatenationOptions", Axis=0), [X[:0], X]),
    (single("STRIDED_SLICE", STRIDED, f32(0, 3), "StridedSliceOptions"), [X]),
    (single("SLICE", [f32(2, 3), const([1, 0]), const([0, 3])], f32(0, 3)), [X]),
    (single("SUM", [f32(0, 3), const([0])], f32(3), "ReducerOptions"), [X[:0]]),
]


@pytest.mark.parametrize(("content", "inputs"), CASES)
def test_shapes_are_litert_s(content: bytes, inputs: list[Any], tmp_path: Path) -> None:
    (found,) = run(loaded(content, tmp_path), inputs)
    (expected,) = litert(content, inputs)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.engine
@pytest.mark.parametrize(("content", "inputs"), CASES)
def test_the_drop_in(content: bytes, inputs: list[Any]) -> None:
    import nnapi.litert as ours

    interpreter = ours.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    (expected,) = litert(content, inputs)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
