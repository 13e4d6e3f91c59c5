"""Results that a loop of a computed number of steps collects, and results of branches whose shapes differ."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from tests.importers.onnx.literal_cases import file_of, node, reasons, results, subgraph  # noqa: E402

PAIR = np.array([1, 2], np.float32)
STEPS = [
    node("Cast", "i", "f", to=TensorProto.FLOAT),
    node("Add", "a f", "a2"),
    node("Mul", "b a", "b2"),
    node("Unsqueeze", "b axes", "seen"),
    node("Greater", "b f", "flags"),
]
"""a += i; b *= a, as it was; seen is b, as it was."""
AXES = {"axes": np.array([1])}


def collect(steps: int) -> list[Any]:
    a, b, seen, flags = PAIR, PAIR, np.zeros((0, 2, 1)), np.zeros((0, 2), bool)
    for i in range(steps):
        flags = np.concatenate([flags, (b > i)[None]])
        a, b, seen = a + i, b * a, np.concatenate([seen, b.reshape(1, 2, 1)])
    return [each.tolist() for each in (a, b, seen, np.arange(steps), flags)]


@pytest.mark.parametrize("limit", ["n", "-"])
@pytest.mark.parametrize(("count", "last", "steps"), [(2, 5, 2), (9, 1, 2), (9, 3, 4), (0, 5, 0)])
def test_a_condition_that_may_end_the_loop(count: int, last: int, steps: int, limit: str) -> None:
    """Without a limit, the results grow; the loop then has at least one step."""
    if limit == "-":
        steps = last + 1
    body = subgraph([*STEPS, node("Less", "i last", "on2")], "i on a b", "on2 a2 b2 seen i flags")
    inputs = {"x": PAIR, "b": PAIR, "n": np.array(count), "last": np.array(last)}
    loop = node("Loop", f"{limit} - x b", "a c y z w", body=body)
    assert results([loop], inputs, AXES, outputs="a c y z w") == collect(steps)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_count_alone(count: int) -> None:
    """PyTorch passes the condition through."""
    body = subgraph([*STEPS, node("Identity", "on", "on2")], "i on a b", "on2 a2 b2 seen i flags")
    inputs = {"x": PAIR, "b": PAIR, "n": np.array(count)}
    loop = node("Loop", "n yes x b", "a c y z w", body=body)
    constants = {**AXES, "yes": np.array(True)}
    assert results([loop], inputs, constants, outputs="a c y z w") == collect(count)


def test_more_steps_than_are_inlined() -> None:
    squares = subgraph([node("Mul", "i i", "s"), node("Identity", "on", "on2")], "i on", "on2 s")
    nodes = [node("Loop", "n -", "all", body=squares), node("Cast", "all", "f", to=TensorProto.FLOAT)]
    nodes.append(node("Add", "x f"))
    model = nnapi.load(file_of(nodes, {"x": PAIR[:1]}, {"n": np.array(300)}, "y"))
    assert OperationCode.WHILE in {call.code for call in model.operations}
    (found,) = nnapi.compile(model).run(PAIR[:1])
    assert found.tolist() == [1 + i * i for i in range(300)]


def test_a_branch_that_reads_a_refused_result_is_refused() -> None:
    branches = {name: subgraph([node("Neg", "z", name[0])], "", name[0]) for name in ("then_branch", "else_branch")}
    nodes = [node("Bernoulli", "x", "z"), node("If", "on", **branches)]
    found = reasons(nodes, {"x": PAIR, "on": np.array(True)})
    assert found[1:] == ["its subgraph reads a tensor of a refused operation"]


def test_branches_with_results_of_two_shapes() -> None:
    branches = {
        "then_branch": subgraph([node("Constant", "", "a", value_floats=[1.0, 2.0])], "", "a"),
        "else_branch": subgraph([node("Constant", "", "b", value_floats=[3.0, 4.0, 5.0])], "", "b"),
    }
    nodes = [node("If", "on", "z", **branches), node("Neg", "z")]
    for on, found in ((True, [-1, -2]), (False, [-3, -4, -5])):
        assert results(nodes, {"on": np.array(on)}) == [found]
