"""An engine that reads files as a device, beside which `nnapi compare --against` puts ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.cli.file_driver import FileDriver
from nnapi.errors import BadDataError
from nnapi.model.operand import Array
from nnapi.report.engines import OTHERS, File, LiteRT, Opened, UnsuitableError

X = np.array([[-1, 2, -3]], np.float32)


def model() -> nnapi.Model:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (1, 3)), name="x")
    builder.output(builder.relu(builder.add(x, x), name="positive"))
    return builder.finish()


@dataclass(frozen=True)
class Reading(LiteRT):
    """An engine that computes a file by ours, and each RELU wrong; it takes no file of two operations if ``single``."""

    name: str = "reading"
    is_right: bool = False
    single: bool = False

    def version(self) -> str:
        return "1"

    def open(self, path: File, threads: int) -> Opened:
        loaded = nnapi.load(path)
        if self.single and len(loaded.operations) > 1:
            raise UnsuitableError("one operation at a time")
        compilation = nnapi.compile(loaded, "nnapi-reference")
        is_wrong = not self.is_right and "RELU" in str(loaded.operations)

        def run(inputs: Sequence[Array]) -> list[Array]:
            return [array + is_wrong for array in compilation.run(*inputs)]

        return Opened(lambda requests: [run])


def test_it_is_a_device() -> None:
    device = nnapi.Device(FileDriver(Reading(is_right=True), ".tflite"))
    assert (device.name, device.version) == ("reading", "1")
    assert device.supports(model()) == [True, True]
    assert nnapi.compile(model(), device).run(X)[0].tolist() == [[0, 4, 0]]
    refusing = nnapi.Device(FileDriver(Reading(single=True), ".tflite"))
    with pytest.raises(BadDataError, match="one operation at a time"):
        nnapi.compile(model(), refusing)


@pytest.mark.parametrize("single", [False, True])
def test_the_first_operation_that_another_engine_computes_otherwise(
    single: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OTHERS, "litert", Reading(single=single))
    nnapi.export(model(), path := tmp_path / "two.tflite")
    result = CliRunner().invoke(app, ["compare", str(path), "--against", "litert", "--json"])
    assert result.exit_code == 1, result.output
    told = json.loads(result.stdout)
    assert (told["devices"], told["first"]) == (["nnapi-reference", "reading"], 1)
    assert [each["verdict"] for each in told["operations"]] == ["same", "differs"]
    grown = [each and each["largest"] for each in (*(one["grown"] for one in told["operations"]), told["file"])]
    # Every result of a file that has RELU is one too large; what takes no file of two operations has none to compare.
    assert grown == ([None] * 3 if single else pytest.approx([1] * 3))


@pytest.mark.engine
@pytest.mark.parametrize(("engine", "package"), [("litert", "ai_edge_litert"), ("onnxruntime", "onnxruntime")])
def test_engines_give_the_same(engine: str, package: str, tmp_path: Path) -> None:
    pytest.importorskip(package, reason=f"{engine} is not installed")
    if engine == "onnxruntime":
        pytest.importorskip("onnx", reason="onnx is not installed")
    nnapi.export(model(), path := tmp_path / "two.tflite")
    result = CliRunner().invoke(app, ["compare", str(path), "--against", engine])
    assert result.exit_code == 0, result.output
    title = f"two.tflite: {engine} compared with nnapi-reference: no result differs in 2 operations (2 same)"
    assert title in result.stdout
    assert ("The whole file in litert: off by 0" in result.stdout) == (engine == "litert")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--against", "abacus"],
            "--against is abacus, must be litert, onnxruntime, a recording (.npz) or a quantized model (.tflite, "
            ".onnx)",
        ),
        (["--against", "litert", "-d", "a", "-d", "b"], "give one --device beside --against, not 2"),
    ],
)
def test_mistakes(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["compare", "m.tflite", *words])
    assert (result.exit_code, result.stderr) == (2, f"nnapi: {message}\n")


@pytest.mark.slow
@pytest.mark.engine
def test_an_engine_that_greets_is_silent() -> None:
    """In a process of its own: it greets the first time."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    file = Path(__file__).parents[2] / "examples/digits/digits_float.tflite"
    words = [sys.executable, "-m", "nnapi", "compare", str(file), "--against", "litert"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
