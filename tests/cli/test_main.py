"""The command as a process, and what it says about itself."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi import cli
from nnapi.cli import COMMANDS, app, load_command
from tests.rows import each_row
from tests.warm_python import warm_python


def nnapi(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-m", "nnapi", *arguments], capture_output=True, text=True, check=False)


def test_module_is_the_command() -> None:
    done = nnapi(sys.executable, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"nnapi {version('nnapi')}\n", "")


@pytest.mark.slow
def test_mistake_in_a_process() -> None:
    done = nnapi(warm_python(), "info", "nowhere.tflite")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nnapi: nowhere.tflite: No such file or directory\n"


@pytest.mark.parametrize("name", ["bench", "check", "compare", "devices", "explain", "info", "run", "tune"])
def test_help_of_every_command(name: str) -> None:
    assert name in CliRunner().invoke(app, ["--help"]).stdout
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.stdout


@each_row("name", COMMANDS)
def test_help_of_all_says_how_each_begins_its_own(name: str) -> None:
    whole = " ".join(load_command(name).help.split())
    assert whole.startswith(COMMANDS[name])


def test_every_command_has_a_module_of_its_name() -> None:
    folder = Path(cli.__file__).parent
    assert all((folder / f"{name}.py").is_file() for name in COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "absent"),
    [(["--help"], {"numpy", "nnapi.cli.check"}), (["devices"], {"nnapi.cli.check", "nnapi.cli.costs", "scipy"})],
)
def test_a_command_loads_nothing_that_only_others_need(arguments: list[str], absent: set[str]) -> None:
    code = f"""
import sys
from nnapi import cli
from nnapi.cli import COMMANDS, app, load_command
app({arguments}, standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "nnapi.cli" in loaded
    assert not absent & loaded


def test_without_arguments_shows_help() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "devices" in result.output
    assert "nnapi: " not in result.output


@pytest.mark.slow
@pytest.mark.parametrize(("words", "expected"), [("nnapi ru", "run"), ("nnapi run --sco", "--score")])
def test_completion(words: str, expected: str) -> None:
    """Names of subcommands, and the options of those that are loaded only when they are called."""
    environment = {**os.environ, "_NNAPI_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" "))
    code = "from nnapi.cli import main; main()"
    done = subprocess.run([warm_python(), "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == [expected]


@pytest.mark.parametrize("line", ["info http://a.b/c", "run x.tflite https://a.b/c.png", "explain x --html=s3://a/b"])
def test_an_address_is_not_taken_for_a_path(line: str) -> None:
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert "://a" in result.stderr
    assert "is an address; nnapi reads files of this machine only" in result.stderr
