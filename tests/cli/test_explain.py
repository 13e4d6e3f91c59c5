"""``nnapi explain`` as a user calls it."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from nnapi.cli import app

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"


def call(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["explain", *map(str, arguments)])


def test_text() -> None:
    result = call(MODEL, "--device", "nnapi-reference")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("nnapi-reference ")
    assert lines[0].endswith("operations in 1 partition")
    assert any("CONV_2D" in line and "→ nnapi-reference" in line for line in lines)


def test_json() -> None:
    result = call(MODEL, "--device", "nnapi-reference", "--json")
    told = json.loads(result.stdout)
    assert told["operations"][0]["device"] == "nnapi-reference"
    assert told["edges"][0]["from"] is None


def test_html(tmp_path: Path) -> None:
    result = call(MODEL, "--html", tmp_path / "plan.html")
    assert result.exit_code == 0, result.output
    assert "plan.html" in result.stdout
    assert 'data-operation="0"' in (tmp_path / "plan.html").read_text()


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    for arguments, code, message in (
        ([MODEL, "--device", "mars"], 4, "no device 'mars'"),
        ([MODEL, "--html", tmp_path / "no" / "where.html"], 2, "No such file or directory"),
        ([tmp_path / "none.tflite"], 2, "No such file"),
    ):
        result = call(*arguments)
        assert result.exit_code == code
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_precision_is_explained() -> None:
    result = call(MODEL, "--device", "nnapi-reference", "--precision", "bfloat16")
    assert "nnapi-reference computes float32 in float32: it has no other precision" in result.stdout
    assert json.loads(call(MODEL, "--precision", "float16", "--json").stdout)["notes"]
    assert call(MODEL, "--precision", "half").exit_code == 2
