"""``nnapi check --random`` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_a_session_says_its_seed_and_what_came_of_it(tmp_path: Path) -> None:
    chosen = ("--device", "nnapi-reference", "--seed", 3, "--seconds", 3, "-v", "--filter", "RELU")
    result = call("--random", *chosen, "--failures", tmp_path / "failures", "--output", tmp_path / "out.json")
    assert result.exit_code == 0, result.output
    assert "nnapi-reference, seed 3:" in result.stdout
    assert "0 failed" in result.stdout
    assert "RELU" in result.stdout
    (said,) = json.loads((tmp_path / "out.json").read_text())["devices"]
    assert said["seed"] == 3
    assert said["agreed"] == said["operations"]["RELU"]["agreed"] > 0
    assert not (tmp_path / "failures").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--random", "corpus"), "--random generates its models: omit corpus"),
        (("--random", "--values", "odd"), "there is no kind of values odd; there are: ordinary, non-finite"),
        (("--random", "--filter", "conv"), "there is no operation conv"),
        (("--random", "--against", "tf"), "--against is tf, must be litert, onnxruntime, .tflite, .onnx"),
        (("--random", "--against", ".onnx", "-d", "xnnpack-cpu"), "--against tests files, not devices: omit --device"),
        (("--against", ".onnx"), "--against has no effect: it needs --random"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
def test_files_that_are_read_again_are_tested(suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
    chosen = ("--against", suffix, "--seed", 3, "--seconds", 3, "--filter", "RELU", "--failures", tmp_path)
    result = call("--random", *chosen)
    assert result.exit_code == 0, result.output
    assert f"{suffix}, seed 3:" in result.stdout
    assert " 0 agreed" not in result.stdout
