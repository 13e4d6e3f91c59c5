"""`nnapi info`: what a model asks for."""

import json
from pathlib import Path

import numpy as np
import pytest
import tflite
from typer.testing import CliRunner

import nnapi
from nnapi.cli import app
from nnapi.cli.info import Reason, find_reasons, first_level, next_lower_level
from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operation import REGISTRY
from tests.single import scalar, single
from tests.tflite_writer import T
from tests.tflite_writer import single as write_operator

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def shown(*arguments: str | Path) -> str:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["info", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def softmax(dtype: str, axis: int | None = None) -> nnapi.Model:
    type = nnapi.tensor(dtype, (1, 4))
    beta = OperandCode.FLOAT16 if dtype == "float16" else OperandCode.FLOAT32
    inputs = [(type, np.zeros((1, 4), type.dtype)), scalar(beta, 1.0)]
    return single(OperationCode.SOFTMAX, inputs + ([] if axis is None else [scalar(OperandCode.INT32, axis)]), [type])


def test_types_force_a_level() -> None:
    model = softmax("float16")
    assert model.feature_level == 3
    assert find_reasons(model, 3)[0] == Reason("SOFTMAX", (0,), "input is TENSOR_FLOAT16")
    assert next_lower_level(model) == 1


def test_arguments_force_a_level() -> None:
    model = softmax("float32", axis=0)
    (reason,) = find_reasons(model, 3)
    assert (reason.operation, reason.numbers) == ("SOFTMAX", (0,))
    assert reason.facet.startswith("axis is ")


def test_operations_force_a_level_by_being_there() -> None:
    type = nnapi.tensor("float32", (2,))
    values = type, np.zeros(2, np.float32)
    model = single(OperationCode.MAXIMUM, [values, values], [type])
    assert find_reasons(model, 3) == [Reason("MAXIMUM", (0,), "the operation was added in this level")]


def test_operands_force_a_level() -> None:
    model = nnapi.Model()
    for name in ("x", "y"):
        model.add_operand(nnapi.tensor("float32"), name)
    model.add_operation(OperationCode.RELU, [0], [1])
    model.identify_inputs_and_outputs([0], [1])
    model.finish()
    reasons = find_reasons(model, model.feature_level)
    assert [reason.operation for reason in reasons] == ["", ""]
    assert all("unknown rank" in reason.facet for reason in reasons)


@pytest.mark.shared
def test_level_of_every_operation(shared: Path) -> None:
    facts = json.loads((shared / "reference" / "operations.json").read_text())
    expected = {fact["code"]: fact["feature_level"] for fact in facts}
    assert {int(code): first_level(REGISTRY[code]) for code in OperationCode} == expected


def test_float_digits() -> None:
    text = shown(DIGITS / "digits_float.tflite")
    assert "digits_float.tflite  30 KB, 7 operations" in text
    assert "1×8×8×1" in text
    assert "1×10" in text
    assert "CONV_2D" in text
    assert "feature level 1 (Android 8.1), which every device has" in text


def test_quantized_digits() -> None:
    text = shown(DIGITS / "digits_quant.tflite")
    assert "scale 0.00392157, zero point -128" in text
    assert "feature level 4 (Android 11), because of" in text
    assert "input is TENSOR_QUANT8_ASYMM_SIGNED" in text
    assert "Without these level " in text


def test_json() -> None:
    found = json.loads(shown(DIGITS / "digits_quant.tflite", "--json"))
    assert found["bytes"] == 12776
    assert found["feature_level"] == 4
    assert found["operations"]["CONV_2D"] == 2
    assert found["inputs"][0]["dimensions"] == [1, 8, 8, 1]
    assert found["inputs"][0]["zero_point"] == -128
    assert found["outputs"][0]["dimensions"] == [1, 10]
    convolutions = {
        reason["facet"]: reason["numbers"] for reason in found["forced_by"] if reason["operation"] == "CONV_2D"
    }
    assert len(convolutions["input is TENSOR_QUANT8_ASYMM_SIGNED"]) == 2
    assert 1 <= found["level_without"] < 4


@pytest.mark.parametrize("data", [b"", b"no model", b"\x1c\x00\x00\x00TFL3" + bytes(40)])
def test_no_model(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(data)
    result = CliRunner().invoke(app, ["info", str(file)])
    assert result.exit_code == 3
    assert result.stderr.startswith("nnapi: ")
    assert "should not happen" not in result.stderr
    assert "model.tflite" in result.stderr


def test_what_cannot_be_imported_is_listed(tmp_path: Path) -> None:
    """The digit reader with its softmax turned into an operation that NNAPI cannot express."""
    data = bytearray((DIGITS / "digits_float.tflite").read_bytes())
    codes = tflite.Model.GetRootAs(data, 0)
    for index in range(codes.OperatorCodesLength()):
        code = codes.OperatorCodes(index)
        if code.DeprecatedBuiltinCode() == tflite.BuiltinOperator.SOFTMAX:
            for field in (4, 10):  # the code of old, and that of new files
                offset = code._tab.Offset(field)
                if offset:
                    data[code._tab.Pos + offset] = tflite.BuiltinOperator.UNIQUE
    (tmp_path / "unique.tflite").write_bytes(data)
    result = CliRunner().invoke(app, ["info", str(tmp_path / "unique.tflite")])
    assert result.exit_code == 3
    assert "UNIQUE" in result.stderr
    assert "unique.tflite" in result.stderr
    assert "should not happen" not in result.stderr


def test_16_bits_as_real_numbers_with_a_note(tmp_path: Path) -> None:
    x, other, y = (T("INT16", (2,), 0.25, 0) for _ in range(3))
    (tmp_path / "codes.tflite").write_bytes(write_operator("ADD", [x, other], y, "AddOptions"))
    text = shown(tmp_path / "codes.tflite", "--int16-as-float")
    assert "16-bit quantized values are float32" in text
    assert "TENSOR_FLOAT32" in text
    (note,) = json.loads(shown(tmp_path / "codes.tflite", "--int16-as-float", "--json"))["notes"]
    assert "0.125" in note


def test_the_work_is_linear_in_operations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A look at all facets of a model takes as long as it has operations: as few of them as for a small model."""
    looks: list[int] = []
    facets = nnapi.Model.facets.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(nnapi.Model, "facets", property(lambda model: looks.append(1) or facets(model)))
    counts = []
    for number in (2, 40):
        b = nnapi.Builder()
        x = b.input(nnapi.tensor("float32", (4,)))
        for _ in range(number):
            x = b.minimum(x, np.ones(4, np.float32))
        b.output(x)
        nnapi.export(b.finish(), tmp_path / "model.tflite")
        looks.clear()
        assert f"{number} operations" in shown(tmp_path / "model.tflite")
        counts.append(len(looks))
    assert counts[0] == counts[1]
