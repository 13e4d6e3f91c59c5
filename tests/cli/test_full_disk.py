"""Each option that names a file or a folder to write: a full disk names the file, and leaves what was there."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from tests.disk_cases import full_disk
from tests.testing.flawed_device_cases import perform_here, write_examples
from tools.automation import list_options, name_option

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
REFERENCE = "-d nnapi-reference"
CHECK = f"check @e.npz --variants plain {REFERENCE}"
LINES = {
    ("bench run", "--csv"): f"bench @m.tflite {REFERENCE} --against none --rounds 1 --only-latency --csv @out.csv",
    ("bench run", "--html"): f"bench @m.tflite {REFERENCE} --against none --rounds 1 --only-latency --html @out.html",
    ("bench run", "--output"): f"bench @m.tflite {REFERENCE} --against none --rounds 1 --only-latency -o @out.json",
    ("check run", "--csv"): f"{CHECK} --csv @out.csv",
    ("check run", "--html"): f"{CHECK} --html @out.html",
    ("check run", "--junit"): f"{CHECK} --junit @out.xml",
    ("check run", "--output"): f"{CHECK} -o @out.json",
    ("check run", "--resume"): f"{CHECK} --resume @out.jsonl",
    ("check run", "--save-baseline"): f"{CHECK} --save-baseline @out.csv",
    ("check page", "--output"): "check page @c.json -o @out.html",
    ("compare", "--html"): f"compare @m.tflite {REFERENCE} --html @out.html",
    ("devices", "--save-profile"): "devices --matrix @m.csv --save-profile @out.toml",
    ("explain", "--html"): f"explain @m.tflite {REFERENCE} --html @out.html",
    ("export", "--output"): "export @m.tflite -o @out.tflite",
    ("golden", "--output"): "golden @m.tflite @x.npy -o @folder",
    ("run", "--jsonl"): f"run @m.tflite @x.npy {REFERENCE} --jsonl @out.jsonl",
    ("run", "--output"): f"run @m.tflite @x.npy {REFERENCE} -o @folder",
    ("run", "--picture"): f"run @m.tflite @x.png {REFERENCE} --picture @out.png",
    ("view", "--node-data"): f"view @m.tflite {REFERENCE} --node-data @out.json -o @page.html",
    ("view", "--output"): f"view @m.tflite {REFERENCE} -o @out.html",
    ("trace record", "--output"): f"trace @m.tflite {REFERENCE} -o @out.html --runs 1",
}
ELSEWHERE = {
    ("check run", "--failures"): "it is written as all examples are",
    **dict.fromkeys([("check run", f"--{name}") for name in ("baseline", "flakes", "skip")], "it is read"),
    ("migrate", "--html"): "it needs LiteRT; it is written as all pages are",
    ("migrate", "--output"): "tests/cli/test_migrate.py",
    ("phone push", "--binary"): "it is read",
    ("quantize", "--html"): "it needs a quantizer; it is written as all pages are",
    ("quantize", "--output"): "it needs a quantizer; it is written as all files are",
    ("quantize", "--data"): "it is read",
    ("strace", "--output"): "it needs the C library; tools/endings.py",
    **dict.fromkeys([("bench run", "--dataset"), ("bench run", "--labels"), ("run", "--labels")], "it is read"),
    **dict.fromkeys([("devices", "--matrix"), ("tune", "--input")], "it is read"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.tflite").write_bytes(DIGITS.read_bytes())
    np.save(tmp_path / "x.npy", np.zeros((1, 8, 8, 1), np.int8))
    (tmp_path / "m.csv").write_text("operation,type,supported\nCONV_2D,TENSOR_FLOAT32,yes\n")
    write_examples(tmp_path / "e.npz", "RELU")
    (tmp_path / "c.json").write_text('{"format": "nnapi-check", "device": null, "results": []}')
    from PIL import Image

    Image.new("L", (8, 8)).save(tmp_path / "x.png")
    return tmp_path


def test_every_option_that_names_a_file_is_tested() -> None:
    files = {(name, name_option(option)) for name, option in list_options() if option.type.name == "path"}
    assert files == {*LINES, *ELSEWHERE}


@pytest.mark.parametrize("line", LINES.values(), ids=map(" ".join, LINES))
def test_a_full_disk(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perform_here(monkeypatch)
    before = {path for path in folder.rglob("*") if path.is_file()}
    words = [word.replace("@", f"{folder}/") for word in line.split()]
    with nnapi.settings(tuning=False), full_disk():
        result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.output
    name = next((word for word in words if Path(word).name.startswith(("out", "folder"))), "")
    assert result.stderr.startswith(f"nnapi: {name}")
    assert result.stderr.endswith(": File too large\n")
    assert {path for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("line", ["export @m.tflite -o @out.tflite", f"explain @m.tflite {REFERENCE} --html @out.html"])
def test_the_old_file_stays(line: str, folder: Path) -> None:
    out = folder / line.rpartition("@")[2]
    out.write_text("old")
    with nnapi.settings(tuning=False), full_disk(), contextlib.suppress(SystemExit):
        CliRunner().invoke(app, [word.replace("@", f"{folder}/") for word in line.split()])
    assert out.read_text() == "old"
