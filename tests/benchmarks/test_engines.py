"""The comparison of a folder is ``nnapi bench`` of its models, once for each number of threads."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import engines

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def test_the_commands() -> None:
    options = [
        str(DIGITS),
        "--threads",
        "1",
        "4",
        "--against",
        "litert",
        "openvino",
        "--seconds",
        "1",
        "--only",
        "quant",
    ]
    one, four = engines.commands(engines.parse([*options, "--json", "times.json", "--devices", "a", "b"]))
    assert one[:3] == ["bench", "run", str(DIGITS / "digits_quant.tflite")]
    assert one[3:4] == ["--only-latency"]
    said = dict(zip(four[4::2], four[5::2], strict=True))
    assert said == {
        "--threads": "4",
        "--rounds": "20",
        "--against": "litert,openvino",
        "--device": "b",
        "--output": "times-4.json",
    }
    assert four.count("--device") == 2


@pytest.mark.slow
@pytest.mark.engine
def test_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    options = [
        "--devices",
        "nnapi-reference",
        "--threads",
        "1",
        "--seconds",
        "0.02",
        "--json",
        str(tmp_path / "t.json"),
    ]
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["engines.py", str(DIGITS), *options])
    assert engines.main() == 0
    found = json.loads((tmp_path / "t-1.json").read_text())
    assert [model["name"] for model in found["models"]] == ["digits_float.tflite", "digits_quant.tflite"]
    for model in found["models"]:
        assert [row["engine"] for row in model["measurements"]] == ["nnapi nnapi-reference", "litert"]
        assert all(len(row["latency"]) == 3 and row["peak"] is None for row in model["measurements"])
    assert "geometric mean" in capfd.readouterr().out
