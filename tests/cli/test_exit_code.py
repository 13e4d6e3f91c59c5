"""Exit codes and JSON keys are those of docs/automation.md."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.cli.failure import ExitCode

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "automation.md").read_text(encoding="utf-8")
MODEL = str(ROOT / "examples" / "digits" / "digits_quant.tflite")


def test_the_page_lists_every_exit_code() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == [(str(int(code)), code.name) for code in ExitCode]


def test_the_page_lists_every_format() -> None:
    commands = (ROOT / "src" / "nnapi" / "cli").rglob("*.py")
    printed = {
        name for file in commands for name in re.findall(r"(?:print|to)_json\(\s*\"([a-z-]+)\"", file.read_text())
    }
    assert printed == set(re.findall(r"^\| `nnapi-([a-z-]+)` \|", PAGE, re.MULTILINE))


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
def test_the_page_lists_every_key(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    found = json.loads(result.stdout)
    row = re.search(rf"^\| `{found.pop('format')}` \| [^|]+ \| ([^;|]+)", PAGE, re.MULTILINE)
    assert row is not None
    assert found.pop("version") == 1
    assert list(found) == re.findall(r"`(\w+)`", row[1])
