"""``nnapi bench`` as a user calls it, on a small model and few rounds."""

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nnapi import Device
from nnapi.cli import app, bench
from nnapi.report import benchmark
from nnapi.report.result import from_data

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODEL, FLOAT = DIGITS / "digits_quant.tflite", DIGITS / "digits_float.tflite"
QUICK = ("--rounds", "2", "--requests", "1", "--against", "none", "--device", "nnapi-reference")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process of its own for the memory, which takes a second; short rounds."""
    monkeypatch.setattr(benchmark, "peak_memory", lambda *_: (12_000_000, ""))
    short = {"block": 0.002, "throughput_seconds": 0.002, "throughput_rounds": 2}
    settings = benchmark.BenchmarkSettings
    monkeypatch.setattr(bench, "BenchmarkSettings", lambda **given: settings(**given, **short))  # type: ignore[arg-type]


def call(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["bench", *map(str, arguments)])


def written(*arguments: object, folder: Path) -> Any:
    result = call(MODEL, *QUICK, "--output", folder / "out.json", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads((folder / "out.json").read_text())


def test_table() -> None:
    result = call(MODEL, *QUICK)
    assert result.exit_code == 0, result.output
    heading, row = result.stdout.splitlines()[1:3]
    assert heading.split()[:5] == ["engine", "median", "minimum", "p90", "p99"]
    assert row.startswith("nnapi nnapi-reference")
    assert "12 MB" in row
    assert row.rstrip().endswith("equal")
    assert "1 thread, 2 rounds in turns, throughput with 1 request in flight" in result.stdout


def test_json(tmp_path: Path) -> None:
    found = written(folder=tmp_path)
    (row,) = found["models"][0]["measurements"]
    assert (row["engine"], row["devices"], len(row["latency"]), len(row["throughput"])) == (
        "nnapi nnapi-reference",
        ["nnapi-reference"],
        2,
        2,
    )
    assert row["agreement"]["largest"] == 0
    assert found["models"][0]["graph"]["operations"][0]["operation"] == "CONV_2D"
    assert found["settings"] == {"rounds": 2, "threads": 1, "requests": 1, "inputs": "random, seed 0"}
    assert from_data(found).models[0].measurements[0].median > 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_the_number_of_runs(tmp_path: Path) -> None:
    found = written("--runs", "5", folder=tmp_path)
    (row,) = found["models"][0]["measurements"]
    assert [len(round) for round in row["latency"]] == [3, 2]
    assert found["settings"]["runs"] == 5
    found = written("-r", "1", "--warmup", "0", folder=tmp_path)
    assert [len(round) for round in found["models"][0]["measurements"][0]["latency"]] == [1]
    assert (found["settings"]["rounds"], found["settings"]["warmup"]) == (1, 0)


def test_csv(tmp_path: Path) -> None:
    result = call(MODEL, FLOAT, *QUICK, "--runs", "4", "--csv", tmp_path / "table.csv")
    assert result.exit_code == 0, result.output
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["engine"], row["runs"]) for row in rows] == [
        ("digits_quant.tflite", "nnapi nnapi-reference", "4"),
        ("digits_float.tflite", "nnapi nnapi-reference", "4"),
    ]
    times = [float(rows[0][name]) for name in ("min_ms", "p50_ms", "p90_ms", "p99_ms")]
    assert times == sorted(times)
    assert (rows[0]["devices"], rows[0]["threads"], rows[0]["peak_bytes"]) == ("nnapi-reference", "1", "12000000")


def test_a_row_for_each_precision(tmp_path: Path) -> None:
    found = written("--precision", "float32,bfloat16", folder=tmp_path)
    rows = [row["engine"] for row in found["models"][0]["measurements"]]
    assert rows == ["nnapi nnapi-reference float32", "nnapi nnapi-reference bfloat16"]
    result = call(MODEL, *QUICK, "--precision", "half")
    assert "'half' is not one of 'float32', 'float16', 'bfloat16'" in result.stderr


def test_several_models_are_summed_up() -> None:
    result = call(MODEL, FLOAT, *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert sum("best other" in line and line.split()[:2] == ["model", "on"] for line in lines) == 1
    assert (
        sum(line.startswith("digits_quant.tflite") and " ms" in line and "nnapi-reference" in line for line in lines)
        == 1
    )
    assert "best other  × best" not in call(MODEL, *QUICK).stdout


def test_latency_alone(tmp_path: Path) -> None:
    words = [word for word in QUICK if word not in ("--requests", "1")]  # requests measure throughput
    result = call(MODEL, *words, "--only-latency", "--output", tmp_path / "out.json")
    assert result.exit_code == 0
    assert "in turns; " in result.stdout
    assert "in flight" not in result.stdout
    found = json.loads((tmp_path / "out.json").read_text())
    (row,) = found["models"][0]["measurements"]
    assert (row["peak"], row["throughput"], len(row["load"]), len(row["latency"])) == (None, [], 1, 2)
    assert found["models"][0]["graph"] is None


def test_html(tmp_path: Path) -> None:
    assert call(MODEL, FLOAT, *QUICK, "--html", tmp_path / "out.html").exit_code == 0
    page = (tmp_path / "out.html").read_text()
    assert "digits_quant.tflite" in page
    assert "digits_float.tflite" in page
    assert 'data-operation="0"' in page


def test_a_data_set(tmp_path: Path) -> None:
    with np.load(DIGITS / "digits_test.npz") as split:
        pairs = list(zip(split["images"][:12], split["labels"][:12].tolist(), strict=True))
    for number, (image, label) in enumerate(pairs):
        (tmp_path / "set" / str(label)).mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "set" / str(label) / f"{number}.npy", image.reshape(1, 8, 8, 1) / 16.0)
    found = written("--dataset", tmp_path / "set", folder=tmp_path)
    assert found["models"][0]["examples"] == 12
    assert found["models"][0]["measurements"][0]["accuracy"]["top-5"] == 1.0
    assert "top-1" in call(MODEL, *QUICK, "--dataset", tmp_path / "set").stdout


@pytest.mark.parametrize("suffix", [".png", ".npy"])
def test_a_data_set_whose_values_are_a_guess_has_a_note(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "set/3").mkdir(parents=True)
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8), np.uint8)
    if suffix == ".png":
        Image.fromarray(pixels).save(tmp_path / "set/3/a.png")
    else:
        np.save(tmp_path / "set/3/a.npy", pixels.reshape(1, 8, 8, 1) / np.float32(255))
    result = call(FLOAT, *QUICK, "--dataset", tmp_path / "set")
    assert result.exit_code == 0, result.output
    assert ("values of the data set's pictures are guessed: " in result.stdout) == (suffix == ".png")


def test_no_reference(tmp_path: Path) -> None:
    found = written("--no-reference", folder=tmp_path)
    assert found["models"][0]["measurements"][0]["agreement"] is None


def test_an_interrupted_run_keeps_what_it_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "measure_rate", stop)
    result = call(MODEL, FLOAT, *QUICK, "--output", tmp_path / "a.json", "--html", tmp_path / "a.html")
    assert result.exit_code == 130
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["is_interrupted"]
    assert len(found["models"]) == 1
    assert len(found["models"][0]["measurements"][0]["latency"]) == 2
    assert "was interrupted" in (tmp_path / "a.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("mask", ["{2}", "{}"], ids=["inside an engine", "in Python"])
def test_a_run_that_is_interrupted_anywhere_keeps_what_it_measured(mask: str, tmp_path: Path) -> None:
    hanging = f"""
