"""Options of commands on loading a model file: dynamic dimensions, 16-bit values, weights of 8 and 4 bits."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import nnapi
from nnapi.cli import app
from nnapi.model.model import DYNAMIC_RANGE
from tests.dynamic_range_cases import CASES
from tests.tflite_writer import T, single

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """An .onnx file whose input has open dimensions."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    builder = nnapi.Builder()
    builder.output(builder.relu(builder.input(nnapi.tensor("float32", (0, 3)), "x")))
    nnapi.export(builder.finish(), tmp_path / "open.onnx")
    return tmp_path / "open.onnx"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_open_dimensions_are_given(opened: Path) -> None:
    assert "?×3" in call("info", opened).output
    assert "2×3" in call("info", opened, "--shape", "x=2,3").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "-d", "nnapi-reference"),
        ("explain", "-d", "nnapi-reference"),
        ("compare", "-d", "nnapi-reference", "-d", "nnapi-reference"),
        ("trace", "-d", "nnapi-reference", "-o", "trace.json"),
    ],
)
def test_commands_that_read_a_model_take_them(
    arguments: tuple[str, ...], opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(opened.parent)
    command, *options = arguments
    done = call(command, opened, *options, "--shape", "x=2,3")
    assert done.exit_code == 0, done.output
    assert "input x is [?, 3], not [2, 4]" in call(command, opened, *options, "--shape", "x=2,4").output


def test_they_are_known_in_what_is_written(opened: Path, tmp_path: Path) -> None:
    done = call("export", opened, "-o", tmp_path / "fixed.tflite", "--shape", "x=2,3")
    assert done.exit_code == 0, done.output
    model = nnapi.load(tmp_path / "fixed.tflite")
    assert model.operands[model.inputs[0]].type.dimensions == (2, 3)


def test_codes_of_16_bits_are_written_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "codes.tflite").write_bytes(single("ABS", [T("INT16", (2,), 0.1, 0)], T("INT16", (2,), 0.1, 0)))
    refused = call("export", tmp_path / "codes.tflite", "-o", tmp_path / "out.tflite")
    assert (refused.exit_code, (tmp_path / "out.tflite").exists()) == (3, False)
    done = call("export", tmp_path / "codes.tflite", "-o", tmp_path / "out.tflite", "--int16-as-float")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("text", ["x", "x=", "=1,2", "x=1,two", "1,3"])
def test_what_is_no_shape_is_said(text: str, opened: Path) -> None:
    done = call("info", opened, "--shape", text)
    assert done.exit_code == 2
    assert f"--shape is {text}, must be a name and dimensions" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("info",),
        ("explain", "-d", "nnapi-reference"),
        ("run", "-d", "nnapi-reference"),
        ("compare", "-d", "nnapi-reference", "-d", "nnapi-reference"),
        ("trace", "-d", "nnapi-reference", "-o", "trace.json"),
        ("export", "-o", "out.tflite"),
        ("tune", "-d", "nnapi-reference"),
        ("bench", "-d", "nnapi-reference", "--against", "none", "--rounds", "1", "--only-latency"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_keep_weights_where_they_are_asked_to(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    load = nnapi.load

    def listen(*given: Any, **named: Any) -> nnapi.Model:
        asked.append(named.get("weights"))
        return load(*given, **named)

    monkeypatch.setattr(nnapi, "load", listen)
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dense.tflite").write_bytes(CASES["dense"]())
    command, *options = arguments
    done = call(command, "dense.tflite", *options, "--weights", "dynamic-range")
    assert done.exit_code == 0, done.output
    assert set(asked) == {"dynamic-range"}
    refused = call(command, "dense.tflite", *options, "--weights", "float")
    assert refused.exit_code == 2
    assert "'float' is not one of 'dynamic-range'" in refused.output


def test_what_that_means_is_said(tmp_path: Path) -> None:
    (tmp_path / "dense.tflite").write_bytes(CASES["dense"]())
    arguments = tmp_path / "dense.tflite", "--weights", "dynamic-range", "--json"
    assert json.loads(call("info", *arguments).output)["notes"] == [DYNAMIC_RANGE]
    assert json.loads(call("explain", *arguments, "-d", "nnapi-reference").output)["notes"] == [DYNAMIC_RANGE]


@pytest.mark.parametrize("command", [("run",), ("tune",), ("bench", "run")])
def test_threads_have_limits(command: tuple[str, ...]) -> None:
    done = call(*command, DIGITS, "--threads", 50000)
    assert done.exit_code == 2
    assert "50000 is not in the range 1<=x<=1024" in done.output
