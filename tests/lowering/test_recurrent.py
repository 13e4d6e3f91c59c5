"""Recurrent operations as files: written out as products and sums, or as the format's own cells."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.lowering.decompositions import recurrent
from nnapi.operation_codes import FAMILIES
from nnapi.testing.corpus import Corpus
from tests.exporters.exported_cases import WAYS, outcome

OPERATIONS = [*(name for name in FAMILIES["recurrent"].split() if name != "QUANTIZED_16BIT_LSTM")]
BATCH, SIZE, UNITS, STEPS = 2, 3, 4, 5


def sequence_lstm(with_states: bool) -> nnapi.Model:
    """A plain cell along time, of which the last states may be asked for."""
    model = nnapi.Model("cell")
    rng = np.random.default_rng(2)

    def constant(*shape: int) -> int:
        index = model.add_operand(nnapi.tensor("float32", shape))
        model.set_operand_value(index, rng.uniform(-0.5, 0.5, shape).astype(np.float32))
        return index

    def omitted() -> int:
        index = model.add_operand(nnapi.tensor("float32", (0,)))
        model.set_operand_value(index, None)
        return index

    def scalar(code: nnapi.OperandCode, value: Any) -> int:
        index = model.add_operand(nnapi.OperandType(code))
        model.set_operand_value(index, value)
        return index

    x = model.add_operand(nnapi.tensor("float32", (BATCH, STEPS, SIZE)), "x")
    inputs = [x, *(constant(UNITS, SIZE) for _ in range(4)), *(constant(UNITS, UNITS) for _ in range(4))]
    inputs += [omitted() for _ in range(3)]
    inputs += [constant(UNITS) for _ in range(4)]
    inputs += [omitted(), omitted(), constant(BATCH, UNITS), constant(BATCH, UNITS)]
    float32, int32, flag = nnapi.OperandCode.FLOAT32, nnapi.OperandCode.INT32, nnapi.OperandCode.BOOL
    inputs += [scalar(int32, 4), scalar(float32, 0.0), scalar(float32, 0.0), scalar(flag, False)]
    inputs += [omitted() for _ in range(4)]
    shapes = [(BATCH, STEPS, UNITS), *[(BATCH, UNITS)] * (2 * with_states)]
    outputs = [model.add_operand(nnapi.tensor("float32", shape)) for shape in shapes]
    model.add_operation(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, outputs)
    model.identify_inputs_and_outputs([x], outputs)
    model.finish()
    return model


@pytest.mark.parametrize("with_states", [False, True])
def test_a_sequence_is_one_operator_unless_its_last_states_are_asked_for(with_states: bool, tmp_path: Path) -> None:
    model = sequence_lstm(with_states)
    nnapi.export(model, tmp_path / "cell.tflite")
    again = nnapi.load(tmp_path / "cell.tflite")
    count = Counter(call.name for call in again.operations)
    assert count["UNIDIRECTIONAL_SEQUENCE_LSTM"] == (not with_states)
    assert (count["FULLY_CONNECTED"] > 0) == with_states
    x = np.random.default_rng(3).standard_normal((BATCH, STEPS, SIZE)).astype(np.float32)
    for a, b in zip(*(nnapi.compile(each, "nnapi-reference").run(x) for each in (model, again)), strict=True):
        np.testing.assert_allclose(a, b, 0, 1e-6)


@pytest.mark.engine
@pytest.mark.parametrize("with_states", [False, True])
def test_every_run_begins_with_the_states_given(with_states: bool, tmp_path: Path) -> None:
    interpreters = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    model = sequence_lstm(with_states)
    nnapi.export(model, tmp_path / "cell.tflite")
    interpreter = interpreters.Interpreter(str(tmp_path / "cell.tflite"))
    interpreter.allocate_tensors()
    x = np.random.default_rng(3).standard_normal((BATCH, STEPS, SIZE)).astype(np.float32)
    expected = nnapi.compile(model, "nnapi-reference").run(x)
    for _ in range(2):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        for detail, want in zip(interpreter.get_output_details(), expected, strict=True):
            np.testing.assert_allclose(interpreter.get_tensor(detail["index"]), want, 0, 1e-5)


def test_long_sequences_are_not_written_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recurrent, "MOST_STEPS", STEPS - 1)
    with pytest.raises(nnapi.BadDataError, match="its 5 steps are too many to unroll"):
        nnapi.export(sequence_lstm(with_states=True), tmp_path / "cell.tflite")


def both_directions(aux_size: int) -> nnapi.Model:
    """A plain cell along time in both directions, with an auxiliary input that has weights if it has a size."""
    builder = nnapi.Builder()
    rng = np.random.default_rng(2)

    def constant(*shape: int) -> Any:
        return builder.constant(rng.uniform(-0.5, 0.5, shape).astype(np.float32))

    cells = [[constant(UNITS, SIZE), constant(UNITS, UNITS), constant(UNITS), constant(BATCH, UNITS)] for _ in "fb"]
    aux = [constant(BATCH, STEPS, aux_size), *(constant(UNITS, aux_size) for _ in "fb")] if aux_size else [None] * 3
    x = builder.input(nnapi.tensor("float32", (BATCH, STEPS, SIZE)), "x")
    made = builder.bidirectional_sequence_rnn(x, *cells[0], *cells[1], *aux, 1, False, True)  # type: ignore[arg-type, call-arg]
    builder.output(made)
    return builder.finish()


@pytest.mark.parametrize("aux_size", [0, 2])
def test_two_directions_are_two_sequences(aux_size: int, tmp_path: Path) -> None:
    model = both_directions(aux_size)
    nnapi.export(model, tmp_path / "cells.tflite")
    x = np.random.default_rng(3).standard_normal((BATCH, STEPS, SIZE)).astype(np.float32)
    again = nnapi.load(tmp_path / "cells.tflite")
    for a, b in zip(*(nnapi.compile(each, "nnapi-reference").run(x) for each in (model, again)), strict=True):
        np.testing.assert_allclose(a, b, 0, 1e-6)


def test_a_reason_within_a_decomposition_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recurrent, "MOST_STEPS", STEPS - 1)
    with pytest.raises(
        nnapi.BadDataError, match="no rule for it, and its decomposition is refused: its 5 steps are too many"
    ):
        nnapi.export(both_directions(0), tmp_path / "cells.tflite")


@pytest.mark.parametrize("way", ["nnapi, .tflite", "nnapi, .onnx"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_cells_are_read_back_as_they_were(operation: str, way: str, corpus: Corpus, tmp_path: Path) -> None:
    if WAYS[way][0] == ".onnx":
        pytest.importorskip("onnx", reason="onnx is not installed")
    entries = [each for each in corpus.entries if each.ops == (operation,) and not each.expect_failure][:2]
    names = {(entry.file, entry.name) for entry in entries}
    found = [outcome(each, way, tmp_path) for each in corpus.examples(lambda entry: (entry.file, entry.name) in names)]
    assert not [each for each in found if each.kind == "wrong"]
    expressible = operation != "QUANTIZED_LSTM" or way == "nnapi, .tflite"
    assert any(each.kind in ("passed", "frozen") for each in found) == expressible
