"""Descriptions in model files, and their effect on `nnapi run`."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.vision.file_metadata import Description, describe
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task
from tests.formats.tflite.metadata_cases import append_files, block
from tests.tflite_writer import Graph, const, f32, write


def classifier(metadata: bytes | None) -> bytes:
    """Two channels' means of a picture as probabilities."""
    given, means, result = f32(1, 4, 4, 3), f32(1, 3), f32(1, 3)
    graph = Graph().operator("MEAN", [given, const([1, 2])], [means], "ReducerOptions", KeepDims=False)
    graph.operator("SOFTMAX", [means], [result], "SoftmaxOptions", Beta=1.0)
    return write(graph.between([given], [result]), metadata=metadata)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tmp_path / "model.tflite"


@pytest.fixture
def green(tmp_path: Path) -> Path:
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[..., 1] = 200
    Image.fromarray(pixels).save(tmp_path / "green.png")
    return tmp_path / "green.png"


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["run", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def test_labels_and_normalization_are_those_of_the_file(model: Path, green: Path) -> None:
    data = block(mean=[10.0], std=[20.0], labels=[("labels.txt", "")])
    model.write_bytes(append_files(classifier(data), {"labels.txt": "red\ngreen\nblue\n"}))
    said = describe(model)
    assert (said.task, said.labels, said.pixels) == (
        Task.CLASSIFICATION,
        ("red", "green", "blue"),
        Pixels((10.0,), (20.0,)),
    )
    code, out, err = run(model, green)
    assert (code, err) == (0, "")
    assert out.startswith("green.png: green (100 %)")
    assert "pixels scaled to -0.5 to 12.25 (as the file says)" in out
    assert "pixels scaled to -0.5 to 127" in run(model, green, "--mean", "1", "--std", "2")[1]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (b"no block at all", "its metadata is not used: its bytes 4 to 8 are"),
        (block(labels=[("labels.txt", "")]), "its labels are not used: labels.txt, which it names, cannot be read"),
        (block(mean=[1.0], std=[0.0]), "its normalization is not used: it divides by 0"),
    ],
)
def test_what_is_broken_is_one_warning(model: Path, green: Path, damage: bytes, words: str) -> None:
    model.write_bytes(classifier(damage))
    code, out, err = run(model, green)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"nnapi: model.tflite: {words}")
    assert out.startswith("green.png: class 1 (")


def test_labels_of_another_number_are_not_used(model: Path, green: Path) -> None:
    data = block(labels=[("labels.txt", "")])
    model.write_bytes(append_files(classifier(data), {"labels.txt": "red"}))
    code, out, err = run(model, green)
    assert (code, out.startswith("green.png: class 1 (")) == (0, True)
    assert err == "nnapi: its labels are not used: the model's file names 1 class, the model distinguishes 3\n"


def test_sound_and_anchors(model: Path) -> None:
    model.write_bytes(append_files(classifier(block(content=4, rate=8000, labels=[("l", "")])), {"l": "a\nb\nc"}))
    assert (describe(model).task, describe(model).sample_rate) == (Task.AUDIO_EVENTS, 8000)
    model.write_bytes(classifier(block(anchors=[(0.5, 0.5, 1.0, 1.0)], threshold=0.75)))
    assert (describe(model).task, describe(model).threshold) == (Task.DETECTION, 0.75)


def test_files_that_say_nothing(model: Path) -> None:
    model.write_bytes(classifier(None))
    assert describe(model) == describe(model.with_name("missing.tflite")) == Description()


def test_properties_of_onnx(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Softmax", ["x"], ["y"])], "graph", ends[:1], ends[1:])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    file = tmp_path / "model.onnx"

    def describe_with(**facts: str) -> Description:
        onnx.helper.set_model_props(made, {key.replace("__", "."): value for key, value in facts.items()})
        onnx.save(made, file)
        return describe(file)

    said = describe_with(names="{0: 'red', 2: 'blue', 1: 'green'}", task="classify")
    assert (said.task, said.labels) == (Task.CLASSIFICATION, ("red", "green", "blue"))
    assert describe_with(names='["a", "b"]').labels == ("a", "b")
    assert describe_with(Image__NominalPixelRange="Normalized_0_1").pixels == Pixels((0.0,), (255.0,))
    for damaged in ("{0: ", "7", "{'x': 1}"):
        warning = "model.onnx: its labels are not used: names is neither a list nor a dictionary"
        assert (describe_with(names=damaged).labels, describe_with(names=damaged).warning) == ((), warning)
