"""Recurrent cells in integers, with clips, with states that the caller keeps; and the reasons of refused cells."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.formats.tflite.reader import File
from nnapi.importers.tflite.convert import Import
from nnapi.operation_codes import CompositeCode
from tests.importers.tflite.against_litert import Arrays, Case, case, check, random_array, run
from tests.importers.tflite.recurrent_cases import (
    BATCH,
    FEATURES,
    RELU,
    STEPS,
    TANH,
    UNITS,
    bidirectional,
    cell,
    integer_lstm,
    lstm_options,
    rng,
    sequence,
    simple,
    state,
    weights,
)
from tests.rows import each_row
from tests.tflite_writer import T, const, f32, s8, single


def one_step(*norms: T | None, **parts: Any) -> Case:
    states = [state(BATCH, UNITS), state(BATCH, UNITS)]
    inputs = [f32(BATCH, FEATURES), *cell(**parts), *states, *norms]
    return case("LSTM", inputs, f32(BATCH, UNITS), "LSTMOptions", label=str(parts or len(norms)), **lstm_options())


def plain(kind: str, act: int, time_major: bool = False) -> Case:
    """RNN, or UNIDIRECTIONAL_SEQUENCE_RNN."""
    shape = (BATCH, FEATURES) if kind == "RNN" else (STEPS, BATCH, FEATURES) if time_major else (BATCH, STEPS, FEATURES)
    options = "RNNOptions" if kind == "RNN" else "SequenceRNNOptions"
    fields = {"FusedActivationFunction": act} | ({} if kind == "RNN" else {"TimeMajor": time_major})
    inputs = [f32(*shape), *simple(), state(BATCH, UNITS)]
    return case(kind, inputs, f32(*shape[:-1], UNITS), options, label=f"{act}{time_major}", **fields)


def both_ways(merge: bool, time_major: bool, act: int = RELU) -> Case:
    shape = (STEPS, BATCH) if time_major else (BATCH, STEPS)
    ways = [*simple(), state(BATCH, UNITS), *simple(), state(BATCH, UNITS)]
    outputs = [f32(*shape, 2 * UNITS)] if merge else [f32(*shape, UNITS), f32(*shape, UNITS)]
    fields = {"FusedActivationFunction": act, "MergeOutputs": merge, "TimeMajor": time_major}
    inputs = [f32(*shape, FEATURES), *ways, None, None, None]
    kind = "BIDIRECTIONAL_SEQUENCE_RNN"
    return case(kind, inputs, outputs, "BidirectionalSequenceRNNOptions", label=f"{merge}{time_major}", **fields)


def clipped(**clips: float) -> Case:
    found = sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, 3), "clipped", projection=3)
    return replace(found, fields={**found.fields, **clips})


def memory(rank: int, act: int = 0) -> Case:
    """SVDF."""
    filters = rank * UNITS
    parts = [weights(filters, FEATURES), weights(filters, 3), weights(UNITS), state(BATCH, 3 * filters)]
    fields = {"Rank": rank, "FusedActivationFunction": act}
    return case(
        "SVDF", [f32(BATCH, FEATURES), *parts], f32(BATCH, UNITS), "SVDFOptions", label=f"{rank}{act}", **fields
    )


INTEGERS = [
    integer_lstm(3, time_major=True),
    integer_lstm(2, peephole=True),
    integer_lstm(2, norms=True),
    integer_lstm(2, projection=3),
    integer_lstm(2, peephole=True, norms=True, projection=3),
    integer_lstm(1, is_one=True),
]
CASES = [
    one_step(*[None] * 4, cifg=True),
    one_step(*[None] * 4, peephole=True),
    one_step(*(weights(UNITS) for _ in range(4))),
    clipped(CellClip=0.2),
    clipped(ProjClip=0.05),
    both_ways(False, True),
    both_ways(True, False),
    bidirectional(merge=True, time_major=True),
    bidirectional(merge=False, time_major=True),
    memory(1),
    memory(3),
    memory(2, TANH),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES + INTEGERS, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path, seed=3)


def find_scalars(found: Case) -> list[float]:
    """Return the scalars of the integer cell: clips, scales of the gates, zero point and scale of the hidden state."""
    model = nnapi.load(found.content())
    (call,) = (call for call in model.operations if call.code == OperationCode.QUANTIZED_LSTM)
    operands = [model.operands[index] for index in call.inputs]
    return [operand.value.item() for operand in operands if operand.type.is_scalar]


def test_the_scales_of_gates_are_the_intermediates() -> None:
    found = integer_lstm(1, is_one=True)
    found = replace(found, fields={**found.fields, "CellClip": 0.5, "ProjClip": 0.25})
    assert find_scalars(found) == pytest.approx([0.5, 0.25, *[2**-12] * 4, 3, 0.01])
    few = replace(
        found, fields={**found.fields, "intermediates": [T("INT16", (), 0.5), T("INT16", (), 0.25), T("INT16")]}
    )
    assert find_scalars(few) == [0.5, 0.25, 0.5, 0.25, 0, 0, 0, 1 / 128]
    two = replace(found, fields={**found.fields, "intermediates": [T("INT16", (), 0.5), T("INT16", (), 0.25)]})
    assert find_scalars(two) == [0.5, 0.25, 0.5, 0.25, 0, 0, 0, 1 / 128]
    without_scale = [T("INT16", (), 0.5) for _ in range(4)] + [T("INT8")]
    bare = changed(found, 18, replace(give(found, 18), zero_point=-7))
    bare = replace(bare, fields={**found.fields, "intermediates": without_scale})
    assert find_scalars(bare) == [0.5, 0.25, *[0.5] * 4, -7, 1 / 128]


def give(found: Case, i: int) -> T:
    tensor = found.inputs[i]
    assert tensor is not None
    return tensor


def changed(found: Case, i: int, tensor: T | None) -> Case:
    inputs = list(found.inputs)
    inputs[i] = tensor
    return replace(found, inputs=inputs)


KEPT = [
    one_step(),
    one_step(*[None] * 4, cifg=True),
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS)),
    sequence(f32(STEPS, BATCH, FEATURES), f32(STEPS, BATCH, 3), "projected", time_major=True, projection=3),
    bidirectional(merge=False),
    plain("RNN", RELU),
    plain("RNN", TANH),
    *(plain("UNIDIRECTIONAL_SEQUENCE_RNN", act, major) for act in (RELU, TANH) for major in (False, True)),
    memory(2),
    memory(2, TANH),
    integer_lstm(2),
    integer_lstm(1, is_one=True),
]


def with_litert(content: bytes, inputs: Arrays) -> list[Arrays]:
    """Return the results of each run; LiteRT keeps the states between them."""
    litert: Any = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    without = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = litert.Interpreter(model_content=content, experimental_op_resolver_type=without, num_threads=1)
    interpreter.allocate_tensors()
    found = []
    for x in inputs:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        found.append([interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()])
    return found


@pytest.mark.engine
@each_row("case", KEPT, ids=str)
def test_states_that_the_caller_keeps_are_those_of_litert(case: Case) -> None:
    draw = np.random.default_rng(4)
    first = next(tensor for tensor in case.inputs if tensor is not None)
    xs = [random_array(first, case, draw) for _ in range(3)]
    model = Import(File(memoryview(case.content())), "m", keeps_state=True).model()
    kept = [operand.type for operand in (model.operands[index] for index in model.inputs[1:])]
    states = [np.zeros(type.dimensions, type.dtype) for type in kept]
    count = len(model.outputs) - len(states)
    compiled = nnapi.compile(model, "nnapi-reference")
    for x, theirs in zip(xs, with_litert(case.content(), xs), strict=True):
        results = compiled.run(x, *states)
        states = results[count:]
        for ours, their in zip(results[:count], theirs, strict=True):
            np.testing.assert_allclose(ours, their, 2e-6, 2e-6)


def codes_of(found: Case) -> list[int]:
    return [call.code for call in nnapi.load(found.content()).operations]


@pytest.mark.parametrize(("cifg", "width"), [(False, 4 * UNITS), (True, 3 * UNITS)])
def test_the_scratch_of_a_step_has_a_row_for_each_gate(cifg: bool, width: int) -> None:
    model = nnapi.load(one_step(*[None] * 4, cifg=cifg).content())
    (call,) = model.operations
    assert model.operands[call.outputs[0]].type.dimensions == (BATCH, width)


def basic(make: Callable[..., T], act: int) -> Case:
    inputs = [
        make(BATCH, UNITS),
        make(BATCH, UNITS),
        weights(4 * UNITS, 2 * UNITS),
        weights(4 * UNITS),
        f32(BATCH, UNITS),
    ]
    fields = lstm_options(KernelType=1, FusedActivationFunction=act)
    return case("LSTM", inputs, make(BATCH, UNITS), "LSTMOptions", **fields)


WHOLE = integer_lstm(2, projection=3)
MATRIX = f32(UNITS, FEATURES).of(rng.uniform(-1, 1, (UNITS, FEATURES)))
PER_UNIT = s8(UNITS, FEATURES, scale=[0.01] * UNITS, zero_point=0).of(rng.integers(-9, 9, (UNITS, FEATURES)))


@pytest.mark.parametrize(
    "found",
    [
        changed(WHOLE, 19, replace(give(WHOLE, 19), type="INT8")),
        changed(WHOLE, 16, f32(3, UNITS).of(np.ones((3, UNITS)))),
        changed(WHOLE, 1, MATRIX),
        changed(WHOLE, 8, f32(UNITS, 3).of(np.ones((UNITS, 3)))),
        changed(WHOLE, 3, PER_UNIT),
        replace(WHOLE, fields={**WHOLE.fields, "FusedActivationFunction": RELU}),
    ],
)
def test_other_cells_of_quantized_values_are_computed_in_float(found: Case) -> None:
    model = nnapi.load(found.content())
    assert OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM in [call.code for call in model.operations]
    assert "quantized recurrent cells are computed in float32" in model.notes


def test_one_step_of_quantized_values_is_computed_in_float() -> None:
    """A cell with RELU computes on its dequantized operands."""
    found = integer_lstm(1, is_one=True)
    found = replace(found, fields={**found.fields, "FusedActivationFunction": RELU})

    def real(tensor: T | None) -> T | None:
        if tensor is None or tensor.variable:
            return tensor and state(*tensor.shape)
        numbers = None if tensor.data is None else (tensor.array.astype(float) - tensor.zero_point) * tensor.scale
        return f32(*tensor.shape).of(numbers)

    floats = replace(found, inputs=[real(tensor) for tensor in found.inputs], outputs=f32(BATCH, UNITS))
    x = np.random.default_rng(2).integers(-128, 128, (BATCH, FEATURES)).astype(np.int8)
    (expected,) = run(nnapi.load(floats.content()), [(x.astype(np.float32) - 4) * np.float32(0.02)])
    (codes,) = run(nnapi.load(found.content()), [x])
    np.testing.assert_allclose(codes, np.clip(expected * 128, -128, 127), 0, 0.51)
    assert np.abs(expected).max() > 0.1


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (
            changed(
                sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, UNITS)),
                12,
                replace(give(WHOLE, 12), scale=[0.1] * UNITS),
            ),
            "has a scale per channel",
        ),
        (changed(WHOLE, 2, replace(give(WHOLE, 2), zero_point=1)), "has a zero point"),
        (both_ways(False, False, TANH), "NNAPI's cell squashes by RELUs only, not by TANH"),
        *((basic(x, act), "it is quantized or squashes by other than TANH") for x, act in ((f32, RELU), (s8, TANH))),
    ],
    ids=str,
)
def test_reasons(found: Case, reason: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(found.content())


@pytest.mark.parametrize(("kept", "count"), [("dynamic-range", 8), (None, 0)])
def test_the_eight_matrices_of_a_float_cell_may_stay_quantized(kept: Any, count: int) -> None:
    found = sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, 3), projection=3)
    for i in (*range(1, 9), 16):
        shape = give(found, i).shape
        found = changed(found, i, s8(*shape, scale=0.01, zero_point=0).of(rng.integers(-99, 99, shape)))
    model = nnapi.load(found.content(), weights=kept)
    assert [call.code for call in model.operations].count(OperationCode.DEQUANTIZE) == count


def test_a_bias_with_a_scale_is_dequantized_in_a_cell_of_floats() -> None:
    bias = T("INT32", (UNITS,), 0.25, data=[1, -2, 3, 0, 4])
    inputs = [
        f32(1, 2),
        const(np.zeros((UNITS, 2)), "FLOAT32"),
        const(np.zeros((UNITS, UNITS)), "FLOAT32"),
        bias,
        state(1, UNITS),
    ]
    content = single("RNN", inputs, f32(1, UNITS), "RNNOptions", FusedActivationFunction=0)
    assert run(nnapi.load(content), [np.ones((1, 2), np.float32)])[0].tolist() == [[0.25, -0.5, 0.75, 0, 1]]


@pytest.mark.parametrize("steps", [4, 300])
def test_sequences_of_any_length_are_one_operation(steps: int) -> None:
    assert codes_of(integer_lstm(steps)) == [CompositeCode.QUANTIZED_LSTM_SEQUENCE]
    inputs = [f32(BATCH, steps, FEATURES), *simple(), state(BATCH, UNITS)]
    rnn = replace(plain("UNIDIRECTIONAL_SEQUENCE_RNN", TANH), inputs=inputs, outputs=[f32(BATCH, steps, UNITS)])
    assert codes_of(rnn) == [CompositeCode.RNN_SEQUENCE]
