"""Recurrent cells on the engine, against the reference, over what cells may have and leave out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi import Builder, compile, load
from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.lowering.decompositions import recurrent_time
from nnapi.lowering.decompositions.recurrent_time import MOST_UNROLLED
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from tests.drivers.xnnpack.cell_cases import (
    BATCH,
    FEATURES,
    OUTPUTS,
    SIZE,
    TIME,
    UNITS,
    features,
    inputs_of,
    integer_results,
    integers,
    quant_of,
    reals,
    shapes,
)
from tests.drivers.xnnpack.engine_cases import Net, agree, both, engine, reference, refusal
from tests.importers.tflite.recurrent_cases import integer_lstm
from tests.ops.sequence_cases import CASES, make_model
from tests.rows import each_row
from tests.single import run_single, single

FLOAT = tensor("float32")
NONE, RELU, RELU6, TANH, SIGMOID = 0, 1, 3, 4, 6
KINDS = st.fixed_dictionaries(dict.fromkeys(FEATURES, st.booleans()))
SEEDS = st.integers(0, 2**32 - 1)
SAME = settings(max_examples=40, deadline=None, derandomize=True)
"""The same examples every time: where the values of a gate lie close together, layer normalization enlarges roundings
so much that one in thousands misses the tolerance; ``nnapi check --random`` draws new ones, and measures that."""


def run(code: Any, inputs: list[Any], results: list[Any]) -> None:
    agree(code, inputs, results)


def tensors(random: Any, **dimensions: tuple[int, ...] | None) -> Any:
    return reals(dimensions, random)


def scalars(activation: int = TANH, cell_clip: float = 0.0, proj_clip: float = 0.0) -> Any:
    return {"activation": activation, "cell_clip": cell_clip, "proj_clip": proj_clip}


@pytest.mark.slow
@SAME
@given(KINDS, st.sampled_from([RELU, RELU6, TANH]), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.2]), SEEDS)
def test_lstm(kind: Any, activation: int, cell_clip: float, proj_clip: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    outputs = OUTPUTS if kind["projection"] else UNITS
    states = {"output_state_in": (BATCH, outputs), "cell_state_in": (BATCH, UNITS)}
    values = reals(shapes(kind), random) | tensors(random, input=(BATCH, SIZE), **states)
    inputs = inputs_of(Op.LSTM, values | scalars(activation, cell_clip, proj_clip))
    run(Op.LSTM, inputs, [FLOAT] * 4)


@pytest.mark.slow
@SAME
@given(KINDS, st.booleans(), st.booleans(), SEEDS)
def test_unidirectional_sequence_lstm(kind: Any, time_major: bool, with_states: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    outputs = OUTPUTS if kind["projection"] else UNITS
    outer = (TIME, BATCH) if time_major else (BATCH, TIME)
    states = {"output_state_in": (BATCH, outputs), "cell_state_in": (BATCH, UNITS)}
    values = reals(shapes(kind), random) | tensors(random, input=(*outer, SIZE), **states)
    inputs = inputs_of(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values | scalars(cell_clip=2.0) | {"time_major": time_major})
    run(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, [FLOAT] * (3 if with_states else 1))


@pytest.mark.slow
@SAME
@given(KINDS, st.sampled_from(["none", "parallel", "cross"]), st.booleans(), st.booleans(), st.booleans(), SEEDS)
def test_bidirectional_sequence_lstm(
    kind: Any, link: str, time_major: bool, merge: bool, with_states: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    outputs = OUTPUTS if kind["projection"] else UNITS
    outer = (TIME, BATCH) if time_major else (BATCH, TIME)
    aux = 0 if link == "none" else 3
    weighted = aux if link == "cross" else 0
    found = shapes(kind, SIZE, "fw_", weighted) | shapes(kind, aux if link == "parallel" else SIZE, "bw_", weighted)
    for way in ("fw", "bw"):
        found |= {f"{way}_activation_state_in": (BATCH, outputs), f"{way}_cell_state_in": (BATCH, UNITS)}
    found |= {"input": (*outer, SIZE), "aux_input": (*outer, aux) if aux else None}
    flags = {"time_major": time_major, "merge_outputs": merge}
    inputs = inputs_of(Op.BIDIRECTIONAL_SEQUENCE_LSTM, reals(found, random) | scalars() | flags)
    run(Op.BIDIRECTIONAL_SEQUENCE_LSTM, inputs, [FLOAT] * ((1 if merge else 2) + (4 if with_states else 0)))


def rnn(random: Any, prefix: str = "", size: int = SIZE, aux: int = 0) -> Any:
    found = {"weights": (UNITS, size), "recurrent_weights": (UNITS, UNITS), "bias": (UNITS,)}
    found |= {"hidden_in": (BATCH, UNITS), "aux_weights": (UNITS, aux) if aux else None}
    return {prefix + name: value for name, value in reals(found, random).items()}


@pytest.mark.parametrize("activation", range(4))
def test_rnn(activation: int) -> None:
    random = np.random.default_rng(activation)
    values = rnn(random) | tensors(random, input=(BATCH, SIZE)) | {"activation": activation}
    run(Op.RNN, inputs_of(Op.RNN, values), [FLOAT] * 2)


@each_row("activation", range(4))
@each_row("time_major", [0, 1])
@each_row("results", [1, 2])
def test_unidirectional_sequence_rnn(activation: int, time_major: int, results: int) -> None:
    random = np.random.default_rng(activation)
    outer = (TIME, BATCH) if time_major else (BATCH, TIME)
    values = rnn(random) | tensors(random, input=(*outer, SIZE))
    values |= {"activation": activation, "time_major": time_major}
    run(Op.UNIDIRECTIONAL_SEQUENCE_RNN, inputs_of(Op.UNIDIRECTIONAL_SEQUENCE_RNN, values), [FLOAT] * results)


@each_row("link", ["none", "parallel", "cross"])
@each_row("time_major", [False, True])
@each_row(("merge", "results"), [(False, 2), (False, 4), (True, 1), (True, 3)])
def test_bidirectional_sequence_rnn(link: str, time_major: bool, merge: bool, results: int) -> None:
    random = np.random.default_rng(results)
    outer = (TIME, BATCH) if time_major else (BATCH, TIME)
    aux = 0 if link == "none" else 3
    weighted = aux if link == "cross" else 0
    values = rnn(random, "fw_", SIZE, weighted) | rnn(random, "bw_", aux if link == "parallel" else SIZE, weighted)
    values |= tensors(random, input=(*outer, SIZE), aux_input=(*outer, aux) if aux else None)
    values |= {"activation": RELU, "time_major": time_major, "merge_outputs": merge}
    run(Op.BIDIRECTIONAL_SEQUENCE_RNN, inputs_of(Op.BIDIRECTIONAL_SEQUENCE_RNN, values), [FLOAT] * results)


@each_row("rank", [1, 2])
@each_row("memory", [1, 4])
@each_row("with_bias", [False, True])
@each_row("activation", [0, RELU])
def test_svdf(rank: int, memory: int, with_bias: bool, activation: int) -> None:
    random, filters = np.random.default_rng(memory), 6
    values = tensors(
        random,
        input=(BATCH, SIZE),
        weights_feature=(filters, SIZE),
        weights_time=(filters, memory),
        bias=(filters // rank,) if with_bias else None,
        state_in=(BATCH, filters * memory),
    )
    inputs = inputs_of(Op.SVDF, values | {"rank": rank, "activation": activation})
    run(Op.SVDF, inputs, [FLOAT] * 2)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(KINDS, st.sampled_from([1, BATCH]), st.sampled_from([20, 127]), st.sampled_from([None, 0.5, 3.0]), SEEDS)
def test_quantized_lstm_is_the_same_code_for_code(
    kind: Any, batch: int, reach: int, cell_clip: float | None, seed: int
) -> None:
    kind = kind | {"peephole": kind["peephole"] and not kind["projection"]}
    values = integers(kind, np.random.default_rng(seed), batch, reach) | {"cell_clip": cell_clip}
    inputs = inputs_of(Op.QUANTIZED_LSTM, values, quant_of(kind))
    ours, theirs = (
        run_single(Op.QUANTIZED_LSTM, inputs, integer_results(kind), constant=True, devices=[device])
        for device in (engine(), reference())
    )
    for codes, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(codes, wanted)


BARELY_TOO_LARGE = {
    "input_to_forget_weights": np.zeros((UNITS, SIZE)),
    "recurrent_to_forget_weights": np.zeros((UNITS, UNITS)),
    "forget_gate_bias": np.full(UNITS, -(2**31)),
}
"""One more than the largest number of 32 bits."""


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (features("peephole", "projection"), {}, "with both peepholes and a projection incorrectly"),
        (
            features("projection"),
            {"proj_clip": 0.5},
            "proj_clip is 0.5: TFLite clips the quantized values of the projection",
        ),
        (features(), {"forget_gate_bias": np.full(UNITS, 2**31 - 1)}, "sums of the forget gate may overflow"),
        (features(), BARELY_TOO_LARGE, "sums of the forget gate may overflow"),
    ],
)
def test_quantized_lstm_refuses(kind: Any, change: Any, message: str) -> None:
    inputs = inputs_of(Op.QUANTIZED_LSTM, integers(kind, np.random.default_rng(0)) | change, quant_of(kind))
    assert message in refusal(single(Op.QUANTIZED_LSTM, inputs, integer_results(kind), constant=True))


@pytest.mark.parametrize(
    ("kind", "coarse", "change", "message"),
    [
        (features("norm"), "input_layer_norm_weights", {}, "the input gate with a variance of at least 10485760000,"),
        (features("peephole"), "cell_to_output_weights", {}, "the peephole of the output gate may overflow"),
        (features("projection"), "projection_weights", {}, "the projection may overflow"),
        (features(), "", {"hidden_state_scale": 2.0**-31}, "the hidden state may overflow"),
    ],
)
def test_quantized_lstm_refuses_scales_that_the_engine_shifts_out_of_its_integers(
    kind: Any, coarse: str, change: Any, message: str
) -> None:
    """Numbers that the operation holds within 16 bits come out on the other side of 0 in the engine."""
    usual = quant_of(kind)
    inputs = inputs_of(
        Op.QUANTIZED_LSTM,
        integers(kind, np.random.default_rng(0)) | change,
        lambda name: (2.0**20, 0) if name == coarse else usual(name),
    )
    assert message in refusal(single(Op.QUANTIZED_LSTM, inputs, integer_results(kind), constant=True))


@pytest.mark.parametrize(("scale", "refused"), [(1.99e-4, ""), (2.01e-4, "a variance of at least 2, not 1")])
def test_quantized_lstm_normalizes_with_the_variance_of_the_specification(scale: float, refused: str) -> None:
    kind = features("norm")
    usual = quant_of(kind)
    inputs = inputs_of(
        Op.QUANTIZED_LSTM,
        integers(kind, np.random.default_rng(0)),
        lambda name: (scale, 0) if "norm" in name else usual(name),
    )
    model = single(Op.QUANTIZED_LSTM, inputs, integer_results(kind), constant=True)
    assert refused in refusal(model) if refused else not refusal(model)


def test_quantized_lstm_refuses_computed_weights() -> None:
    inputs = inputs_of(Op.QUANTIZED_LSTM, integers(features(), np.random.default_rng(0)), quant_of(features()))
    assert "TensorFlow Lite needs it constant" in refusal(
        single(Op.QUANTIZED_LSTM, inputs, integer_results(features()))
    )


def test_quantized_lstm_refuses_optional_weights_that_a_run_may_give() -> None:
    kind = features("projection")
    values, net = integers(kind, np.random.default_rng(0)), Net()
    slots = REGISTRY[Op.QUANTIZED_LSTM].overloads[0].inputs
    given = dict(zip([slot.name for slot in slots], inputs_of(Op.QUANTIZED_LSTM, values, quant_of(kind)), strict=True))
    inputs = []
    for name, (type, value) in given.items():
        is_input = name in ("input", "projection_bias")
        inputs.append(net.input(type) if is_input else net.constant(type, value))
    model = net.finished(*net.call(Op.QUANTIZED_LSTM, inputs, *integer_results(kind)))
    assert model.operands[net.inputs[1]].type.dimensions == (0,)
    assert "is computed, the engine needs it constant" in refusal(model)


def test_quantized_lstm_refuses_results_that_count_in_different_units() -> None:
    """Both are the same codes, which must not be read by the scale of the one where the other is meant."""
    inputs = inputs_of(Op.QUANTIZED_LSTM, integers(features(), np.random.default_rng(0)), quant_of(features()))
    state, memory, out = integer_results(features())
    results = [state, memory, out.replace(zero_point=out.zero_point + 1)]
    assert "output_state_out and output differ in scale or zero point" in refusal(
        single(Op.QUANTIZED_LSTM, inputs, results, constant=True)
    )


@pytest.mark.parametrize("activation", [NONE, SIGMOID])
def test_lstm_refuses_what_the_engine_squashes_wrongly(activation: int) -> None:
    random = np.random.default_rng(0)
    values = reals(shapes(features()), random)
    values |= tensors(random, input=(1, SIZE), output_state_in=(1, UNITS), cell_state_in=(1, UNITS))
    inputs = inputs_of(Op.LSTM, values | scalars(activation))
    message = f"activation is {activation}, the engine's LSTM computes 1 (RELU), 3 (RELU6) and 4 (TANH)"
    assert message in refusal(single(Op.LSTM, inputs, [FLOAT] * 4, constant=True))


def test_a_projection_wider_than_its_cells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine writes beyond what it allocated for it."""
    monkeypatch.setattr("tests.drivers.xnnpack.cell_cases.OUTPUTS", UNITS + 1)
    kind = dict.fromkeys(FEATURES, False) | {"projection": True}
    states = {"output_state_in": (BATCH, UNITS + 1), "cell_state_in": (BATCH, UNITS)}
    values = tensors(np.random.default_rng(0), **shapes(kind), input=(BATCH, SIZE), **states)
    model = single(Op.LSTM, inputs_of(Op.LSTM, values | scalars()), [FLOAT] * 4)
    assert f"{UNITS} cells are projected to {UNITS + 1} outputs" in refusal(model)


