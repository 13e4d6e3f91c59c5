"""The model that comes with nnapi."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.samples import MODELS, find_input, find_sample
from tools import size

DIGITS = size.REPOSITORY / "examples" / "digits"


def test_the_files_are_those_of_the_example() -> None:
    model, scan = MODELS["digits"]
    assert model.read_bytes() == (DIGITS / "digits_quant.tflite").read_bytes()
    with np.load(DIGITS / "digits_test.npz") as digits:
        scans = digits["images"].astype(int) * 255 // 16
        (number,) = np.flatnonzero((scans == np.load(scan)[..., 0]).all(axis=(1, 2)))
        assert digits["labels"][number] == 9


@pytest.mark.parametrize("command", ["run", "info", "explain"])
def test_commands_accept_the_name(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [command, "digits", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["format"] == f"nnapi-{command}"


def test_the_first_run_reads_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["run", "digits", "--top", "1"])
    assert result.stdout.startswith("scan.npy: class 9 (100 %)")
    np.save(tmp_path / "black.npy", np.zeros((8, 8, 1), np.uint8))
    assert CliRunner().invoke(app, ["run", "digits", "black.npy"]).stdout.startswith("black.npy: ")


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    assert find_sample("digits") == MODELS["digits"][0]
    (tmp_path / "digits").rmdir()
    (tmp_path / "digits").touch()
    assert find_sample("digits") is None
    assert find_sample("letters") is None


def test_other_models_have_no_input() -> None:
    model, scan = MODELS["digits"]
    assert find_input(model) == scan
    assert find_input(DIGITS / "digits_quant.tflite") is None
