"""Patterns that exporters of networks write: computed indices, rearranged weights, nested branches."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402
from tests.importers.onnx.operator_cases import X, computed, loaded  # noqa: E402


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND", "GatherND"])
def test_computed_indices(kind: str, axis: int) -> None:
    """Negative ones count from the end; of several updates of one position the last one stays."""
    rng = np.random.default_rng(axis)
    data, depth = rng.normal(size=(3, 4, 5)).astype(np.float32), axis + 1
    if kind == "ScatterElements":
        shape = [3, 4, 5]
        shape[axis] = 2
        indices = rng.integers(-data.shape[axis], data.shape[axis], shape)
        node = helper.make_node(kind, ["x", "i", "u"], ["y"], axis=axis)
    else:
        shape = [4, depth]
        indices = np.stack([rng.integers(-size, size, 4) for size in data.shape[:depth]], -1)
        node = helper.make_node(kind, ["x", "i", "u"][: 2 if kind == "GatherND" else 3], ["y"])
    updates = rng.normal(size=shape if kind == "ScatterElements" else (4, *data.shape[depth:])).astype(np.float32)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, data.shape),
        helper.make_tensor_value_info("i", TensorProto.INT64, indices.shape),
        helper.make_tensor_value_info("u", TensorProto.FLOAT, updates.shape),
    ]
    graph = helper.make_graph([node], "g", inputs[: len(node.input)], [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if kind == "ScatterElements":
        expected = data.copy()
        for place in np.ndindex(*indices.shape):
            target = list(place)
            target[axis] = indices[place]
            expected[tuple(target)] = updates[place]
    elif kind == "ScatterND":
        expected = data.copy()
        for row, update in zip(indices, updates, strict=True):
            expected[tuple(row)] = update
    else:
        expected = np.stack([data[tuple(row)] for row in indices])
    given = [data, indices.astype(np.int32), updates][: len(node.input)]
    (found,) = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference").run(*given)
    np.testing.assert_array_equal(found, expected)


def test_updates_are_added_at_computed_indices() -> None:
    inputs = [
        helper.make_tensor_value_info(name, elem, [2, 2])
        for name, elem in (("x", TensorProto.FLOAT), ("i", TensorProto.INT64), ("u", TensorProto.FLOAT))
    ]
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], reduction="add")
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    x, u = np.array([[1, 2], [3, 4]], np.float32), np.array([[10, 20], [30, 40]], np.float32)
    compilation = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference")
    assert compilation.run(x, np.array([[1, 1], [1, -2]], np.int32), u)[0].tolist() == [[1, 42], [43, 24]]


def test_gather_elements_of_long_constants() -> None:
    """ONNX's own reference fails beyond 64 elements along the axis."""
    rng = np.random.default_rng(0)
    data, indices = rng.normal(size=(3, 512)).astype(np.float32), rng.integers(-512, 512, (2, 60))
    nodes = [
        helper.make_node("GatherElements", ["d", "i"], ["e"], axis=1),
        helper.make_node("Add", ["x", "e"], ["y"]),
    ]
    x = np.ones((2, 60), np.float32)
    model = loaded(nodes, {"d": data, "i": indices}, x=x)
    np.testing.assert_array_equal(computed(model, x), 1 + np.take_along_axis(data[:2], indices, 1))


def test_weights_of_lstm_are_rearranged_by_nodes() -> None:
    """Large ones too: what Concat gives is as large as its inputs together."""
    size = 96
    rng = np.random.default_rng(1)
    weights, recurrent = (rng.normal(size=(4 * size, size)).astype(np.float32) * 0.1 for _ in range(2))
    nodes = []
    for name in "WR":
        parts = [f"{name}{k}" for k in range(3)]
        nodes += [helper.make_node("Slice", [f"{name}s", f"b{k}", f"e{k}"], [part]) for k, part in enumerate(parts)]
        nodes.append(helper.make_node("Concat", parts, [f"{name}c"], axis=0))
        nodes.append(helper.make_node("Unsqueeze", [f"{name}c", "zero"], [name]))
    nodes.append(helper.make_node("LSTM", ["x", "W", "R"], ["y"], hidden_size=size))
    bounds = (0, size), (3 * size, 4 * size), (size, 3 * size)
    constants: dict[str, Any] = {"Ws": weights, "Rs": recurrent, "zero": [0]}
    for k, (begin, end) in enumerate(bounds):
        constants |= {f"b{k}": [begin], f"e{k}": [end]}
    x = rng.normal(size=(3, 1, size)).astype(np.float32)
    order = np.r_[tuple(slice(*bound) for bound in bounds)]
    plain = loaded(nodes[-1:], {"W": weights[order][None], "R": recurrent[order][None]}, x=x)
    np.testing.assert_array_equal(computed(loaded(nodes, constants, x=x), x), computed(plain, x))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_cells_of_float16(kind: str) -> None:
    gates, rng = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], np.random.default_rng(2)
    weights, recurrent = (rng.normal(size=(1, gates * 8, depth)) * 0.2 for depth in (4, 8))
    x = rng.normal(size=(5, 1, 4))
    node = helper.make_node(kind, ["x", "W", "R"], ["y"], hidden_size=8)
    found = [
        computed(
            loaded([node], {"W": weights.astype(type), "R": recurrent.astype(type)}, x=x.astype(type)), x.astype(type)
        )
        for type in (np.float16, np.float32)
    ]
    assert found[0].dtype == np.float16
    np.testing.assert_allclose(found[0], found[1], 0, 2e-3)


