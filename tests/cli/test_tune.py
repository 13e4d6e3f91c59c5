"""``nnapi tune`` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))


def call(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["tune", *map(str, arguments)])


def test_it_says_what_it_chose() -> None:
    result = call(MODEL, MODEL, "--device", "nnapi-reference")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.partition(", in ")[0] for line in lines[::2]] == ["digits_quant.tflite"] * 2
    assert all(line.startswith("  everything on nnapi-reference: predicted ") for line in lines[1::2])


def test_json() -> None:
    found = json.loads(call(MODEL, "--json").stdout)
    assert found["machine"]["cores"]
    (told,) = found["models"]
    assert told["file"] == str(MODEL)
    assert told["seconds"] > 0
    assert {step["run"] for step in told["plan"]["steps"]} == {"nnapi-reference"}


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no_model.tflite").write_bytes(b"nothing")
    result = call(tmp_path / "no_model.tflite")
    assert result.exit_code
    assert "no_model.tflite" in result.stderr
