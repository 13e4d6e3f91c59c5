"""Plans as graphs."""

import json

import nnapi
from nnapi.report.graph import devices, graph_data
from tests.report.report_cases import REASON, chain, fast, graph


def test_a_plan_of_two_devices() -> None:
    found = graph()
    assert json.loads(json.dumps(found)) == found
    assert devices(found) == ["fast", "nnapi-reference"]
    assert [operation["device"] for operation in found["operations"]] == ["fast"] * 2 + ["nnapi-reference"] + [
        "fast"
    ] * 2
    assert REASON in found["operations"][2]["verdicts"]["fast"]["reason"]
    assert [operation["step"] for operation in found["operations"]] == [0, 0, 1, 2, 2]


def test_edges() -> None:
    edges = graph()["edges"]
    assert [(edge["from"], edge["to"]) for edge in edges] == [(None, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, None)]
    assert edges[0]["tensor"] == "t0: TENSOR_FLOAT32[1, 40, 40, 8]"
    assert edges[0]["bytes"] == 40 * 40 * 8 * 4


def test_one_device() -> None:
    found = graph_data(nnapi.compile(chain(2), "nnapi-reference").plan)
    assert devices(found) == ["nnapi-reference"]
    assert found["nested"] == []


def test_control_flow_is_taken_apart() -> None:
    model = nnapi.Model("choice")
    flag = model.add_operand(nnapi.tensor("bool8", (1,)), "flag")
    x = model.add_operand(nnapi.tensor("float32", (1, 40, 40, 8)), "x")
    y = model.add_operand(nnapi.tensor("float32", (1, 40, 40, 8)), "y")
    branches = []
    for length in (2, 1):
        index = model.add_operand(nnapi.OperandType(nnapi.OperandCode.MODEL))
        model.set_operand_value_from_model(index, chain(length))
        branches.append(index)
    model.add_operation(nnapi.OperationCode.IF, [flag, *branches, x], [y])
    model.identify_inputs_and_outputs([flag, x], [y])
    model.finish()
    found = graph_data(nnapi.compile(model, [fast(), nnapi.device("nnapi-reference")]).plan)
    assert [part["title"] for part in found["nested"]] == ["IF #0, if true", "IF #0, else"]
    assert [len(part["graph"]["operations"]) for part in found["nested"]] == [2, 1]
    assert "fast" in devices(found)
