"""``nnapi export``."""

from pathlib import Path

from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.testing.corpus import write
from tests.cli.test_check import relu
from tests.tflite_writer import f32, single


def test_a_model_is_written(tmp_path: Path) -> None:
    (tmp_path / "given.tflite").write_bytes(single("ABS", [f32(2)], f32(2)))
    out = tmp_path / "out.tflite"
    done = CliRunner().invoke(app, ["export", str(tmp_path / "given.tflite"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert [call.name for call in nnapi.load(out).operations] == ["ABS"]


def test_another_suffix_is_a_wrong_option(tmp_path: Path) -> None:
    (tmp_path / "given.tflite").write_bytes(single("ABS", [f32(2)], f32(2)))
    done = CliRunner().invoke(app, ["export", str(tmp_path / "given.tflite"), "-o", str(tmp_path / "out.txt")])
    assert done.exit_code == 2
    assert "must be an existing folder or end in .tflite or .onnx" in done.stderr


def test_every_model_of_a_recording_goes_to_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "right.npz", [relu("relu_one", 0, 2), relu("relu_two", 0, 2)])
    out = tmp_path / "models"
    done = CliRunner().invoke(app, ["export", str(tmp_path / "right.npz"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert [[call.name for call in nnapi.load(path).operations] for path in sorted(out.iterdir())] == [["RELU"]] * 2


def test_a_recording_is_not_written_to_one_file(tmp_path: Path) -> None:
    write(tmp_path / "right.npz", [relu("relu_one", 0, 2), relu("relu_two", 0, 2)])
    done = CliRunner().invoke(app, ["export", str(tmp_path / "right.npz"), "-o", str(tmp_path / "one.tflite")])
    assert done.exit_code != 0
    assert not (tmp_path / "one.tflite").exists()


def test_models_of_a_recording_that_cannot_be_written_are_listed(tmp_path: Path) -> None:
    unwritable = relu("rank", 0, 2)
    write(tmp_path / "some.npz", [unwritable, relu("relu_two", 0, 2)])
    out = tmp_path / "models"
    done = CliRunner().invoke(app, ["export", str(tmp_path / "some.npz"), "-o", str(out), "--format", "onyx"])
    assert done.exit_code != 0
    assert "--format is onyx, must be tflite or onnx" in done.output.replace("\n", " ")
    assert not out.exists()
