"""The command with outputs that are closed, full or of few characters, and with names that are no text."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from nnapi.capi import installation
from tests.tflite_writer import Graph, f32, write
from tests.warm_python import warm_python

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def command(arguments: str, model: Path | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command run by a shell that may redirect its outputs."""
    line = f'exec "{warm_python()}" -m nnapi {arguments}'
    there = {**os.environ, "MODEL": os.fsdecode(model), **environment}
    return subprocess.run(["sh", "-c", line], env=there, capture_output=True, check=False)


def relu() -> bytes:
    x, y = f32(2, 3), f32(2, 3)
    return write(Graph().operator("RELU", [x], [y]).between([x], [y]))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "relu.tflite"
    file.write_bytes(relu())
    return file


@pytest.mark.parametrize("arguments", ["info", "explain", "run", "run --json"])
def test_a_closed_output_is_told(arguments: str, model: Path) -> None:
    done = command(f'{arguments} "$MODEL" >&-', model)
    assert (done.returncode, done.stderr) == (2, b"nnapi: standard output is closed\n")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ['info "$MODEL"', "--version", "info --help"])
def test_a_full_disk_is_told_once(arguments: str, model: Path) -> None:
    done = command(f"{arguments} >/dev/full", model)
    assert (done.returncode, done.stderr) == (2, b"nnapi: standard output: No space left on device\n")


@pytest.mark.slow
def test_nobody_misses_messages(model: Path) -> None:
    assert command('info "$MODEL" 2>&-', model).returncode == 0
    done = command("info nosuch 2>&-", model)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "--version",
        "--help",
        "run --help",
        "lib --include",
        "info MODEL",
        "info MODEL --json",
        "run MODEL",
        "explain MODEL",
        "cache list",
        "devices",
        "check --random --seconds 0 -d nnapi-reference -v",
    ],
)
def test_a_reader_that_wants_no_more_is_no_mistake(arguments: str, model: Path) -> None:
    """As after ``| head -1``. The code is not 1, which means that results differ."""
    if arguments.startswith("lib") and installation.library_problem():
        pytest.skip("the library is not built")
    reader, writer = os.pipe()
    os.close(reader)
    words = [str(model) if word == "MODEL" else word for word in arguments.split()]
    with open(writer, "wb") as gone:
        done = subprocess.run([warm_python(), "-m", "nnapi", *words], stdout=gone, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_characters_that_the_locale_lacks(model: Path) -> None:
    done = command('info "$MODEL"', model, **ASCII)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2?3" in done.stdout


@pytest.mark.slow
def test_json_is_whole_in_any_locale(model: Path) -> None:
    file = model.rename(model.with_name("größe.tflite"))
    done = command('info --json "$MODEL"', file, **ASCII)
    assert os.fsencode(json.loads(done.stdout)["model"]) == os.fsencode(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "info",
        "info --json",
        "explain",
        "explain --html page.html",
        "run",
        "run --json",
        "trace -o t.html --runs 1",
        "export -o out.tflite",
        "export -o out.onnx",
        "migrate -o migrated",
    ],
)
def test_names_that_are_no_text(arguments: str, tmp_path: Path) -> None:
    file = os.path.join(os.fsencode(tmp_path), b"bad\xff.tflite")
    with open(file, "wb") as out:
        out.write(relu())
    if "onnx" in arguments:
        pytest.importorskip("onnx", reason="onnx is not installed")
    if "migrate" in arguments:
        pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    first, _, rest = arguments.partition(" ")
    line = f'{first} "$MODEL" {rest.replace("-o ", f"-o {tmp_path}/").replace("--html ", f"--html {tmp_path}/")}'
    done = command(line, file)
    said = [line for line in done.stderr.splitlines() if not line.startswith(b"INFO: ")]  # of LiteRT itself
    assert (done.returncode, said) == (0, [])
    if "--json" in arguments:
        assert os.fsencode(json.loads(done.stdout)["model"]) == file


@pytest.mark.slow
def test_a_missing_file_whose_name_is_no_text(tmp_path: Path) -> None:
    done = command('info "$MODEL"', b"bad\xff.tflite")
    assert done.returncode == 2
    assert done.stderr == b"nnapi: bad?.tflite: No such file or directory\n"
