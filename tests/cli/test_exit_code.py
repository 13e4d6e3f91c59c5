"""Exit codes and JSON keys are those that docs/automation.md is made of."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.cli.failure import MEANINGS, ExitCode
from nnapi.cli.json_forms import FORMS

ROOT = Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "examples" / "digits" / "digits_quant.tflite")


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)


def test_every_form_is_described() -> None:
    commands = (ROOT / "src" / "nnapi" / "cli").rglob("*.py")
    printed = {
        name for file in commands for name in re.findall(r"(?:print|to)_json\(\s*\"([a-z-]+)\"", file.read_text())
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