import ctypes, signal, sys
import nnapi.report.benchmark as benchmark
from nnapi.cli import interruption

interruption.FINISHING = 300  # this machine may be busy

def hang(*_):
    signal.pthread_sigmask(signal.SIG_BLOCK, {mask})
    sys.stderr.write("hanging\\n")
    sys.stderr.flush()
    ctypes.CDLL(None).sleep(600)

benchmark.measure_rate = hang
sys.argv = ["nnapi", "bench", {str(MODEL)!r}, *{QUICK!r}, "-o", "a.json", "--html", "a.html"]
from nnapi.cli import main
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", hanging], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        assert "hanging\n" in iter(running.stderr.readline, "")
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 130
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["is_interrupted"]
    assert len(found["models"][0]["measurements"][0]["latency"]) == 2
    assert "was interrupted" in (tmp_path / "a.html").read_text()


def test_a_model_that_cannot_be_read_does_not_end_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"nothing" * 9)
    result = call(tmp_path / "bad.tflite", MODEL, *QUICK)
    assert result.exit_code == 3
    assert "bad.tflite" in result.stdout
    assert "nnapi nnapi-reference" in result.stdout


def test_absent_engines_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> str:
        raise ImportError("No module named 'litert'")

    monkeypatch.setattr(type(bench.OTHERS["litert"]), "version", missing)  # type: ignore[attr-defined]
    result = call(MODEL, *QUICK, "--against", "litert")
    assert "litert not measured: not installed: No module named 'litert'" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.tflite"], 2, "none.tflite: no such file"),
        ([MODEL, "--against", "tvm"], 2, "no engine tvm; there are: litert, openvino, onnxruntime"),
        ([MODEL, "--device", "mars"], 4, "no device 'mars'"),
        ([MODEL, "--dataset", "none"], 2, "none: no such folder"),
    ],
)
def test_mistakes_are_one_line(arguments: list[object], code: int, message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_is_that_of_the_measurement() -> None:
    said = call("--help").stdout
    assert "--rounds" in said
    assert "bench diff" in said


@pytest.mark.parametrize("content", [None, b"no model"])
def test_a_bad_file_keeps_none_from_being_measured(content: bytes | None, tmp_path: Path) -> None:
    bad, file = tmp_path / "bad.tflite", tmp_path / "out.json"
    if content:
        bad.write_bytes(content)
    result = call(bad, MODEL, *QUICK, "--output", file)
    assert (result.exit_code, result.stderr) == (3, "nnapi: 1 of 2 models failed\n")
    reason = "No such file" if content is None else "no model that can be read"
    assert reason in result.stdout
    first, second = json.loads(file.read_text())["models"]
    assert reason in first["notes"][0]
    assert second["measurements"][0]["latency"]


def test_no_time_of_a_substitute_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(MODEL, *QUICK, "--html", tmp_path / "timed.html").exit_code == 0
    monkeypatch.setattr(Device, "substitute", "only pretended")
    found = written("--html", tmp_path / "page.html", folder=tmp_path)["models"][0]
    (row,) = found["measurements"]
    assert (row["devices"], row["agreement"]["largest"]) == (["nnapi-reference"], 0)
    assert not any(row[times] for times in ("latency", "load", "compile", "throughput", "peak", "failure"))
    assert found["notes"] == ["nnapi-reference is only pretended"]
    assert found["timeline"] is None
    output = call(MODEL, *QUICK).stdout
    assert "equal" in output
    assert " ms" not in output
    assert "nnapi-reference is only pretended" in (tmp_path / "page.html").read_text()
