"""Names of files are bytes: every command reads and writes files whose names are not text in UTF-8."""

import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from nnapi.cli import app
from nnapi.testing.corpus import write
from tests.cli.test_check import relu
from tests.tflite_writer import Graph, f32
from tests.tflite_writer import write as write_model

BAD = os.fsdecode(b"n\xff")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model, its input, its labels, examples, a profile's table; no name is text."""
    folder = tmp_path / BAD
    folder.mkdir()
    x, y = f32(1, 4), f32(1, 4)
    content = write_model(Graph().operator("SOFTMAX", [x], [y], beta=1.0).between([x], [y]))
    (folder / f"m{BAD}.tflite").write_bytes(content)
    np.save(folder / f"i{BAD}.npy", np.zeros((1, 4), np.float32))
    (folder / f"l{BAD}.txt").write_text("a\nb\nc\nd\n")
    (folder / f"t{BAD}.csv").write_text("operation,type,supported\nCONV_2D,TENSOR_FLOAT32,yes\n")
    write(folder / f"e{BAD}.npz", [relu("relu", 0, 2)])
    return folder


def run(folder: Path, line: str) -> str:
    """Return the output of a command, whose standard output replaces what is not text, as that of a process does."""
    words = [word.replace("@", f"{folder}/").replace("*", BAD) for word in line.split()]
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "replace")
    with redirect_stdout(out):
        assert app(words, standalone_mode=False) == 0
    out.seek(0)
    return out.read()


@pytest.mark.parametrize(
    "lines",
    [
        "run @m*.tflite @i*.npy -o @o* --labels @l*.txt --as classification",
        "compare @m*.tflite @i*.npy --device nnapi-reference --html @c*.html",
        "tune @m*.tflite --input @i*.npy",
        "check @e*.npz -d nnapi-reference --variants plain -o @r*.json",
        "check --random --seconds 0 -d nnapi-reference --failures @f* -o @r*.json",
        "bench @m*.tflite -d nnapi-reference --against none --rounds 1 --only-latency --html @b*.html -o @b*.json; "
        "bench diff @b*.json @b*.json",
        "trace @m*.tflite -d nnapi-reference -o @t*.json; trace parse @t*.json",
        "devices --matrix @t*.csv --save-profile @p*.toml; run @m*.tflite --profile @p*.toml; "
        "explain @m*.tflite --profile @p*.toml; check @e*.npz --profile @p*.toml -o @r*.json",
        "info @e*.npz; export @e*.npz -o @x*",
        "cache list @; cache prune @",
    ],
)
def test_commands_take_such_names(folder: Path, lines: str) -> None:
    if "diff" in lines:
        pytest.importorskip("scipy")
    for line in lines.split("; "):
        run(folder, line)


def test_a_log_is_continued(folder: Path) -> None:
    line = "run @m*.tflite @i*.npy --jsonl @l*.jsonl"
    run(folder, line)
    assert "1 succeeded before" in run(folder, line)
    (found,) = map(json.loads, (folder / f"l{BAD}.jsonl").read_text().splitlines())
    assert (found["model"], found["files"]) == (f"m{BAD}.tflite", [str(folder / f"i{BAD}.npy")])


def test_json_files_hold_such_names(folder: Path) -> None:
    run(folder, "check @e*.npz -d nnapi-reference --variants plain -o @r*.json")
    assert json.loads((folder / f"r{BAD}.json").read_text())["corpus"] == str(folder / f"e{BAD}.npz")
