"""States of recurrent operators: given, handed out, and read again."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.formats.tflite.graph import remove_dead_operators
from nnapi.lowering.passes.state_variables import make_state_variables
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.cell_cases import SIZE, features, reals, shapes
from tests.drivers.xnnpack.chain_cases import (
    BATCH,
    FLOAT_STATE,
    KINDS,
    TANH,
    TIME,
    Cell,
    agree,
    float_cell,
    sequence,
)
from tests.drivers.xnnpack.engine_cases import Net, both


def kinds(model: Any) -> list[str]:
    graph = remove_dead_operators(lower_model(model).graph)
    return [operator.kind for operator in make_state_variables(graph).operators]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("steps", [1, TIME])
def test_sequences_are_one_operator(kind: str, axis: int, steps: int) -> None:
    net = Net()
    model = net.finished(*sequence(net, kind, axis, steps))
    assert kinds(model) == ["SLICE", "SLICE", "UNIDIRECTIONAL_SEQUENCE_LSTM"]
    agree(model)


@pytest.mark.parametrize("kind", KINDS)
def test_each_run_begins_with_the_constant_states(kind: str) -> None:
    net = Net()
    outputs, _ = sequence(net, kind, 1, constant_states=True)
    agree(net.finished(outputs), off=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_whose_cell_state_is_read_on_the_way_stays_apart(kind: str) -> None:
    net = Net()
    make, type, hidden_type, memory_type = KINDS[kind]
    cell, x = make(net), net.input(type.with_dimensions((BATCH, SIZE)))
    hidden, memory = cell.step(x, net.input(hidden_type), net.input(memory_type))
    model = net.finished(*cell.step(x, hidden, memory), memory, hidden)
    assert kinds(model).count("LSTM") == 2
    agree(model)


def test_steps_of_different_cells_stay_apart() -> None:
    net = Net()
    first, second = float_cell(net, 1), float_cell(net, 2)
    x = net.input(tensor("float32", (BATCH, SIZE)))
    states = first.step(x, net.input(FLOAT_STATE), net.input(FLOAT_STATE))
    model = net.finished(*second.step(x, *states))
    assert kinds(model).count("LSTM") == 2
    agree(model)


@pytest.mark.parametrize("before", [False, True])
def test_cell_states_are_read_after_the_step(before: bool) -> None:
    """Another operation reads the state; what it reads must not be the state that the step began with."""
    net = Net()
    cell = float_cell(net)
    x, hidden, memory = net.input(tensor("float32", (BATCH, SIZE))), net.input(FLOAT_STATE), net.input(FLOAT_STATE)
    if before:  # the step waits for another operator, which a careless order would let the reader overtake
        x = net.call(Op.TANH, [x], tensor("float32", (BATCH, SIZE)))
    _, after = cell.step(x, hidden, memory)
    agree(net.finished(net.call(Op.ABS, [after], FLOAT_STATE)))


def test_projected_outputs_and_cell_states_of_sequences() -> None:
    """The state that is read again has other dimensions than the output on whose computation its reading waits."""
    kind = features("projection")
    values = reals(shapes(kind), np.random.default_rng(3)) | {"activation": TANH, "cell_clip": 0.0, "proj_clip": 0.0}
    values |= {"time_major": False, "input": None, "output_state_in": None, "cell_state_in": None}
    net = Net()
    cell = Cell(net, Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values)
    outputs = values["projection_weights"].shape[0]
    hidden = tensor("float32", (BATCH, outputs))
    given = {"input": net.input(tensor("float32", (BATCH, TIME, SIZE)))}
    given |= {"output_state_in": net.input(hidden), "cell_state_in": net.input(FLOAT_STATE)}
    out = tensor("float32", (BATCH, TIME, outputs))
    inputs = [(cell.fixed | given)[name] for name in cell.names]
    _, last, memory = net.call(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, out, hidden, FLOAT_STATE)
    agree(net.finished(net.call(Op.ABS, [memory], FLOAT_STATE), last))


@pytest.mark.parametrize("omitted", [False, True])
def test_optional_inputs_may_be_omitted_when_the_model_runs(omitted: bool) -> None:
    random = np.random.default_rng(0)
    net = Net()
    dimensions = {"x": (2, 3), "feature": (4, 3), "time": (4, 2), "bias": (2,), "state": (2, 8)}
    inputs = [net.input(tensor("float32", shape)) for shape in dimensions.values()]
    state, out = tensor("float32", (2, 8)), tensor("float32", (2, 2))
    model = net.finished(*net.call(Op.SVDF, [*inputs, *net.numbers(2, 0)], state, out))
    arrays = [random.uniform(-1, 1, shape).astype(np.float32) for shape in dimensions.values()]
    if omitted:
        arrays[3] = None
    for ours, theirs in zip(*both(model, *arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
