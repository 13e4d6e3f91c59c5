"""`nnapi compare`: what it says, as a table, JSON and a page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.drivers.faulty import Fault, Faulty
from tests.runtime.device_cases import Scripted

REFERENCE = "nnapi-reference"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2, 3)), name="x")
    builder.output(builder.mul(builder.relu(builder.add(x, x), name="positive"), x))
    nnapi.export(builder.finish(), path := tmp_path / "three.tflite")
    return path


def test_nothing_differs(file: Path) -> None:
    result = CliRunner().invoke(app, ["compare", str(file), "--device", REFERENCE, "--all"])
    assert result.exit_code == 0, result.output
    first, _, *rows = result.stdout.splitlines()
    assert first == (
        f"three.tflite: {REFERENCE} compared with {REFERENCE}: "
        f"no result differs in {len(rows)} operations ({len(rows)} same)"
    )


def test_the_first_that_differs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = nnapi.device(REFERENCE)
    relu = next(call.code for call in nnapi.load(file).operations if call.name == "RELU")
    wrong = nnapi.Device(Faulty(reference.driver, Fault.WRONG, operation=relu))
    monkeypatch.setattr(nnapi, "device", {REFERENCE: reference, "wrong": wrong}.__getitem__)
    array, page = tmp_path / "x.npy", tmp_path / "page.html"
    np.save(array, np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    words = ["compare", str(file), str(array), "-d", REFERENCE, "-d", "wrong", "--html", str(page)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert "RELU (#1), which gives positive, is the first that differs" in result.stdout
    assert "6 of 6 differ" in result.stdout
    assert page.read_text().count("RELU") >= 2
    assert "differs <span" in page.read_text()
    for of_a_plan in ('class="edge crosses"', "moves from", "on differs"):
        assert of_a_plan not in page.read_text()
    data = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert (data["first"], [one["verdict"] for one in data["operations"]]) == (1, ["same", "differs", "same"])
    assert data["operations"][1]["results"] == ["positive"]


@pytest.mark.parametrize("names", [(REFERENCE, "failing"), ("failing", REFERENCE)])
def test_a_side_that_does_not_run(names: tuple[str, str], file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = nnapi.device(REFERENCE)
    mul = next(call.code for call in nnapi.load(file).operations if call.name == "MUL")
    failing = nnapi.Device(Faulty(reference.driver, Fault.FAILS, operation=mul))
    monkeypatch.setattr(nnapi, "device", {REFERENCE: reference, "failing": failing}.__getitem__)
    result = CliRunner().invoke(app, ["compare", str(file), "-d", names[0], "-d", names[1]])
    assert result.exit_code == 3
    if names[0] == "failing":
        assert "cannot run three.tflite: " in result.stderr
    else:
        assert "no compared result differs in 3 operations (2 same, 1 failed)" in result.stdout
        assert "cannot run the whole model" in result.stdout


def test_an_infinity_that_one_side_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
    builder = nnapi.Builder()
    builder.output(builder.log(builder.input(nnapi.tensor("float32", (2,))), name="y"))
    nnapi.export(builder.finish(), path := tmp_path / "log.onnx")
    np.save(tmp_path / "x.npy", np.zeros(2, np.float32))

    def execute(request: Request, prepared: Prepared) -> Outcome:
        return Outcome([np.nan_to_num(array) for array in prepared.execute(request).outputs])

    found = {REFERENCE: nnapi.device(REFERENCE), "finite": nnapi.Device(Scripted(execute))}
    monkeypatch.setattr(nnapi, "device", found.__getitem__)
    words = ["compare", str(path), str(tmp_path / "x.npy"), "-d", REFERENCE, "-d", "finite"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert "expected -inf (allowed 0); 2 of 2" in " ".join(result.stdout.split())


def test_mistakes(file: Path) -> None:
    result = CliRunner().invoke(app, ["compare", str(file), "-d", "a", "-d", "b", "-d", "c"])
    assert (result.exit_code, result.stderr) == (2, "nnapi: give one or two of --device, not 3\n")
    result = CliRunner().invoke(app, ["compare", str(file), str(file), str(file), "--device", REFERENCE])
    assert (result.exit_code, result.stderr) == (2, "nnapi: the model has one input, so give one file or none, not 2\n")
