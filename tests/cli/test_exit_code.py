"""Exit codes and JSON keys are those that docs/automation.md is made of."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.cli.failure import MEANINGS, ExitCode
from tools.json_forms import FORMS

ROOT = Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "examples" / "digits" / "digits_quant.tflite")


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)


def test_every_form_is_described() -> None:
    commands = (ROOT / "src" / "nnapi" / "cli").rglob("*.py")
    printed = {
        name
        for file in commands
        for name in re.findall(r"(?:print_json|to_json|outputs\.write)\(\s*\"([a-z-]+)\"", file.read_text())
    }
    assert printed == set(FORMS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["devices"],
        ["devices", "--costs"],
        ["info", MODEL],
        ["explain", MODEL],
        ["compare", MODEL, "-d", "nnapi-reference", "-d", "nnapi-reference"],
        ["bench", MODEL, "--against", "none", "--rounds", "1", "--only-latency", "--device", "nnapi-reference"],
        ["run", MODEL],
        ["check", "--filter", "relu_float_1", "--device", "nnapi-reference", "--variants", "plain"],
        ["check", "--random", "--seconds", "0", "--device", "nnapi-reference"],
        ["tune", MODEL, "--device", "nnapi-reference"],
    ],
)
def test_every_key_is_described(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    found = json.loads(result.stdout)
    form = FORMS[found.pop("format").removeprefix("nnapi-")]
    assert found.pop("version") == 1
    assert tuple(found) == form.keys


@pytest.mark.parametrize(
    "line",
    [
        "info {0}.tflite",
        "explain {0}.tflite",
        "export {0}.tflite -o {0}.onnx",
        "compare {0}.tflite -d nnapi-reference",
        "compare {1} {0}.npy -d nnapi-reference",
        "compare {1} --against {0}.npz",
        "run {0}.tflite",
        "run {1} {0}.npy",
        "run {1} {0}.png",
        "run {1} {0}.wav",
        "run {1} --labels {0}.txt",
        "run {1} --jsonl {0}.jsonl",
        "tune {0}.tflite",
        "tune {1} --input {0}.npy",
        "trace {0}.tflite -o {0}.html",
        "trace parse {0}.html",
        "check {0}.npz",
        "check {0}",
        "bench diff {0}.json {0}.json",
        "bench {1} --dataset {0} --against none",
        "devices --matrix {0}.csv --save-profile {0}.toml",
        "explain {1} --profile {0}.toml",
    ],
)
def test_missing_files_and_wrong_contents_have_codes_of_their_own(line: str, tmp_path: Path) -> None:
    """The same kind of mistake ends all commands with the same code."""
    name = tmp_path / "bad"
    words = [word.format(name, MODEL) for word in line.split()]
    is_new = "--labels" not in line and "--jsonl" in line  # it is written
    if not is_new:
        missing = CliRunner().invoke(app, words)
        assert (missing.exit_code, missing.stderr.count("\n")) == (ExitCode.BAD_INPUT, 1), missing.output
    named = [Path(word) for word in words if Path(word).parent == tmp_path]
    for file in named:
        if file == name:
            file.mkdir()
            (file / "labels.csv").write_bytes(b"\xff\xfe")
            (file / "index.jsonl").write_bytes(b"\xff\xfe")
        else:
            file.write_bytes(b"\xff\xfe nothing\n")
    damaged = CliRunner().invoke(app, words)
    assert (damaged.exit_code, damaged.stderr.count("\n")) == (ExitCode.REFUSED, 1), damaged.output
