"""Commands that work for a device that is not here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app, check_examples, check_random
from nnapi.cli.options import add_profile
from nnapi.errors import Mistake
from nnapi.testing.conformance import ExampleSuite
from nnapi.testing.random.session import RandomSuite, Report

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
PROFILE = """
name = "phone"
feature_level = 4
performance.default.exec_time = 0.01
[operations]
CONV_2D = { types = ["TENSOR_QUANT8_ASYMM_SIGNED"] }
MAX_POOL_2D = { types = ["TENSOR_FLOAT32"] }
ADD = {}
"""


@pytest.fixture
def phone(tmp_path: Path) -> Path:
    path = tmp_path / "phone.toml"
    path.write_text(PROFILE)
    return path


def call(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


def test_names_of_devices() -> None:
    assert add_profile(None, None) is None
    assert add_profile(None, ["x"]) == ["x"]
    assert add_profile("arm_nn.toml", None) == ["arm_nn.toml", "nnapi-reference"]
    assert add_profile("arm_nn", ["x"]) == ["arm_nn.toml", "x"]
    with pytest.raises(Mistake, match="none.toml: no such profile"):
        add_profile("none", None)


def test_explain_says_what_is_split_and_why(phone: Path) -> None:
    result = call("explain", MODEL, "--profile", phone, "--json")
    assert result.exit_code == 0, result.output
    by_name = {each["operation"]: each for each in json.loads(result.stdout)["operations"]}
    assert by_name["CONV_2D"]["device"] == "phone"
    assert by_name["MAX_POOL_2D"]["device"] == by_name["FULLY_CONNECTED"]["device"] == "nnapi-reference"
    text = call("explain", MODEL, "--profile", phone).stdout
    assert "MAX_POOL_2D (#1): phone takes input as TENSOR_FLOAT32, not as TENSOR_QUANT8_ASYMM_SIGNED" in text
    assert "phone has no such operation" in text


def test_run_is_run_so(phone: Path) -> None:
    result = call("run", MODEL, "--profile", phone, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["devices"] == ["phone", "nnapi-reference"]
    alone = json.loads(call("run", MODEL, "--device", "nnapi-reference", "--json").stdout)
    assert told["runs"][0]["outputs"] == alone["runs"][0]["outputs"]


def test_check_is_run_so(phone: Path) -> None:
    result = call("check", "--filter", "add_*", "--variants", "plain", "--profile", phone)
    assert result.exit_code == 0, result.output
    assert "no run failed" in result.stdout


def test_processes_of_a_check_are_told_the_name_that_they_know(phone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def run(suite: ExampleSuite, *_: object) -> Iterator[Any]:
        asked.append(suite.devices)
        return iter(())

    monkeypatch.setattr(check_examples, "run", run)
    assert call("check", "--filter", "add_*", "--jobs", 2, "--profile", phone).exit_code == 0
    assert asked == [(str(phone), "nnapi-reference")]


def test_random_models_are_judged_by_the_name_that_other_processes_know(
    phone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def run(suite: RandomSuite, *_: object) -> Report:
        names.append(suite.device)
        return Report(suite.seed, suite.device)

    monkeypatch.setattr(check_random, "run", run)
    assert call("check", "--random", "--seconds", 0, "--profile", phone).exit_code == 0
    assert names == [str(phone), "nnapi-reference"]


def test_bench_has_a_row_for_it(phone: Path, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    arguments = ("--against", "none", "--only-latency", "--rounds", 1, "--output", file)
    result = call("bench", MODEL, "--profile", phone, *arguments)
    assert result.exit_code == 0, result.output
    (row,) = json.loads(file.read_text())["models"][0]["measurements"]
    assert row["devices"] == ["phone", "nnapi-reference"]


def test_a_bad_profile_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("nam = 3")
    for command in ("explain", "run", "bench"):
        result = call(command, MODEL, "--profile", path)
        assert result.exit_code == 3
        assert result.stderr == f"nnapi: {path}: name is missing\n"
