"""Quantized results are within one code of LiteRT's, and the benchmark that says so notices when they are not."""

import importlib
import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.warm_python import warm_python

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "litert_codes.py"
EXACT = {"AVERAGE_POOL_2D", "MAX_POOL_2D"}
"""Operations whose results are equal, not just close."""


def run(*options: str) -> tuple[int, list[dict]]:
    command = [warm_python(), str(SCRIPT), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # the module sets them too; programs of later tests do not inherit them
    return importlib.import_module("benchmarks.litert_codes")


@pytest.mark.slow
def test_random_models_are_within_one_code() -> None:
    code, rows = run("--models", "100", "--seed", "3")
    assert code == 0
    assert len(rows) == 25
    total = [0, 0]
    for row in rows:
        assert row["violations"] == []
        assert row["models"] == 4
        within = 0 if row["kind"]["operation"] in EXACT else 1
        assert row["builtin"]["largest"] <= within, row
        total[0] += row["builtin"]["equal"]
        total[1] += row["builtin"]["elements"]
        assert row["saturated"] < row["builtin"]["elements"], row  # clamped results prove nothing
    assert total[0] > 0.99 * total[1]


@pytest.mark.slow
def test_what_cannot_be_compared_is_a_failure() -> None:
    code, rows = run("--models", "2", "--device", "nowhere")
    assert code == 1
    assert "nowhere" in rows[0]["violations"][0]


def test_two_codes_off_is_a_failure(benchmark: ModuleType) -> None:
    row = benchmark.Row(benchmark.KINDS[0])
    for largest in (0, 1, 2):
        apart = {"elements": 10, "equal": 9, "largest": largest}
        row.add({"number": 7, "builtin": apart, "reference": apart, "between": apart, "saturated": 3})
        assert row.is_right == (largest < 2)
    assert row.violations == ["model 7: differs by 2 LSB"]
    assert (row.models, row.saturated, row.builtin.share) == (3, 9, 0.9)


def test_a_process_that_dies_is_followed_by_another(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, sys\n"
        "start, stop = map(int, sys.argv[-1].split(':'))\n"
        "for number in range(start, stop):\n"
        "    if number == 1:\n"
        "        os._exit(3)\n"
        "    print('{\"number\": %d}' % number, flush=True)\n"
    )
    monkeypatch.setattr(benchmark, "__file__", str(script))
    found = list(benchmark.compare_all(0, range(4), "anything"))
    assert found == [
        {"number": 0},
        {"number": 1, "violation": "the process died with 3"},
        {"number": 2},
        {"number": 3},
    ]
