"""GRU, RNN and LSTM over time as files: ONNX's own operators; in .tflite, its RNN, else steps and loops."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.lowering.decompositions import recurrent_time
from nnapi.model.operand import Array
from tests.ops.sequence_cases import CASES, make_model

KINDS = {"gru": "GRU", "rnn_sequence": "RNN", "lstm_sequence": "LSTM"}
CONSTANT = [(kind, variant) for kind, variant in CASES if not variant.get("computed_weights")]


def assert_same(model: nnapi.Model, again: nnapi.Model, given: list[Array]) -> None:
    for a, b in zip(*(nnapi.compile(each, "nnapi-reference").run(*given) for each in (model, again)), strict=True):
        np.testing.assert_allclose(a, b, 0, 2e-6)


@pytest.mark.parametrize(("kind", "variant"), CONSTANT, ids=str)
def test_onnx_has_the_operators(kind: str, variant: dict[str, Any], tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from nnapi.exporters.onnx.rules import recurrent

    model, given = make_model(kind, 4, **variant)
    nnapi.export(model, tmp_path / "cell.onnx")
    written = [node.op_type for node in onnx.load(tmp_path / "cell.onnx").graph.node]
    has_operator = variant.get("activation") in (None, *recurrent.FUNCTIONS)
    assert written.count(KINDS[kind]) == has_operator
    assert_same(model, nnapi.load(tmp_path / "cell.onnx"), given)


@pytest.mark.parametrize(("kind", "variant"), CASES, ids=str)
def test_onnx_runtime_computes_the_same(kind: str, variant: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, given = make_model(kind, 4, **variant)
    nnapi.export(model, tmp_path / "cell.onnx")
    session = runtime.InferenceSession(tmp_path / "cell.onnx")
    inputs = {each.name: array for each, array in zip(session.get_inputs(), given, strict=True)}
    expected = nnapi.compile(model, "nnapi-reference").run(*given)
    for a, b in zip(session.run(None, inputs), expected, strict=True):
        np.testing.assert_allclose(a, b, 0, 5e-6)


@pytest.mark.parametrize("operation", ["unidirectional_sequence_rnn", "unidirectional_sequence_lstm"])
@pytest.mark.parametrize("time_major", [False, True])
def test_sequences_of_nnapi_are_onnx_operators(operation: str, time_major: bool, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    b, random = nnapi.Builder(), np.random.default_rng(0)

    def draw(*shape: int) -> Array:
        return random.uniform(-0.7, 0.7, shape).astype(np.float32)

    shape = (7, 2, 3) if time_major else (2, 7, 3)
    x = b.input(nnapi.tensor("float32", shape))
    if operation == "unidirectional_sequence_rnn":
        made = b.unidirectional_sequence_rnn(x, draw(4, 3), draw(4, 4), draw(4), draw(2, 4), 1, int(time_major))
    else:
        weights = [draw(4, 3) for _ in range(4)] + [draw(4, 4) for _ in range(4)]
        vectors = [draw(4) for _ in range(7)]
        operands = [*weights, *vectors, None, None, draw(2, 4), draw(2, 4)]
        made = b.unidirectional_sequence_lstm(x, *operands, 4, 0.0, 0.0, time_major, *[None] * 4)  # type: ignore[arg-type, call-arg]
    b.output(made)
    model = b.finish()
    nnapi.export(model, tmp_path / "cell.onnx")
    written = [node.op_type for node in onnx.load(tmp_path / "cell.onnx").graph.node]
    assert len({"LSTM", "RNN"} & set(written)) == 1
    assert_same(model, nnapi.load(tmp_path / "cell.onnx"), [draw(*shape)])


@pytest.mark.parametrize(("kind", "variant"), CASES, ids=str)
def test_tflite_files_compute_the_same(
    kind: str, variant: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MOST_UNROLLED", 3), ("STEPS_OF_PASS", 2), ("STEPS_OF_LOOP", 4)):
        monkeypatch.setattr(recurrent_time, name, value)
    model, given = make_model(kind, 5, **variant)
    nnapi.export(model, tmp_path / "cell.tflite")
    again = nnapi.load(tmp_path / "cell.tflite")
    names = [call.name for call in again.operations]
    is_own = kind == "rnn_sequence" and not {"clip", "lengths"} & set(variant)
    assert ("RNN_SEQUENCE" in names or "UNIDIRECTIONAL_SEQUENCE_RNN" in names) == is_own
    assert names.count("WHILE") == (not is_own)
    assert_same(model, again, given)
    interpreters = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    interpreter = interpreters.Interpreter(str(tmp_path / "cell.tflite"))
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), given, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    for detail, b in zip(
        interpreter.get_output_details(), nnapi.compile(model, "nnapi-reference").run(*given), strict=True
    ):
        np.testing.assert_allclose(interpreter.get_tensor(detail["index"]), b, 0, 5e-6)
