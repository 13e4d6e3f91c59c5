"""``nnapi check`` on the W3C's tests of WebNN."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from tests.testing.flawed_device_cases import install, perform_here, write_device
from tests.testing.webnn.webnn_cases import described, tensor, write_tests

pytest.importorskip("onnx")

ON = ["--device", "nnapi-reference"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    perform_here(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    x = {"x": tensor([-1, 2], 2)}
    right = described("relu", x, {"input": "x"}, tensor([0, 2], 2), "right relu")
    wrong = described("abs", x, {"input": "x"}, tensor([1, 3], 2), "wrong abs")
    refused = described("gruCell", x, {"input": "x"}, tensor([0, 2], 2), "refused cell")
    return write_tests(tmp_path / "tests.json", right, wrong, refused)


def test_verdicts_are_counted_and_reasons_printed(path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(path), *ON])
    assert result.exit_code == 1, result.output
    assert "1 test refused, gruCell: no rule converts gruCell" in result.output
    assert "wrong abs: y: 4194304 ULP off, 0 allowed" in result.output
    assert "1 test wrong" in result.output


def test_json_has_the_counts_of_each_operator(path: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(tmp_path), *ON, "--filter", "relu", "--json"])
    found = json.loads(result.output)
    assert result.exit_code == 0
    assert found["device"] == "nnapi-reference"
    assert found["failures"] == []
    counts = {"total": 1, "bit-equal": 1, "within tolerance": 0, "wrong": 0, "refused": 0}
    assert found["operators"] == {"relu": counts}


def test_options_of_other_examples_are_refused(path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(path), "--strict"])
    assert result.exit_code == 2
    assert "tests.json has tests of WebNN" in " ".join(result.output.split())
    result = CliRunner().invoke(app, ["check", str(path), "--filter", "nothing"])
    assert result.exit_code == 2
    assert "no test is named nothing" in " ".join(result.output.split())


def test_lists_and_files(path: Path, tmp_path: Path) -> None:
    files = ["--junit", str(tmp_path / "out.xml"), "--csv", str(tmp_path / "out.csv"), "-o", str(tmp_path / "out.json")]
    base = str(tmp_path / "base.csv")
    assert CliRunner().invoke(app, ["check", str(path), *ON, "--save-baseline", base]).exit_code == 1
    result = CliRunner().invoke(app, ["check", str(path), *ON, "--baseline", base, *files])
    assert result.exit_code == 0, result.output
    assert "all tests are as the baseline expects" in result.output
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [(each["test"], each["operations"], each["type"], each["status"], each["outcome"]) for each in results] == [
        ("right relu", ["relu"], "float32", "passed", "bit-equal"),
        ("wrong abs", ["abs"], "float32", "failed", "wrong"),
        ("refused cell", ["gruCell"], "float32", "skipped", "refused"),
    ]
    assert (tmp_path / "out.csv").read_text().count("\n") == 4
    assert (tmp_path / "out.xml").read_text().count("<skipped") == 2


def test_a_crash_costs_one_test(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    device = write_device(tmp_path / "device.flawed", RELU="crashes", ABS="hangs")
    (tmp_path / "skips.txt").write_text("gruCell\n")
    options = ["-d", str(device), "--skip", str(tmp_path / "skips.txt"), "-o", str(tmp_path / "out.json")]
    assert CliRunner().invoke(app, ["check", str(path), *options]).exit_code == 1
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [(each["test"], each["status"]) for each in results] == [
        ("right relu", "crashed"),
        ("wrong abs", "timed out"),
    ]
