"""IF and WHILE with their models: what refuses them, and which turns their graphs count."""

from collections import Counter

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.drivers.litert.lowering import TfliteLowering, lower_model
from nnapi.lowering.nested import has_loop
from tests.nest_cases import TRUTH, nest

COUNT = tensor("int32", (1,))


class WithControlFlow(TfliteLowering):
    """As XNNPACK's, whose module imports the engine."""

    takes_control_flow = True


def truth(name: str, inner: Model | None = None) -> Model:
    """A condition: x < 9, or after a loop of its own."""
    b = Builder(name)
    x = b.input(COUNT)
    if inner is not None:
        (x,) = b.while_(truth("inner"), inner, [x], out=[COUNT])
    b.output(b.less(x, np.array([9], np.int32), out=TRUTH))
    return b.finish()


def step(name: str = "step", inner: Model | None = None) -> Model:
    b = Builder(name)
    x = b.input(COUNT)
    if inner is not None:
        (x,) = b.while_(truth("inner"), inner, [x], out=[COUNT])
    b.output(b.add(x, np.array([1], np.int32)))
    return b.finish()


def loop(condition: Model, body: Model) -> Model:
    b = Builder("loop")
    b.output(*b.while_(condition, body, [b.input(COUNT)], out=[COUNT]))
    return b.finish()


def branches(then: Model, otherwise: Model, count: int = 1) -> Model:
    b = Builder("branches")
    flag, x = b.input(TRUTH), b.input(COUNT)
    for _ in range(count):
        (x,) = b.if_(flag, then, otherwise, [x], out=[COUNT])
    b.output(x)
    return b.finish()


def reason(model: Model, lowering: type[TfliteLowering] = WithControlFlow) -> str:
    (verdict,) = lower_model(model, lowering=lowering).verdicts
    return verdict.reason


def test_an_engine_without_control_flow_has_no_operator() -> None:
    assert reason(loop(truth("condition"), step()), TfliteLowering).endswith("no operator with this meaning")


def test_a_condition_with_a_loop_cannot_count_its_turns() -> None:
    found = loop(truth("condition", step()), step())
    assert has_loop(found)
    assert reason(found) == "WHILE (#0): its condition condition contains a loop"


def test_the_reason_names_the_model_and_the_operation() -> None:
    b = Builder("halves")
    x = b.input(COUNT)
    b.output(b.div(x, b.add(x, x)))
    assert reason(loop(truth("condition"), b.finish())).startswith("WHILE (#0): halves: DIV (#1): ")


@pytest.mark.parametrize(
    ("model", "counted"),
    [
        (loop(truth("condition"), step()), 1),
        (loop(truth("condition"), step("outer", step())), 1),
        (branches(step("then", step()), step("else")), 1),
        (branches(step("then", step()), step("else", step()), 2), 4),
        (branches(step("then"), step("else")), 0),
    ],
)
def test_each_loop_outside_of_loops_has_turns(model: Model, counted: int) -> None:
    graph = lower_model(model, lowering=WithControlFlow).graph
    assert len(graph.turns) == counted
    ends = len(model.inputs) + counted, len(model.outputs) + counted
    assert (len(graph.inputs), len(graph.outputs)) == ends


def test_a_model_that_several_operations_use_is_one_subgraph() -> None:
    graph = lower_model(nest(12, is_shared=True), lowering=WithControlFlow).graph
    assert len(graph.subgraphs) == 12
    kinds = Counter(operator.kind for each in (graph, *graph.subgraphs) for operator in each.operators)
    assert kinds == {"IF": 12, "ABS": 1}
