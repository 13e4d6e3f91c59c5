"""``nnapi tune`` as a user calls it."""

import errno
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record

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
    assert all(line.startswith("  chosen: everything on nnapi-reference: predicted ") for line in lines[1::2])


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


def test_a_plan_that_cannot_be_kept_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", "/dev/null/cache")
    result = call(MODEL)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("nnapi: the fastest plan is not kept for later compilations: /dev/null/cache")
    assert result.stderr.endswith(": Not a directory\n")


def test_a_full_file_system_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def tune(*given: Any, **named: Any) -> Any:
        keep_record(RecordKind.PLANS, "the plan", {})  # as if there were devices to choose from
        return whole(*given, **named)

    whole = nnapi.tune
    monkeypatch.setattr(nnapi, "tune", tune)
    monkeypatch.setattr("os.replace", fail)
    result = call(MODEL)
    assert result.exit_code == 2
    assert re.fullmatch(r"nnapi: the fastest plan is not kept .*: /.*: No space left on device\n", result.stderr)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_model_that_cannot_be_read_does_not_end_the_others(form: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"nothing")
    result = call(MODEL, tmp_path / "bad.tflite", MODEL, *form)
    assert result.exit_code == 3
    reason, summary = result.stderr.splitlines()
    assert reason.startswith(f"nnapi: {tmp_path / 'bad.tflite'}: ")
    assert summary == "nnapi: 1 of 3 models failed"
    if form:
        assert ["error" in each for each in json.loads(result.stdout)["models"]] == [False, True, False]
    else:
        assert result.stdout.count("digits_quant.tflite, in ") == 2
