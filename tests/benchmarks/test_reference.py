"""The benchmark of the reference device runs and measures what it says."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.warm_python import warm_python

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.engine
def test_digits() -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    model = REPOSITORY / "examples" / "digits" / "digits_quant.tflite"
    command = [
        warm_python(),
        str(REPOSITORY / "benchmarks" / "reference.py"),
        str(model),
        "--seconds",
        "0.1",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (one,) = found["models"]
    assert (one["model"], one["operations"]) == ("digits_quant", 7)
    assert one["rounds"] >= 10
    for times in (one["nnapi"], one["litert"], one["load"], one["compile"], found["import"]):
        assert 0 < times["minimum"] <= times["median"]
    assert one["ratio"]["median"] == pytest.approx(one["nnapi"]["median"] / one["litert"]["median"])
    assert 1e6 < one["peak"] < one["limit"]
    assert one["limit"] == 3 * model.stat().st_size + 8 * 8 * 16 + 4 * 4 * 32 + 60_000_000
    assert one["difference"] <= 3
