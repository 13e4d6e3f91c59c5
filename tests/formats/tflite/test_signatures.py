"""Signatures of .tflite files: names of inputs and outputs besides those of tensors, read and written."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import tflite

import nnapi
from nnapi.formats.tflite.reader import File
from nnapi.model.lazy_model import LazyModel
from nnapi.model.model import Signature
from tests.tflite_writer import Graph, T, f32, write

NAMES = Signature("predict", (("weight", 1), ("image", 0)), (("scores", 0),))


def difference(folder: Path, signature: Signature | None, x: str = "x", y: str = "y") -> Path:
    """A model of two inputs written as a file, with a signature of its own, or one made of the operands' names."""
    builder = nnapi.Builder()
    ends = [builder.input(nnapi.tensor("float32", (2, 3)), name) for name in (x, y)]
    builder.output(builder.sub(*ends))  # type: ignore[arg-type]
    model = builder.finish()
    model.operands[model.outputs[0]].name = "difference"
    model.signature = signature
    nnapi.export(model, folder / "written.tflite")
    return folder / "written.tflite"


def test_a_signature_survives(tmp_path: Path) -> None:
    model = nnapi.load(difference(tmp_path, NAMES))
    assert model.signature == NAMES
    assert [model.operands[index].name for index in model.inputs] == ["x", "y"]
    nnapi.export(model, tmp_path / "again.tflite")
    assert nnapi.load(tmp_path / "again.tflite").signature == NAMES


@pytest.mark.engine
def test_litert_runs_by_the_names_of_a_signature(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    from ai_edge_litert.interpreter import Interpreter

    nnapi.export(nnapi.load(difference(tmp_path, NAMES)), tmp_path / "again.tflite")
    interpreter = Interpreter(str(tmp_path / "again.tflite"))
    assert interpreter.get_signature_list() == {"predict": {"inputs": ["image", "weight"], "outputs": ["scores"]}}
    image, weight = np.full((2, 3), 7, np.float32), np.full((2, 3), 2, np.float32)
    found = interpreter.get_signature_runner("predict")(image=image, weight=weight)
    np.testing.assert_array_equal(found["scores"], image - weight)


def test_without_one_the_names_of_operands_are_it(tmp_path: Path) -> None:
    expected = Signature("serving_default", (("x", 0), ("y", 1)), (("difference", 0),))
    assert nnapi.load(difference(tmp_path, None)).signature == expected
    assert nnapi.load(difference(tmp_path, None, "x", "x")).signature is None
    assert nnapi.load(difference(tmp_path, None, "")).signature is None


def test_a_model_that_is_described_late_has_its_signature(tmp_path: Path) -> None:
    path = difference(tmp_path, NAMES)
    whole = nnapi.load(path)
    late = LazyModel(
        "late",
        [whole.operands[index] for index in whole.inputs],
        [whole.operands[index] for index in whole.outputs],
        lambda: whole,
    )
    assert late.signature == NAMES


def test_the_signature_of_another_graph_or_of_other_tensors_is_none_of_the_model() -> None:
    x, y, z = f32(2, 3), T("FLOAT32", (2, 3), name="between"), f32(2, 3)
    first = Graph().operator("ABS", [x], [y], None).operator("ABS", [y], [z], None).between([x], [z])
    second = Graph(signature="other").operator("ABS", [x], [z], None).between([x], [z])
    assert File(memoryview(write(first, second))).signature(0) is None
    first.signature = "damaged"
    content = bytearray(write(first))
    assert File(memoryview(bytes(content))).signature(0) is not None
    end = tflite.Model.GetRootAs(content).SignatureDefs(0).Outputs(0)
    struct.pack_into("<I", content, end._tab.Pos + end._tab.Offset(6), 1)  # what lies between is no output
    assert File(memoryview(bytes(content))).signature(0) is None
