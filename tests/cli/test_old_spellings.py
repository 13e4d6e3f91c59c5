"""Options of nnapi 1.0 work as their new spellings do, and are told apart on standard error."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.cli.old_spellings import OLD, replace_old_spellings
from tools.automation import list_commands

DIGITS = str(Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite")
REFERENCE = "nnapi-reference"


def test_new_spellings_exist_and_old_ones_are_hidden() -> None:
    commands = list_commands()
    for name, spellings in OLD.items():
        options = {spelling for option in commands[name].params for spelling in option.opts}
        assert set(spellings.values()) <= options
        spellings = {old: new for old, new in spellings.items() if old != new}
        assert not set(spellings) & options
        shown = CliRunner().invoke(app, [*name.split(), "--help"]).output
        assert not [old for old in spellings if f"{old} " in shown]


@pytest.mark.parametrize(
    ("command", "words", "new"),
    [
        ("export", ["m", "--out", "x"], ["m", "--output", "x"]),
        ("export", ["m", "--out=x=y"], ["m", "--output", "x=y"]),
        ("export", ["m", "--out"], ["m", "--output"]),
        ("compare", ["m", "--devices", "a,b"], ["m", "--device", "a", "--device", "b"]),
        ("compare", ["m", "--", "--devices", "a,b"], ["m", "--", "--devices", "a,b"]),
        ("bench run", ["--precision", "a,b"], ["--precision", "a", "--precision", "b"]),
        ("run", ["m", "--out", "x"], ["m", "--out", "x"]),
    ],
)
def test_words(command: str, words: list[str], new: list[str]) -> None:
    assert replace_old_spellings(command, words)[0] == new


def test_a_list_with_commas_is_told_only_if_it_has_any() -> None:
    assert replace_old_spellings("bench run", ["--precision", "a"])[1] == []
    (message,) = replace_old_spellings("bench run", ["--precision", "a,b"])[1]
    assert message == "--precision is now repeated; a list with commas works until nnapi 2.0"


def test_an_old_spelling_works_with_one_line_on_standard_error(tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    result = CliRunner().invoke(app, ["export", DIGITS, "--out", str(out)])
    assert (result.exit_code, out.exists()) == (0, True)
    assert result.stderr == "nnapi: --out is now --output; the old spelling works until nnapi 2.0\n"


def test_a_list_with_commas_works() -> None:
    result = CliRunner().invoke(app, ["compare", DIGITS, "--devices", f"{REFERENCE},{REFERENCE}", "--json"])
    assert json.loads(result.stdout)["devices"] == [REFERENCE, REFERENCE]
    assert result.stderr == "nnapi: --devices is now --device; the old spelling works until nnapi 2.0\n"
