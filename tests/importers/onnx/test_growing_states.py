"""Loops that append a row to a state in each step, as PyTorch exports ``torch.cat`` in a loop."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from nnapi.operation_codes import CompositeCode  # noqa: E402
from tests.importers.onnx.literal_cases import file_of, node, results, subgraph  # noqa: E402

X = np.array([1, 2], np.float32)
NONE = np.zeros((0, 2), np.float32)
CONSTANTS = {"none": NONE, "first": np.array([0]), "last": np.array([1]), "yes": np.array(True)}
BODY = [
    node("Cast", "i", "f", to=1),
    node("Add", "x f", "sum"),
    node("Unsqueeze", "sum first", "row"),
    node("Add", "a f", "a2"),
    node("Concat", "rows row", "rows2", axis=0),
    node("Mul", "sum sum", "square"),
    node("Identity", "on", "on2"),
]
"""Appends x + i to the rows; a += i; the square of x + i is a scan output."""


def expected(count: int) -> list[Any]:
    rows = [(X + i).tolist() for i in range(count)]
    return [rows, (X + sum(range(count))).tolist(), [(np.array(row) ** 2).tolist() for row in rows]]


def loop(nodes: list[Any]) -> Any:
    body = subgraph(nodes, "i on rows a", "on2 rows2 a2 square")
    return node("Loop", "n yes none x", "all a squares", body=body)


def find_body(content: bytes) -> set[int]:
    """Return the operations of the body of a loop."""
    model = nnapi.load(content)
    (call,) = (each for each in model.operations if each.code == OperationCode.WHILE)
    return {each.code for each in model.operands[call.inputs[1]].value.operations}


@pytest.mark.parametrize("count", [0, 1, 5])
def test_rows_are_collected_in_their_order(count: int) -> None:
    inputs = {"x": X, "n": np.array(count)}
    assert results([loop(BODY)], inputs, CONSTANTS, outputs="all a squares") == expected(count)


def test_a_step_writes_its_row_instead_of_copying_all_rows() -> None:
    codes = find_body(file_of([loop(BODY)], {"x": X, "n": np.array(3)}, CONSTANTS, "all a squares"))
    assert CompositeCode.SCATTER_ND in codes
    assert OperationCode.CONCATENATION not in codes


def test_axes_that_a_node_of_the_body_holds() -> None:
    zero = node("Constant", "", "first", value=onnx.numpy_helper.from_array(np.array([0])))
    constants = {name: array for name, array in CONSTANTS.items() if name != "first"}
    inputs = {"x": X, "n": np.array(2)}
    assert results([loop([zero, *BODY])], inputs, constants, outputs="all a squares") == expected(2)
    assert OperationCode.CONCATENATION not in find_body(file_of([loop([zero, *BODY])], inputs, constants, "all"))


def test_axes_as_an_attribute() -> None:
    body = [*BODY[:2], node("Unsqueeze", "sum", "row", axes=[0]), *BODY[3:]]
    inputs = {"x": X, "n": np.array(2)}
    assert results([loop(body)], inputs, CONSTANTS, outputs="all a squares", opset=11) == expected(2)
    assert OperationCode.CONCATENATION not in find_body(file_of([loop(body)], inputs, CONSTANTS, "all", opset=11))


@pytest.mark.parametrize(
    "change",
    [
        {5: node("ReduceSum", "rows", "square")},
        {4: node("Concat", "row rows", "rows2", axis=0)},
        {2: node("Reshape", "sum shape", "row")},
        {2: node("Unsqueeze", "sum last", "column"), 6: node("Transpose", "column", "row")},
    ],
    ids=["another reader", "rows in front", "another row", "a column"],
)
def test_other_states_stay(change: dict[int, Any]) -> None:
    nodes = [change.get(i, each) for i, each in enumerate(BODY)]
    if 6 in change:
        nodes = [*nodes[:3], nodes[6], *nodes[3:6], BODY[6]]
    content = file_of([loop(nodes)], {"x": X, "n": np.array(3)}, CONSTANTS | {"shape": np.array([1, 2])}, "all")
    assert OperationCode.CONCATENATION in find_body(content)
