"""Resource variables: their initial values, and their values after a run."""

import pickle
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.formats.tflite.reader import File
from nnapi.importers.tflite.variables import list_assigned
from nnapi.model.graph import Lifetime
from tests.tflite_writer import Graph, T, const, f32, i32, write
from tests.variable_cases import assign, handle, initial, read, running_sum


def load(*graphs: Graph) -> nnapi.Model:
    return nnapi.load(write(*graphs))


def refusal(*graphs: Graph) -> str:
    with pytest.raises(nnapi.BadDataError) as caught:
        load(*graphs)
    return str(caught.value)


def test_a_variable_is_a_constant_and_a_computed_operand() -> None:
    model = load(*running_sum(start=5))
    ((first, last),) = model.states
    assert last is not None
    assert (model.operands[first].name, model.operands[first].value.tolist()) == ("total", [5, 5])
    assert model.operands[last].lifetime is Lifetime.TEMPORARY
    assert "a burst keeps them" in model.notes[-1]


def test_each_run_begins_with_the_initial_values() -> None:
    compilation = nnapi.compile(load(*running_sum(start=5)), ["nnapi-reference"])
    for _ in range(2):
        assert compilation.run(np.array([1, 2], np.float32))[0].tolist() == [6, 7]
    many = compilation.run_many([np.array([1, 2], np.float32)] * 3)
    assert [outputs[0].tolist() for outputs in many] == [[6, 7]] * 3


def test_a_variable_that_no_run_assigns_is_a_constant() -> None:
    x, y, weight = f32(2), f32(2), f32(2)
    total = handle("weight")
    graph = Graph().operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    read(graph, total, weight).operator("MUL", [x, weight], [y], "MulOptions")
    model = load(graph.between([x], [y]), initial("weight", [3, 4]))
    assert model.states == ()
    assert nnapi.compile(model, ["nnapi-reference"]).run(np.array([1, 1], np.float32))[0].tolist() == [3, 4]


def test_initial_values_may_be_computed_from_constants() -> None:
    start, sum_ = const([1, 2], "FLOAT32"), f32(2)
    first = Graph().operator("ADD", [start, start], [sum_], "AddOptions")
    assign(first, handle("total"), sum_)
    main, _ = running_sum()
    model = load(main, first)
    assert model.operands[model.states[0].initial].value.tolist() == [2, 4]


def test_variables_of_different_containers_are_different() -> None:
    main, _ = running_sum()
    assert "variable total is read before it is assigned" in refusal(main, initial("total", [0, 0], container="other"))


def test_one_value_may_go_to_several_variables_and_the_output() -> None:
    x, y, a, b = f32(2), f32(2), f32(2), f32(2)
    graph = Graph().operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    one, two = handle("one"), handle("two")
    read(graph, one, a)
    read(graph, two, b)
    graph.operator("ADD", [a, b], [y], "AddOptions")
    assign(graph, one, x)
    assign(graph, two, a)  # a delay line: its new value is another state
    first = initial("one", [1, 1])
    assign(first, handle("two"), const([2, 2], "FLOAT32"))
    with nnapi.compile(load(graph.between([x], [y]), first), ["nnapi-reference"]).burst() as burst:
        found = [burst.run(np.array([k, k], np.float32))[0].tolist() for k in (10, 20, 30)]
    assert found == [[3, 3], [11, 11], [30, 30]]


def test_called_subgraphs_use_the_variables_of_the_caller() -> None:
    main, first = running_sum()
    (x,), (y,) = ([main.tensors[index] for index in side] for side in (main.inputs, main.outputs))
    outer = Graph().operator("CALL", [x], [y], "CallOptions", Subgraph=1).between([x], [y])
    main.operators[0]["options"] = "CallOnceOptions", {"InitSubgraphIndex": 2}
    with nnapi.compile(load(outer, main, first), ["nnapi-reference"]).burst() as burst:
        assert [burst.run(np.array([1, 2], np.float32))[0].tolist() for _ in range(2)] == [[1, 2], [2, 4]]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ([0, 0, 0], "variable total is"),
        (None, "variable total is read before it is assigned, and CALL_ONCE does not initialize it"),
    ],
)
def test_reads_that_do_not_fit(start: Any, reason: str) -> None:
    main, _ = running_sum()
    first = Graph() if start is None else initial("total", start)
    assert reason in refusal(main, first)


def test_branches_use_no_variables() -> None:
    x, y, flag = f32(2), f32(2), T("BOOL", (1,))
    main = Graph().operator("IF", [flag, x], [y], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    a, b, c, d = f32(2), f32(2), f32(2), f32(2)
    then = Graph()
    assign(then, handle("total"), a)
    then.operator("RELU", [a], [b]).between([a], [b])
    other = Graph().operator("RELU", [c], [d]).between([c], [d])
    message = refusal(main.between([flag, x], [y]), then, other)
    assert "a subgraph of IF or WHILE uses variable total" in message


def test_variables_initialized_too_late() -> None:
    x = f32(2)
    graph = Graph()
    assign(graph, handle("total"), x)
    graph.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    y = f32(2)
    graph.operator("RELU", [x], [y]).between([x], [y])
    assert "variable total is assigned before CALL_ONCE initializes it" in refusal(graph, initial("total", [0, 0]))


def test_initial_values_that_only_a_run_knows() -> None:
    main, _ = running_sum()
    drawn, logits = i32(1, 2), T("FLOAT32", (1, 3), data=np.zeros((1, 3)))
    first = Graph().operator("MULTINOMIAL", [logits, const([2])], [drawn], "RandomOptions", Seed=1, Seed2=2)
    assign(first, handle("total"), drawn)
    assert "variable total is initialized with a value that only a run knows" in refusal(main, first)


def test_values_that_are_not_handles() -> None:
    x, y = f32(2), f32(2)
    graph = Graph().operator("READ_VARIABLE", [x], [y]).between([x], [y])
    assert "is not a handle that VAR_HANDLE opens" in refusal(graph)


def test_assigned_variables_are_found_behind_calls_but_not_behind_call_once() -> None:
    main, first = running_sum()
    file = File(memoryview(write(main, first)))
    assert list_assigned(file, 0) == {"total"}
    reading = Graph().operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    x, y = f32(2), f32(2)
    file = File(memoryview(write(reading.operator("RELU", [x], [y]).between([x], [y]), first)))
    assert list_assigned(file, 0) == set()


def test_pickled_models_keep_their_states() -> None:
    model = pickle.loads(pickle.dumps(load(*running_sum(start=1))))
    assert len(model.states) == 1
    with nnapi.compile(model, ["nnapi-reference"]).burst() as burst:
        assert [burst.run(np.array([1, 2], np.float32))[0].tolist() for _ in range(2)] == [[2, 3], [3, 5]]
