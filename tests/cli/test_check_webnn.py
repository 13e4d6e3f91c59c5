"""``nnapi check`` on the W3C's tests of WebNN."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from tests.testing.webnn.webnn_cases import described, tensor, write_tests

pytest.importorskip("onnx")

ON = ["--device", "nnapi-reference"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    x = {"x": tensor([-1, 2], 2)}
    right = described("relu", x, {"input": "x"}, tensor([0, 2], 2), "right relu")
    wrong = described("abs", x, {"input": "x"}, tensor([1, 3], 2), "wrong abs")
    refused = described("gruCell", x, {"input": "x"}, tensor([0, 2], 2), "refused cell")
    return write_tests(tmp_path / "tests.json", right, wrong, refused)


def test_verdicts_are_counted_and_reasons_printed(path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(path), *ON])
    assert result.exit_code == 1, result.output
    assert "1 test refused, gruCell: no rule converts gruCell" in result.output
    assert "wrong abs: y: 4194304 ULP off, 0 allowed" in result.output
    assert "1 test wrong" in result.output


def test_json_has_the_counts_of_each_operator(path: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(tmp_path), *ON, "--filter", "relu", "--json"])
    found = json.loads(result.output)
    assert result.exit_code == 0
    assert found["device"] == "nnapi-reference"
    assert found["failures"] == []
    counts = {"total": 1, "bit-equal": 1, "within tolerance": 0, "wrong": 0, "refused": 0}
    assert found["operators"] == {"relu": counts}


def test_options_of_other_examples_are_refused(path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(path), "--strict"])
    assert result.exit_code == 2
    assert "tests.json has tests of WebNN" in " ".join(result.output.split())
    result = CliRunner().invoke(app, ["check", str(path), "--filter", "nothing"])
    assert result.exit_code == 2
    assert "no test is named nothing" in " ".join(result.output.split())
