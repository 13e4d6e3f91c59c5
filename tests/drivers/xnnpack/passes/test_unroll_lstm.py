"""LSTM cells that are written out: which are, and what comes of those in integers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi import compile
from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert import lstm_cells
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes import unroll_lstm
from nnapi.formats.tflite.graph import Operator, Tensor, remove_dead_operators
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.cell_cases import BATCH as ROWS
from tests.drivers.xnnpack.cell_cases import (
    HIDDEN,
    INPUT,
    OUTPUTS,
    SIZE,
    UNITS,
    features,
    inputs_of,
    integers,
    quant_of,
    reals,
    shapes,
)
from tests.drivers.xnnpack.chain_cases import BATCH, FLOAT_STATE, MEMORY, TANH, agree, float_cell, sequence
from tests.drivers.xnnpack.engine_cases import Net, both, engine, reference
from tests.single import single

CELLS = {"LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


def is_written_out(model: Any) -> bool:
    graph = unroll_lstm.unroll_lstm(lower_model(model).graph)
    return not CELLS & {operator.kind for operator in graph.operators}


def step_in_integers(
    random: Any, kind: Any, batch: int, reach: int, clip: float | None, zero_states: bool = False, **changes: float
) -> tuple[Any, ...]:
    """A model of one step whose new cell state nobody reads, and an input."""
    values = integers(kind, random, batch, reach) | {"cell_clip": clip} | changes
    if zero_states:
        values["output_in"], values["cell_state_in"] = np.full((batch, UNITS), HIDDEN[1]), np.zeros((batch, UNITS))
    net = Net()
    inputs = [_given(net, type, value) for type, value in inputs_of(Op.QUANTIZED_LSTM, values, quant_of(kind))]
    hidden, memory = tensor("int8", (batch, UNITS), *HIDDEN), tensor("quant16_symm", (batch, UNITS), *MEMORY_QUANT)
    _, _, out = net.call(Op.QUANTIZED_LSTM, inputs, hidden, memory, hidden)
    return net.finished(out), values["input"].astype(np.int8)


MEMORY_QUANT = (MEMORY.scale, MEMORY.zero_point)


def _given(net: Net, type: Any, value: Any) -> int:
    if not net.inputs:
        return net.input(type)
    if value is not None:
        return net.constant(type, value)
    index = net.model.add_operand(type)
    net.model.set_operand_value(index, None)
    return index


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.booleans(),
    st.sampled_from([1, ROWS]),
    st.sampled_from([5, 40, 127]),
    st.sampled_from([None, 0.5, 10.0]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_steps_in_integers_are_within_one_code(
    coupled: bool, batch: int, reach: int, clip: float | None, zero_states: bool, seed: int
) -> None:
    """States of any code, as far as 16 from 0, and weights that drive the gates far out."""
    kind = features("coupled") if coupled else features()
    model, codes = step_in_integers(np.random.default_rng(seed), kind, batch, reach, clip, zero_states)
    assert is_written_out(model)
    (ours,), (theirs,) = both(model, codes)
    assert np.abs(ours.astype(int) - theirs).max() <= 1


def test_a_step_in_integers_by_hand() -> None:
    """One unit, gates of 0 but for the candidate's 1: tanh(0.5 tanh(1)) / 2 is 20.1 of 1/110, above 3."""
    values = dict.fromkeys(inputs_names(), None)
    values |= {name: np.zeros(shape) for name, shape in zip(values, [(1, 1)] * len(values), strict=True)}
    values |= {f"{gate}_gate_bias": np.zeros(1) for gate in ("input", "forget", "output")}
    values |= {"cell_bias": np.array([64 * 128]), "output_in": np.full((1, 1), HIDDEN[1])}
    omitted = [name for name in values if "norm" in name or name.startswith(("cell_to", "projection"))]
    values |= dict.fromkeys([*omitted, "cell_clip", "proj_clip"])
    values |= {f"{gate}_intermediate_scale": 0.0 for gate in ("input", "forget", "cell", "output")}
    values |= {"hidden_state_zero_point": HIDDEN[1], "hidden_state_scale": HIDDEN[0]}
    net = Net()
    inputs = [_given(net, type, value) for type, value in inputs_of(Op.QUANTIZED_LSTM, values, quant_of(features()))]
    hidden, memory = tensor("int8", (1, 1), *HIDDEN), tensor("quant16_symm", (1, 1), *MEMORY_QUANT)
    model = net.finished(net.call(Op.QUANTIZED_LSTM, inputs, hidden, memory, hidden)[2])
    wanted = round(np.tanh(0.5 * np.tanh(1.0)) / 2 * 110) + 3
    assert is_written_out(model)
    assert both(model, np.full((1, 1), INPUT[1], np.int8))[0] == [[[wanted]]] == [[[23]]]