def test_a_branch_within_a_branch_that_is_known_reads_what_lies_around_both() -> None:
    def out(name: str) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])]

    inner = [
        helper.make_graph([helper.make_node(kind, ["x"], [name])], name, [], out(name))
        for kind, name in (("Neg", "a"), ("Abs", "b"))
    ]
    nested = helper.make_node("If", ["yes"], ["o"], then_branch=inner[0], else_branch=inner[1])
    then = helper.make_graph([nested], "then", [], out("o"))
    otherwise = helper.make_graph([helper.make_node("Exp", ["x"], ["p"])], "else", [], out("p"))
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Greater", ["m", "limit"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise),
    ]
    model = loaded(nodes, {"yes": True, "limit": np.float32(0)}, x=X[0, 0, 0, :2])
    for x in (np.array([1, -2], np.float32), np.array([-1, -2], np.float32)):
        np.testing.assert_allclose(computed(model, x), -x if x.max() > 0 else np.exp(x), 1e-5)


def test_all_that_branches_cannot_express_is_listed() -> None:
    def branch(kind: str) -> Any:
        out = [helper.make_tensor_value_info(kind, TensorProto.INT64, None)]
        return helper.make_graph([helper.make_node(kind, ["x"], [kind])], kind, [], out)

    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("RandomUniformLike"), else_branch=branch("Det")),
    ]
    with pytest.raises(UnsupportedOperationsError) as caught:
        loaded(nodes)
    assert [each.reason.split(": ")[0] for each in caught.value.refusals] == [
        "its subgraph uses RandomUniformLike",
        "its subgraph uses Det",
    ]


def test_branches_behind_a_refused_condition_are_examined() -> None:
    scalar = [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)]
    drawn = helper.make_graph([helper.make_node("RandomNormalLike", ["x"], ["r"])], "drawn", [], scalar)
    absolute = helper.make_graph([helper.make_node("Abs", ["x"], ["r"])], "absolute", [], scalar)
    inner = helper.make_node("If", ["any"], ["r"], then_branch=absolute, else_branch=drawn)
    nested = helper.make_graph([inner], "nested", [], scalar)
    uniform = helper.make_node("RandomUniformLike", ["x"], ["r"])
    chosen = helper.make_graph([uniform], "chosen", [], scalar)
    nodes = [
        helper.make_node("RandomUniformLike", ["x"], ["i"]),
        helper.make_node("Size", ["i"], ["n"]),
        helper.make_node("Cast", ["n"], ["any"], to=TensorProto.BOOL),
        helper.make_node("If", ["any"], ["y"], then_branch=chosen, else_branch=nested),
    ]
    with pytest.raises(UnsupportedOperationsError) as caught:
        loaded(nodes)
    assert {(each.operation, each.reason.rsplit(": ", 1)[0]) for each in caught.value.refusals} == {
        ("RandomUniformLike", "NNAPI's only random operation is RANDOM_MULTINOMIAL"),
        ("If", "its subgraph uses RandomUniformLike"),
        ("If", "its subgraph uses If: its subgraph uses RandomNormalLike"),
    }


def test_notes_on_what_is_unusual() -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    model = loaded(nodes, {"s": np.float32(np.inf), "z": np.uint8(0)})
    assert model.notes == tuple(
        f"s, the scale of {node}, is not finite" for node in ("QuantizeLinear q", "DequantizeLinear y")
    )
    notes = loaded([helper.make_node("Relu", ["x"], ["y"])], opset=99).notes
    assert notes[0].startswith("the file is of opset 99; it is read as opset ")
    assert not loaded([helper.make_node("Relu", ["x"], ["y"])]).notes
