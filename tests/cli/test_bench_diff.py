"""``nnapi bench diff``: tables and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.report.result import Measurement, to_data
from tests.report.report_cases import benchmark, measurement, model_result


def written(file: Path, milliseconds: float, seed: int = 0) -> Path:
    rows = [measurement("nnapi", milliseconds, seed=seed), measurement("litert", 3.0, seed=seed)]
    file.write_text(json.dumps(to_data(benchmark(model_result("m.tflite", rows)))))
    return file


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    return {
        "old": written(tmp_path / "old.json", 2.0),
        "same": written(tmp_path / "same.json", 2.0, 3),
        "slow": written(tmp_path / "slow.json", 3.0, 1),
    }


def call(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["bench", "diff", *map(str, arguments)])


@pytest.mark.slow
def test_nothing_changed(runs: dict[str, Path]) -> None:
    result = call(runs["old"], runs["same"])
    assert result.exit_code == 0, result.output
    assert result.stdout == "10 figures of 10 did not change\nno figure with enough samples became worse\n"


def test_slower(runs: dict[str, Path]) -> None:
    result = call(runs["old"], runs["slow"])
    assert result.exit_code == 1
    row = next(line for line in result.stdout.splitlines() if " latency " in line)
    assert row.split()[:2] == ["m.tflite", "nnapi"]
    assert "1.49×" in row
    assert row.endswith("worse")
    assert "4 figures of nnapi became worse" in result.stdout
    assert "litert" not in result.stdout


def test_faster(runs: dict[str, Path]) -> None:
    result = call(runs["slow"], runs["old"])
    assert result.exit_code == 0
    assert "better" in result.stdout


def test_a_threshold_forgives(runs: dict[str, Path]) -> None:
    assert call(runs["old"], runs["slow"], "--threshold", "1").exit_code == 0


def test_all_figures(runs: dict[str, Path]) -> None:
    assert "litert" in call(runs["old"], runs["same"], "--all").stdout


def test_json(runs: dict[str, Path]) -> None:
    result = call(runs["old"], runs["slow"], "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["regressions"]) == (1, 4)
    assert told["changes"][0]["figure"] == "latency"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", " is not a JSON file"),
        ("[" * 100_000, " is not a JSON file"),
        ("{}", ": it is not a result of nnapi bench"),
        ("[1]", ": it is not a result of nnapi bench"),
    ],
)
def test_other_files(runs: dict[str, Path], tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "other.json").write_text(text)
    result = call(runs["old"], tmp_path / "other.json")
    assert result.exit_code == 3
    assert result.stderr == f"nnapi: {tmp_path / 'other.json'}{message}\n"


def test_too_few_samples_are_counted_apart(tmp_path: Path) -> None:
    """Two rounds on each side: nothing can be judged, and nothing is said to be as good as before."""
    few = Measurement("nnapi", latency=((0.1,), (0.2,)), load=(0.1, 0.1), compile=(0.1, 0.1), throughput=(9.0, 9.0))
    file = tmp_path / "few.json"
    file.write_text(json.dumps(to_data(benchmark(model_result("m.tflite", [few])))))
    result = call(file, file, "--all")
    assert result.exit_code == 0
    assert "0 figures of 4 did not change, 4 cannot be compared: fewer than 4 samples" in " ".join(
        result.stdout.split()
    )
    assert "became worse" not in result.stdout