def inputs_names() -> list[str]:
    from nnapi.model.operation import REGISTRY

    return [slot.name for slot in REGISTRY[Op.QUANTIZED_LSTM].inputs]


@pytest.mark.parametrize("steps", [1, 28])
def test_chains_in_integers_stay_close(steps: int) -> None:
    """Over many steps a code here and there is another one, as the output is the next step's input."""
    net = Net()
    outputs, _ = sequence(net, "integer", 1, steps, constant_states=True)
    model = net.finished(outputs)
    assert is_written_out(model)
    codes = np.random.default_rng(0).integers(-128, 128, (BATCH, steps, SIZE)).astype(np.int8)
    (ours,), (theirs,) = both(model, codes)
    apart = np.abs(ours.astype(int) - theirs)
    assert apart.max() <= 2
    assert (apart > 0).mean() < 0.15


@pytest.mark.parametrize("clip", [0.5, 2.5, 10.0])
def test_states_are_clipped_from_the_step_on_that_can_reach_the_clip(clip: float) -> None:
    net = Net()
    cell = float_cell(net, activation=1, cell_clip=clip)
    x = net.input(tensor("float32", (BATCH, SIZE)))
    states = (
        net.constant(FLOAT_STATE, np.full((BATCH, UNITS), 0.25)),
        net.constant(FLOAT_STATE, np.ones((BATCH, UNITS))),
    )
    for _ in range(6):
        states = cell.step(x, *states)
    agree(net.finished(*states))


@pytest.mark.parametrize("steps", [1, 2])
def test_sums_of_several_steps_are_taken_apart_and_those_of_one_are_not(steps: int) -> None:
    net = Net()
    outputs, memory = sequence(net, "float", 1, steps)
    model = net.finished(outputs, memory)
    written = remove_dead_operators(unroll_lstm.unroll_lstm(lower_model(model).graph))
    shapes = [operator.output.shape for operator in written.operators if operator.kind == "SLICE"]
    assert shapes == ([] if steps == 1 else [(BATCH, 4 * UNITS)] * steps)
    agree(model)


def test_a_cell_in_integers_whose_state_is_read_is_the_engines() -> None:
    net = Net()
    outputs, memory = sequence(net, "integer", 0, constant_states=True)
    assert not is_written_out(net.finished(outputs, memory))


def test_a_cell_in_integers_with_computed_state_is_the_engines() -> None:
    net = Net()
    outputs, _ = sequence(net, "integer", 0)
    model = net.finished(outputs)
    assert not is_written_out(model)
    agree(model)


@pytest.mark.parametrize("change", [{"hidden_state_scale": 1 / 120}, {"hidden_state_zero_point": HIDDEN[1] - 1}])
def test_outputs_that_are_stored_by_another_scale_are_the_engines(change: Any) -> None:
    """The numbers are rounded by the scale and zero point of the scalars, and read by those of the operand."""
    model, codes = step_in_integers(np.random.default_rng(0), features(), 1, 40, None, **change)
    assert not is_written_out(model)
    (ours,), (theirs,) = both(model, codes)
    np.testing.assert_array_equal(ours, theirs)


def test_outputs_of_fine_scale_are_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    model, codes = step_in_integers(np.random.default_rng(0), features(), 1, 40, None)
    assert is_written_out(model)
    monkeypatch.setattr(lstm_cells, "SMALLEST_SCALE", HIDDEN[0] * 1.01)
    assert not is_written_out(model)
    (ours,), (theirs,) = both(model, codes)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["peephole", "norm", "projection"])
def test_cells_with_more_than_gates_are_the_engines(name: str) -> None:
    kind = features(name)
    outputs = OUTPUTS if kind["projection"] else UNITS
    found = reals(shapes(kind), np.random.default_rng(0))
    found |= reals({"input": (1, SIZE), "output_state_in": (1, outputs), "cell_state_in": (1, UNITS)}, np.random)
    values = found | {"activation": TANH, "cell_clip": 0.0, "proj_clip": 0.0}
    assert not is_written_out(single(Op.LSTM, inputs_of(Op.LSTM, values), [tensor("float32")] * 4, constant=True))


def test_long_sequences_are_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lstm_cells, "MOST_STEPS", 4)
    for steps, wanted in ((4, True), (5, False)):
        net = Net()
        outputs, memory = sequence(net, "float", 1, steps)
        assert is_written_out(net.finished(outputs, memory)) == wanted