def test_a_state_of_svdf_keeps_its_dimensions() -> None:
    """A state of one step is 0 afterwards: XNNPACK took the product with a single 0 for that 0."""
    b = Builder()
    x = b.input(tensor("float32", (1, 1)))
    ones, state = np.ones((2, 1), np.float32), np.zeros((1, 2), np.float32)
    state_out, _ = b.svdf(x, ones, ones, None, state, 1, 1)
    b.output(b.maximum(state_out, b.input(tensor("float32", (1, 1)))))
    given = np.ones((1, 1), np.float32), np.full((1, 1), -1, np.float32)
    (found,) = compile(b.finish(), [engine()]).run(*given)
    np.testing.assert_array_equal(found, [[0, 0]])


@each_row(("kind", "variant"), CASES, ids=str)
def test_composites_are_steps(kind: str, variant: dict[str, Any]) -> None:
    model, given = make_model(kind, 5, **variant)
    for one, other in zip(*both(model, *given), strict=True):
        np.testing.assert_allclose(one, other, 0, 1e-5)


@pytest.mark.parametrize("variant", [{}, {"reverse": True}, {"time_major": False}, {"activation": 1}], ids=str)
def test_a_long_rnn_is_the_engines(variant: dict[str, Any]) -> None:
    model, given = make_model("rnn_sequence", MOST_UNROLLED + 1, **variant)
    kinds = [operator.kind for operator in lower_model(model).graph.operators]
    assert kinds.count("UNIDIRECTIONAL_SEQUENCE_RNN") == 1
    for one, other in zip(*both(model, *given), strict=True):
        np.testing.assert_allclose(one, other, 0, 1e-5)
    short = lower_model(make_model("rnn_sequence", MOST_UNROLLED, **variant)[0]).graph
    assert "UNIDIRECTIONAL_SEQUENCE_RNN" not in {operator.kind for operator in short.operators}


@pytest.mark.parametrize("steps", [1, 4, 300])
def test_an_lstm_in_integers_is_the_engines(steps: int) -> None:
    model = load(integer_lstm(steps).content())
    (x,) = (model.operands[index].type for index in model.inputs)
    value = np.random.default_rng(0).integers(-128, 128, x.dimensions).astype(np.int8)
    kinds = [operator.kind for operator in lower_model(model).graph.operators]
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in kinds
    for one, other in zip(*both(model, value), strict=True):
        np.testing.assert_allclose(one.astype(np.int32), other, 0, 1)


def test_long_composites_run_on_the_engine_in_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine runs the loops too."""
    for name, value in (("MOST_UNROLLED", 3), ("STEPS_OF_PASS", 2), ("STEPS_OF_LOOP", 6)):
        monkeypatch.setattr(recurrent_time, name, value)
    model, given = make_model("gru", 9)
    assert lower_model(model).verdicts[0].supported
    compiled = compile(model, [engine(), reference()])
    for one, other in zip(compiled.run(*given), compile(model, [reference()]).run(*given), strict=True):
        np.testing.assert_allclose(one, other, 0, 1e-5)
