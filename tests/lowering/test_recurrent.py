"""Recurrent operations as files: written out as products and sums, or as the format's own cells."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.lowering.decompositions import recurrent_time
from nnapi.lowering.expansion import expand
from nnapi.model.operand import Array
from nnapi.operation_codes import FAMILIES
from nnapi.testing.corpus import Corpus
from tests.exporters.exported_cases import WAYS, outcome
from tests.importers.tflite.recurrent_cases import integer_lstm
from tests.ops.sequence_cases import CASES, GATES, make_model
from tests.rows import each_row

NAMES = FAMILIES["recurrent"].split()
OPERATIONS = [name for name in NAMES if name in OperationCode.__members__ and name != "QUANTIZED_16BIT_LSTM"]
BATCH, SIZE, UNITS, STEPS = 2, 3, 4, 5
BOUND = 2e-6
"""The largest difference of a composite's decomposition from its kernel: sums in another order."""


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


@pytest.fixture
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unroll at most three steps; repeat two at a time, at most six in a loop."""
    for name, value in (("MOST_UNROLLED", 3), ("STEPS_OF_PASS", 2), ("STEPS_OF_LOOP", 6)):
        monkeypatch.setattr(recurrent_time, name, value)


@pytest.mark.usefixtures("short_loops")
@pytest.mark.parametrize("with_states", [False, True])
def test_long_sequences_are_written_as_loops(with_states: bool, tmp_path: Path) -> None:
    model = sequence_lstm(with_states)
    nnapi.export(model, tmp_path / "cell.tflite")
    again = nnapi.load(tmp_path / "cell.tflite")
    assert [call.name for call in again.operations].count("WHILE") == with_states
    x = np.random.default_rng(3).standard_normal((BATCH, STEPS, SIZE)).astype(np.float32)
    for a, b in zip(*(nnapi.compile(each, "nnapi-reference").run(x) for each in (model, again)), strict=True):
        np.testing.assert_allclose(a, b, 0, 1e-6)


def assert_parts_agree(model: nnapi.Model, given: list[Array]) -> nnapi.Model:
    """Compare a composite's kernel with its decomposition; return the decomposition."""
    shown, _, refusals = expand(model)
    assert not refusals
    whole, parts = (nnapi.compile(each, "nnapi-reference").run(*given) for each in (model, shown))
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, 0, BOUND if a.dtype == np.float32 else 0)
    return shown


@each_row(("kind", "variant"), CASES, ids=str)
def test_unrolled_steps_are_the_kernel(kind: str, variant: dict[str, Any]) -> None:
    assert_parts_agree(*make_model(kind, 4, **variant))


@each_row(("kind", "variant"), CASES, ids=str)
def test_copied_steps_are_those_of_the_rule(kind: str, variant: dict[str, Any]) -> None:
    (model, given), (other, _) = (make_model(kind, 6, **variant) for _ in range(2))
    copied = expand(model).model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent_time, "_RepeatedStep", lambda step: step)
        ruled = expand(other).model
    assert len(copied.operands) < len(ruled.operands)  # steps share their scalars
    calls, expected = (
        [(call.name, *(each.operands[i].type for i in (*call.inputs, *call.outputs))) for call in each.operations]
        for each in (copied, ruled)
    )
    assert calls == expected
    for a, b in zip(*(nnapi.compile(each, "nnapi-reference").run(*given) for each in (copied, ruled)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("short_loops")
@pytest.mark.parametrize("steps", [5, 8, 17])
@pytest.mark.parametrize(("kind", "variant"), CASES, ids=str)
def test_loops_are_the_kernel(kind: str, variant: dict[str, Any], steps: int) -> None:
    shown = assert_parts_agree(*make_model(kind, steps, **variant))
    assert [call.name for call in shown.operations].count("WHILE") == {5: 1, 8: 2, 17: 3}[steps]


@pytest.mark.usefixtures("short_loops")
def test_loops_of_the_same_length_share_their_models() -> None:
    shown = assert_parts_agree(*make_model("gru", 17))
    loops = [call for call in shown.operations if call.name == "WHILE"]
    bodies = [shown.operands[call.inputs[1]].value for call in loops]
    assert bodies[0] is bodies[1] is not bodies[2]


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.usefixtures("short_loops")
def test_integer_steps_are_the_kernel(steps: int) -> None:
    model = nnapi.load(integer_lstm(steps).content())
    assert [call.name for call in model.operations] == ["QUANTIZED_LSTM_SEQUENCE"]
    types = [model.operands[index].type for index in model.inputs]
    random = np.random.default_rng(1)
    assert_parts_agree(model, [random.integers(-128, 128, x.dimensions).astype(x.dtype) for x in types])


@pytest.mark.parametrize("kind", GATES)
def test_a_long_sequence_has_few_operations(kind: str) -> None:
    """A thousand steps are four loops, or fewer, and the steps that are left."""
    model, _ = make_model(kind, 1000, units=2, size=2)
    shown = expand(model).model
    assert [call.name for call in shown.operations].count("WHILE") <= 4
    assert len(shown.operations) < 600


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
