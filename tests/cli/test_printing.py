"""Words and numbers as they are printed."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.text import Text
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.cli.failure import warn
from nnapi.cli.printing import console, duration, print_json, table
from nnapi.printable import printable


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0000213, "0.0213 ms"), (0.1523, "152 ms"), (0.9999, "1 s"), (2.3149, "2.31 s"), (75, "75 s")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json("devices", {"a": [math.nan, 1.5, (math.inf,)], "b": "ü"})
    text = capsys.readouterr().out
    assert json.loads(text) == {"format": "nnapi-devices", "version": 1, "a": [None, 1.5, [None]], "b": "ü"}
    assert "ü" in text


HOSTILE = "x\x1b[2J\x07\r\x9b1A\u202e\n"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model whose names, those of its file and those of its classes are full of control characters."""
    folder = tmp_path_factory.mktemp("hostile")
    b = nnapi.Builder(HOSTILE)
    x = b.input(nnapi.tensor("float32", (1, 3)), name=HOSTILE)
    b.output(b.softmax(b.abs(x), 1.0))
    made = b.finish()
    for operand in made.operands:
        operand.name = f"{operand.index}{HOSTILE}"
    model, labels = folder / f"model{HOSTILE}.tflite", folder / f"labels{HOSTILE}.txt"
    nnapi.export(made, folder / "model.tflite")
    (folder / "model.tflite").rename(model)
    labels.write_text("".join(f"{name}{HOSTILE[:-1]}\n" for name in "abc"))
    return model, labels


@pytest.mark.parametrize(
    "words",
    [
        ("info", "MODEL"),
        ("info", "MODEL", "--json"),
        ("run", "MODEL", "--labels", "LABELS"),
        ("run", "MODEL", "--labels", "LABELS", "--json"),
        ("run", "MODEL", "LABELS"),
        ("run", "LABELS"),
        ("info", "MODEL.none"),
        ("explain", "MODEL"),
        ("bench", "MODEL", "--against", "none", "--rounds", "1"),
        ("compare", "MODEL", "-d", "nnapi-reference", "-d", "xnnpack-cpu"),
        ("trace", "MODEL"),
        ("export", "MODEL", "MODEL.tflite"),
        ("export", "MODEL", "MODEL.none"),
        ("tune", "MODEL"),
    ],
    ids=" ".join,
)
def test_control_characters_of_files_are_shown_and_not_obeyed(words: Sequence[str], hostile: tuple[Path, Path]) -> None:
    model, labels = map(str, hostile)
    command = [word.replace("MODEL", model).replace("LABELS", labels) for word in words]
    done = CliRunner(env={"COLUMNS": "250"}).invoke(app, command)
    assert done.output
    assert [c for c in set(done.stdout + done.stderr) if c != "\n" and printable(c) != c] == []
    assert not isinstance(done.exception, Exception), done.exception


def test_long_lines_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """In tables, texts and errors; a name may have millions of characters."""
    name = "n" * 3_000_000
    out = console()
    out.print(table("name", rows=[[name], [Text(name)]]))
    out.print(f"first\n{name}\nlast", soft_wrap=True)
    out.print(Text(name, "bold"), soft_wrap=True)
    warn(f"no device {name}")
    shown = capsys.readouterr()
    assert shown.out.replace("\n", "").count("n" * 100) < 100
    assert shown.out.count("…") == 4
    assert "first\n" in shown.out
    assert "…\nlast" in shown.out
    assert shown.err == f"nnapi: no device {'n' * 1990}…\n"


def test_many_lines_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(["l" * 1900] * 50)
    warn(text)
    assert capsys.readouterr().err == f"nnapi: {text}\n"
