"""`nnapi quantize`, and `nnapi compare` of a float model and a quantized one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import nnapi.cli.quantize
from nnapi.cli import app
from nnapi.cli.quantization_losses import LOWEST, UNKNOWN, name_level
from nnapi.runtime.choice.judge import Distance
from tools import size

DIGITS = size.REPOSITORY / "examples" / "digits"
FLOAT, QUANTIZED = DIGITS / "digits_float.tflite", DIGITS / "digits_quant.tflite"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (folder := tmp_path / "data").mkdir()
    with np.load(DIGITS / "digits_test.npz") as digits:
        for number in range(6):
            np.save(folder / f"{number}.npy", digits["images"][number].astype(np.float32).reshape(1, 8, 8, 1) / 16)
    return folder


@pytest.fixture
def quantizer(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the quantizer: it reads all samples, and returns the example's quantized file."""
    calls: list[Any] = []

    def quantize_file(file: Path, scheme: Any, samples: Any) -> bytes:
        calls.append((file, str(scheme), [[array.shape for array in arrays] for arrays in samples]))
        return QUANTIZED.read_bytes()

    monkeypatch.setattr(nnapi.cli.quantize, "quantize_file", quantize_file)
    return calls


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_file_the_losses_and_the_page(data: Path, quantizer: list[Any], tmp_path: Path) -> None:
    target, page = tmp_path / "out.tflite", tmp_path / "page.html"
    result = run("quantize", FLOAT, "--data", data, "-o", target, "--html", page, "--calibrate", 5)
    assert result.exit_code == 0, result.output
    assert quantizer == [(FLOAT, "static", [[(1, 8, 8, 1)]] * 5)]
    assert target.read_bytes() == QUANTIZED.read_bytes()
    first, second, heading, *rows = result.stdout.splitlines()
    assert first.startswith(f"written to {target}: ")
    assert first.endswith(", calibrated with 5 inputs")
    assert second.startswith("out.tflite compared with digits_float.tflite: ")
    assert "4 of 4 inputs with the same greatest score" in second
    assert heading.split() == ["#", "operation", "dB", "off", "by", "dB", "(whole)", "off", "by", "(whole)", "gives"]
    decibels = [float(row.split()[2]) for row in rows if row.split()[0].isdigit()]
    assert decibels == sorted(decibels)
    assert "40 dB or more" in page.read_text()
    assert "on the float model" in page.read_text()


def test_json(data: Path, quantizer: list[Any], tmp_path: Path) -> None:
    target = tmp_path / "out.tflite"
    found = json.loads(run("quantize", FLOAT, "--data", data, "-o", target, "--samples", 2, "--json").stdout)
    assert (found["format"], found["scheme"], found["inputs"]) == ("nnapi-quantize", "static", 6)
    assert found["bytes"] == QUANTIZED.stat().st_size
    assert found["loss"]["samples"] == 2
    words = ["quantize", FLOAT, "--data", data, "-o", target, "--scheme", "dynamic", "--samples", 2, "--json"]
    assert json.loads(run(*words).stdout)["inputs"] == 0  # it calibrates nothing
    assert {"number", "operation", "results", "alone", "whole"} == set(found["loss"]["operations"][0])


def test_no_measurement(data: Path, quantizer: list[Any], tmp_path: Path) -> None:
    result = run("quantize", FLOAT, "--data", data, "-o", tmp_path / "out.tflite", "--samples", 0)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    result = run("quantize", FLOAT, "-o", tmp_path / "out.tflite", "--scheme", "dynamic")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    assert quantizer[-1] == (FLOAT, "dynamic", [])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-o", "out.onnx", "--data", "."], "--output is out.onnx, must end in .tflite; nnapi export converts"),
        (["-o", "out.tflite"], "--scheme static needs --data, a folder of inputs; --scheme dynamic needs none"),
        (
            ["-o", "out.tflite", "--scheme", "dynamic", "--html", "page.html"],
            "--html has no effect: without --data there are no inputs",
        ),
        (["-o", "out.tflite", "--scheme", "weights", "--std", "2"], "--std has no effect: without --data"),
        (["-o", "out.tflite", "--data", ".", "--samples", "0", "--all"], "--all has no effect: --samples 0 measures"),
        (["-o", str(FLOAT), "--data", "."], "is the file that is read: name another file"),
        (["-o", "out.tflite", "--data", ".", "--range", "1"], "two different numbers"),
    ],
)
def test_mistakes(words: list[str], error: str, quantizer: list[Any]) -> None:
    result = run("quantize", FLOAT, *words)
    assert (result.exit_code, quantizer) == (2, [])
    assert error in result.stderr


def test_a_model_that_is_quantized_already(data: Path, quantizer: list[Any], tmp_path: Path) -> None:
    result = run("quantize", QUANTIZED, "--data", data, "-o", tmp_path / "out.tflite")
    assert (result.exit_code, quantizer) == (3, [])
    assert "digits_quant computes no floats: it is quantized already" in result.stderr


def test_an_input_that_cannot_be_read(data: Path, quantizer: list[Any], tmp_path: Path) -> None:
    (data / "3.npy").write_bytes(b"\x93NUMPY junk")
    result = run("quantize", FLOAT, "--data", data, "-o", tmp_path / "out.tflite")
    assert result.exit_code == 3
    assert "3.npy for image" in result.stderr
    assert not (tmp_path / "out.tflite").exists()


def test_no_loss(data: Path) -> None:
    result = run("compare", FLOAT, sorted(data.iterdir())[0], "--against", FLOAT)
    assert result.stdout.splitlines()[1:] == ["  no operation loses anything on equal inputs"]
    assert "Identity equal; 1 of 1 input" in result.stdout


def test_a_missing_library(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_quantizer", None)
    result = run("quantize", FLOAT, "--data", data, "-o", tmp_path / "out.tflite")
    words = "nnapi: quantizing a .tflite file needs ai-edge-quantizer: pip install 'nnapi[quantize]'\n"
    assert (result.exit_code, result.stderr) == (2, words)
    assert not (tmp_path / "out.tflite").exists()


def test_compare_with_a_quantized_model(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["compare", FLOAT, *sorted(data.iterdir())[:3], "--against", QUANTIZED]
    result = run(*words, "--all", "--html", page)
    assert result.exit_code == 0, result.output
    first, _, *rows = result.stdout.splitlines()
    assert first.startswith("digits_quant.tflite compared with digits_float.tflite: ")
    assert first.endswith("3 of 3 inputs with the same greatest score")
    assert sum(row.split()[0].isdigit() for row in rows) == len(nnapi.load(QUANTIZED).operations)
    assert page.read_text().count("CONV_2D") >= 2
    found = json.loads(run(*words, "--json").stdout)
    assert (found["format"], found["quantized"], found["samples"]) == ("nnapi-compare-quantized", str(QUANTIZED), 3)
    assert run(*words, "-d", "a", "-d", "b").exit_code == 2


def test_names_of_losses() -> None:
    distances = [None, Distance(0, False, None), *(Distance(1, False, each) for each in (40.0, 39.9, 10.0, 9.9, -3.0))]
    assert [name_level(each) for each in distances] == [
        UNKNOWN,
        "40 dB or more",
        "40 dB or more",
        "30 to 40 dB",
        "10 to 20 dB",
        LOWEST,
        LOWEST,
    ]