def test_computed_weights_are_the_engines() -> None:
    found = reals(shapes(features()), np.random.default_rng(0))
    found |= reals({"input": (1, SIZE), "output_state_in": (1, UNITS), "cell_state_in": (1, UNITS)}, np.random)
    values = found | {"activation": TANH, "cell_clip": 0.0, "proj_clip": 0.0}
    assert not is_written_out(single(Op.LSTM, inputs_of(Op.LSTM, values), [tensor("float32")] * 4))


@pytest.mark.parametrize("permitted", [True, False])
def test_a_cell_whose_states_go_round(permitted: bool) -> None:
    """Fifty runs, each of which is given the states of the one before. Only a permission decomposes the cell."""
    random = np.random.default_rng(5)
    values = integers(features(), random, 1, 5)
    net = Net()
    inputs = []
    for name, (type, value) in zip(
        inputs_names(), inputs_of(Op.QUANTIZED_LSTM, values, quant_of(features())), strict=True
    ):
        is_given = name in ("input", "output_in", "cell_state_in")
        inputs.append(net.input(type) if is_given else _given(net, type, value))
    hidden, memory = tensor("int8", (1, UNITS), *HIDDEN), tensor("quant16_symm", (1, UNITS), *MEMORY_QUANT)
    net.model.permit_rounded_states(permitted)
    model = net.finished(*net.call(Op.QUANTIZED_LSTM, inputs, hidden, memory, hidden))
    compiled = [compile(model, [which]) for which in (engine(), reference())]
    assert any("LSTM" in kind for kind in list_kinds(model)) != permitted
    states = [[np.full((1, UNITS), HIDDEN[1], np.int8), np.zeros((1, UNITS), np.int16)]] * 2
    for _ in range(50):
        x = random.integers(-128, 128, (1, SIZE)).astype(np.int8)
        results = [each.run(x, *state) for each, state in zip(compiled, states, strict=True)]
        states = [[*found[:2]] for found in results]
        (ours, theirs) = (found[2].astype(int) for found in results)
        assert np.abs(ours - theirs).max() <= 2


def list_kinds(model: Any) -> list[str]:
    """The engine's operators of a model."""
    found = lower_model(model).graph
    return [each.kind for each in unroll_lstm.unroll_lstm(found, rounds_states=model.rounded_states).operators]


def plain_cell(**extra: Tensor) -> Operator:
    """An LSTM step without anything optional; ``extra`` are inputs by position, as in input_9."""
    weights = Tensor("f32", (3, 2), data=np.ones((3, 2), np.float32))
    inputs: list[Tensor | None] = [None] * 24
    inputs[0], inputs[18], inputs[19] = (Tensor("f32", (1, size)) for size in (2, 3, 3))
    for position in (*range(1, 9), *range(12, 16)):
        inputs[position] = weights
    for name, value in extra.items():
        inputs[int(name.removeprefix("input_"))] = value
    return Operator("LSTM", inputs, [Tensor("f32", (1, 3))], {"time_major": False})


def test_a_plain_cell_is_decomposed() -> None:
    assert lstm_cells.is_plain(plain_cell(), True)


@pytest.mark.parametrize(
    ("position", "name"),
    [
        *((9, "peephole"), (10, "peephole"), (11, "peephole")),
        *((16, "projection"), (17, "bias of the projection")),
        *((20, "normalization"), (21, "normalization"), (22, "normalization"), (23, "normalization")),
    ],
)
def test_a_cell_with_anything_more_is_not_decomposed(position: int, name: str) -> None:
    extra = Tensor("f32", (3,), data=np.ones(3, np.float32))
    assert not lstm_cells.is_plain(plain_cell(**{f"input_{position}": extra}), True), name


@pytest.mark.parametrize("position", [*range(1, 9), *range(12, 16)])
def test_a_cell_of_which_a_parameter_is_computed_is_not_decomposed(position: int) -> None:
    assert not lstm_cells.is_plain(plain_cell(**{f"input_{position}": Tensor("f32", (3, 2))}), True)


@pytest.mark.parametrize(
    ("time_major", "shape", "steps"), [(True, (5, 2, 3), 5), (False, (5, 2, 3), 2), (True, (64, 1, 3), 64)]
)
def test_the_steps_of_a_sequence_lie_along_its_time(time_major: bool, shape: tuple[int, ...], steps: int) -> None:
    cell = plain_cell(input_0=Tensor("f32", shape))
    sequence = Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", cell.inputs, cell.outputs, {"time_major": time_major})
    assert lstm_cells.count_steps(sequence) == steps
    assert lstm_cells.is_plain(sequence, True)
    sequence.inputs[0] = Tensor("f32", (65, 65, 3))
    assert not lstm_cells.is_plain(sequence, True), "65 steps are too many"
