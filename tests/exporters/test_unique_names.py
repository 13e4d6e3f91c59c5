"""Names in exported files: each tensor or value has its own, inputs and outputs keep theirs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.exporters.tflite.tensor_names import name_tensors
from nnapi.exporters.unique_names import UniqueNames
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from tests.exporters.exported_cases import list_names
from tests.nest_cases import nest

FLOATS, HALVES = nnapi.tensor("float32", (2, 3)), nnapi.tensor("float16", (2, 3))
X = np.array([[-3, -1, 0], [0.5, 2, 4]], np.float32)


def test_a_name_is_given_once() -> None:
    names = UniqueNames()
    assert [names.take(stem) for stem in ("x", "x", "x_1", "x", "y", "x_1")] == [
        "x",
        "x_1",
        "x_1_1",
        "x_2",
        "y",
        "x_1_2",
    ]


def test_tensors_are_named_by_what_they_are() -> None:
    x, middle, y, one = Tensor("f32", (2,), name="x"), Tensor("f32", (2,), name="x"), Tensor("f32", (2,)), constant([1])
    kept, cell, scale = Tensor("f32", (2,), name="kept"), Tensor("f32", (2,), is_variable=True), Tensor("i16", (1,))
    twice = Tensor("f32", (2,), name="kept")
    operators = [
        Operator("ADD", [x, one], [middle]),
        Operator("RELU", [middle], [twice]),
        Operator("SVDF", [twice, None, cell], [kept], intermediates=[scale]),
        Operator("RELU", [kept], [y]),
    ]
    name_tensors([Graph(operators, [x], [y])], [kept])
    tensors = (x, middle, y, one, kept, twice, cell, scale)
    assert [tensor.name for tensor in tensors] == (
        ["x", "x_1", "output_0", "constant", "kept", "kept_1", "state", "scale"]
    )


def softplus(b: nnapi.Builder) -> None:
    """The importers' formula for Softplus, with the same name for several steps."""
    x = b.input(FLOATS, name="x")
    positive = b.relu(x, name="step")
    small = b.log(b.add(b.exp(b.neg(b.abs(x, name="step"), name="step"), name="step"), np.ones(1, np.float32)))
    b.output(b.add(positive, small, name="y"))


def halves(b: nnapi.Builder) -> None:
    b.output(b.sqrt(b.hard_swish(b.input(HALVES, name="x")), name="y"))


def unnamed(b: nnapi.Builder) -> None:
    x, y = b.input(FLOATS), b.input(FLOATS)
    b.output(b.add(x, y), b.mul(x, y))


MODELS: dict[str, Callable[[nnapi.Builder], None]] = {"softplus": softplus, "halves": halves, "unnamed": unnamed}


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
@pytest.mark.parametrize("name", MODELS)
def test_each_tensor_of_a_file_has_a_name_of_its_own(name: str, suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
    b = nnapi.Builder()
    MODELS[name](b)
    model = b.finish()
    nnapi.export(model, tmp_path / f"out{suffix}")
    names = list_names(tmp_path / f"out{suffix}")
    assert len(set(names)) == len(names)
    assert all(names)
    again = nnapi.load(tmp_path / f"out{suffix}")
    if name != "unnamed":
        assert [info.name for info in (*again.input_info, *again.output_info)] == ["x", "y"]


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
def test_names_are_unique_in_nested_models_too(suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
    nnapi.export(nest(3), tmp_path / f"out{suffix}")
    names = list_names(tmp_path / f"out{suffix}")
    assert len(set(names)) == len(names) > 5
    assert all(names)


@pytest.mark.engine
def test_openvino_reads_the_file_as_it_is_meant(tmp_path: Path) -> None:
    """It finds tensors by name: of two with the same name it would read the wrong one."""
    pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")
    from nnapi.drivers.openvino.engine import core

    b = nnapi.Builder()
    softplus(b)
    model = b.finish()
    nnapi.export(model, tmp_path / "out.tflite")
    engine: Any = core()
    compiled = engine.compile_model(engine.read_model(tmp_path / "out.tflite"), "CPU")
    (y,) = compiled([X]).values()
    np.testing.assert_allclose(y, np.log1p(np.exp(X)), 1e-5, 1e-6)
