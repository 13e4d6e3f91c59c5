"""The benchmarks of the runtime run, and keep the promises that do not depend on how busy the machine is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.partition import find_broken

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).parents[2]


def measured(name: str, *arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
    command = [sys.executable, str(REPOSITORY / "benchmarks" / f"{name}.py"), *arguments, "--json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode in codes, done.stderr + done.stdout
    assert done.stdout, done.stderr  # 1 is also what Python ends with after a traceback
    return json.loads(done.stdout)


def test_partition() -> None:
    found = measured("partition", "--graphs", "15", "--rounds", "1")
    two, three = found["quality"]
    assert (two["optimal"], two["graphs"]) == (15, 15)
    assert three["mean_ratio"] < 1.05
    assert three["worse_than_one_device"] == 0
    assert [row["operations"] for row in found["times"]] == [100, 100, 300, 300]


def test_partition_says_which_promise_is_broken() -> None:
    good = {"optimal": 5, "graphs": 5, "mean_ratio": 1.01, "worse_than_one_device": 0}
    assert find_broken([good, good]) == []
    assert find_broken([good | {"optimal": 3}, good | {"mean_ratio": 1.2, "worse_than_one_device": 1}]) == [
        "with two devices 2 of 5 plans are not the cheapest",
        "with three devices 1 plans are worse than the best single device",
        "with three devices the mean ratio to the cheapest is 1.20000, not below 1.05",
    ]


def test_state() -> None:
    (row,) = measured("state", "--steps", "5", "--elements", "65536")
    assert row["is_passed"]
    assert row["bytes"] == 1 << 18
    assert row["opaque"] > 0
    assert row["buffers"] > 0


def test_leaks() -> None:
    found = measured("leaks", "--executions", "20", "--faults", "none", "RAISES", codes=(0, 1))["measured"]
    assert {row["fault"] for row in found} == {"none", "RAISES"}
    assert len({row["way"] for row in found}) == 8
    assert all(row["descriptors"] <= 0 for row in found)


def test_overheads() -> None:
    found = measured("overheads", "--number", "5", codes=(0, 1))
    promised = {row["name"]: row["limit"] for row in found["ways"] if row["limit"]}
    assert promised["burst.run"] == 12
    assert promised["execution.compute, prepared buffers"] == 25
    assert promised["execution.start_compute and wait"] == 60
    assert all(0 < row["minimum"] <= row["median"] for row in found["ways"] + found["layers"])


def test_tracing() -> None:
    digits = REPOSITORY / "examples" / "digits" / "digits_quant.tflite"
    found = measured("tracing", str(digits), "--pairs", "3", codes=(0, 1))
    assert "nanoseconds" in found["section, off"]
    assert found["off, one ADD"]["plain"] > 0
    covered = [row["covered"] for name, row in found.items() if name.startswith("on, ")]
    assert covered
    assert all(0 < part <= 1 for part in covered)


def test_threads() -> None:
    found = measured("threads", "--executions", "30")
    assert [(row["asked"], row["right"]) for row in found] == [(240, 240)] * 3
