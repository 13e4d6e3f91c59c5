"""`nnapi compare --against` a recording: equal, beyond tolerance, and of something else."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.testing.corpus import write
from nnapi.testing.record import example_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2, 3)), name="x")
    builder.output(builder.mul(builder.add(x, x), x))
    nnapi.export(builder.finish(), path := tmp_path / "square.tflite")
    return path


def record(file: Path, folder: Path, off: float) -> Path:
    """Two runs of the model, the second off by so much in one place."""
    model, examples = nnapi.load(file), []
    for number in range(2):
        given = np.full((2, 3), number + 1, np.float32)
        right = (2 * given * given).astype(np.float32)
        right[1, 2] += off * number
        inputs, outputs = {model.inputs[0]: given}, {model.outputs[0]: right}
        examples.append(example_of(model, f"square_run_{number}", inputs, outputs))
    write(folder / "phone.npz", examples)
    return folder / "phone.npz"


def compare(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["compare", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def test_the_same(file: Path, tmp_path: Path) -> None:
    code, out, err = compare(file, "--against", record(file, tmp_path, 0))
    assert (code, err) == (0, "")
    assert out.startswith("square: nnapi-reference compared with phone.npz: no result differs in 2 runs\n")


def test_a_run_that_differs(file: Path, tmp_path: Path) -> None:
    phone = record(file, tmp_path, 0.5)
    code, out, _ = compare(file, "--against", phone, "--device", "nnapi-reference")
    assert code == 1
    assert "square_run_1 is the first that differs" in out
    code, out, _ = compare(file, "--against", phone, "--json")
    runs = json.loads(out)["runs"]
    assert (code, [run["distance"]["largest"] for run in runs]) == (1, [0, 0.5])
    assert [bool(run["reason"]) for run in runs] == [False, True]


def test_recordings_that_do_not_fit(file: Path, tmp_path: Path) -> None:
    phone = record(file, tmp_path, 0)
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (3, 2)), name="x")
    builder.output(builder.add(x, x))
    nnapi.export(builder.finish(), other := tmp_path / "other.tflite")
    code, _, err = compare(other, "--against", phone)
    assert (code, err) == (3, "nnapi: no run in phone.npz has the input and output types of other\n")
    assert compare(file, "--against", tmp_path / "none.npz")[2].endswith("none.npz: no such file or folder\n")
    code, _, err = compare(file, "--against", phone, "-d", "a", "-d", "b")
    assert (code, err) == (2, "nnapi: with a file in --against, give one --device, not 2\n")
    assert compare(file, file, "--against", phone)[2].startswith("nnapi: a recording contains its inputs")
