"""The command as a process, and what it says about itself."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from nnapi.cli import app


def nnapi(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "nnapi", *arguments], capture_output=True, text=True, check=False)


def test_module_is_the_command() -> None:
    done = nnapi("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"nnapi {version('nnapi')}\n", "")


def test_mistake_in_a_process() -> None:
    done = nnapi("info", "nowhere.tflite")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nnapi: nowhere.tflite: No such file or directory\n"


@pytest.mark.parametrize("name", ["check", "devices", "info", "run"])
def test_help_of_every_command(name: str) -> None:
    assert name in CliRunner().invoke(app, ["--help"]).stdout
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.stdout


def test_without_arguments_shows_help() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "devices" in result.output
    assert "nnapi: " not in result.output
