"""The files that a model is calibrated with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.cli.calibration_inputs import CalibrationInputs, choose_evenly, list_samples
from nnapi.errors import Mistake
from nnapi.vision.pictures import PLAIN


def make_model(count: int) -> nnapi.Model:
    builder = nnapi.Builder()
    inputs = [builder.input(nnapi.tensor("float32", (2,)), name=f"x{number}") for number in range(count)]
    total = inputs[0]
    for each in inputs[1:]:
        total = builder.add(total, each)
    builder.output(builder.relu(total))
    return builder.finish()


def save(file: Path, value: float) -> Path:
    file.parent.mkdir(exist_ok=True, parents=True)
    np.save(file, np.full(2, value, np.float32))
    return file


def test_files_and_folders_of_classes(tmp_path: Path) -> None:
    files = [save(tmp_path / name, 1) for name in ("b.npy", "cats/a.npy", "dogs/c.npy")]
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden").mkdir()
    assert list_samples(make_model(1), tmp_path) == [[file] for file in files]


def test_a_folder_for_each_input(tmp_path: Path) -> None:
    for folder, value in (("1", 1.0), ("2", 2.0)):
        for name in ("a.npy", "b.npy"):
            save(tmp_path / folder / name, value)
    model = make_model(2)
    files = list_samples(model, tmp_path)
    read = [[array.tolist() for array in arrays] for arrays in CalibrationInputs(model, files, PLAIN)]
    assert read == [[[1.0, 1.0], [2.0, 2.0]]] * 2
    save(tmp_path / "2" / "c.npy", 2.0)
    with pytest.raises(Mistake, match="must have equally many files: 1 has 2, 2 has 3"):
        list_samples(model, tmp_path)
    with pytest.raises(Mistake, match="the model has 3 inputs, so --data needs a folder for each of them, not 2"):
        list_samples(make_model(3), tmp_path)


def test_folders_without_inputs(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="has no pictures, .npy or .wav files"):
        list_samples(make_model(1), tmp_path)
    with pytest.raises(Mistake, match="--data is .*absent, must be a folder"):
        list_samples(make_model(1), tmp_path / "absent")


def test_samples_at_equal_distances() -> None:
    samples = [[Path(str(number))] for number in range(10)]
    assert [each.name for (each,) in choose_evenly(samples, 4)] == ["0", "2", "5", "7"]
    assert choose_evenly(samples, 100) == samples


def test_each_sample_is_announced(tmp_path: Path) -> None:
    names: list[str] = []
    inputs = CalibrationInputs(make_model(1), [[save(tmp_path / "a.npy", 1)]], PLAIN, names.append)
    assert (len(list(inputs)), names, inputs.has_pictures) == (1, ["a.npy"], False)
    assert len(inputs.first(0)) == 0
