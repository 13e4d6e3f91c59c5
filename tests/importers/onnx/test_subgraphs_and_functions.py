"""The conversion of nodes: functions of the file, names of subgraphs, limits, refusals that name their node."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402
from tests.importers.onnx.literal_cases import file_of, node, reasons, results, subgraph  # noqa: E402

X = np.array([1, -2, 3], np.float32)


def function(name: str, inputs: str, outputs: str, nodes: list[Any], domain: str = "mine") -> Any:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_function(domain, name, inputs.split(), outputs.split(), nodes, opsets)


def with_functions(nodes: list[Any], functions: list[Any], constants: dict[str, Any], outputs: str = "y") -> bytes:
    proto = onnx.load_from_string(file_of(nodes, {"x": X}, constants, outputs))
    proto.functions.extend(functions)
    content: bytes = proto.SerializeToString()
    return content


def computed(content: bytes) -> list[Any]:
    return [np.asarray(each).tolist() for each in nnapi.compile(nnapi.load(content), "nnapi-reference").run(X)]


def listed(content: bytes) -> list[tuple[str, str, str]]:
    with pytest.raises(UnsupportedOperationsError) as caught:
        nnapi.load(content)
    return [(each.operation, each.name, each.reason) for each in caught.value.refusals]


def test_an_input_of_a_function_may_be_left_out() -> None:
    body = [node("Clip", "a low high", "c"), node("Add", "c c", "b")]
    limited = function("Limited", "a low high", "b", body)
    constants = {"zero": np.float32(0), "two": np.float32(2)}
    for inputs, expected in (
        ("x zero two", [2, 0, 4]),
        ("x - two", [2, -4, 4]),
        ("x zero -", [2, 0, 6]),
        ("x zero", [2, 0, 6]),
        ("x", [2, -4, 6]),
    ):
        content = with_functions([node("Limited", inputs, domain="mine")], [limited], constants)
        assert computed(content) == [expected]


def test_functions_read_each_other_and_name_their_own_tensors() -> None:
    """The names of their tensors may be those of the graph."""
    inner = function("Twice", "x", "y", [node("Add", "x x", "y")])
    outer = function("Both", "y x", "a t", [node("Twice", "y", "t", "mine"), node("Sub", "t x", "a")])
    nodes = [node("Neg", "x", "t"), node("Both", "t x", "y z", "mine")]
    assert computed(with_functions(nodes, [inner, outer], {}, "y z")) == [[-3, 6, -9], [-2, 4, -6]]


def test_a_function_of_the_file_precedes_a_rule_and_the_folding_of_constants() -> None:
    negative = function("Neg", "a", "b", [node("Mul", "a a", "b")], domain="")
    constants = {"c": np.array([5, 6, 7], np.float32)}
    nodes = [node("Neg", "c", "n"), node("Neg", "x", "m"), node("Add", "n m")]
    assert computed(with_functions(nodes, [negative], constants)) == [[26, 40, 58]]


@pytest.mark.parametrize(("depth", "is_read"), [(20, True), (21, False)])
def test_functions_lie_in_each_other_at_most_20_deep(depth: int, is_read: bool) -> None:
    functions = [function("F0", "a", "b", [node("Neg", "a", "b")])]
    functions += [function(f"F{k}", "a", "b", [node(f"F{k - 1}", "a", "b", "mine")]) for k in range(1, depth)]
    content = with_functions([node(f"F{depth - 1}", "x", domain="mine")], functions, {})
    if is_read:
        assert computed(content) == [[-1, 2, -3]]
    else:
        ((kind, name, reason),) = listed(content)
        assert (kind, name) == ("F20", "y")
        assert reason.endswith("functions lie more than 20 deep in each other")


@pytest.mark.parametrize(("most", "is_read"), [(4, True), (3, False)])
def test_the_nodes_of_functions_are_counted(most: int, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is a node, too."""
    monkeypatch.setattr("nnapi.importers.onnx.scope.MOST_NODES", most)
    monkeypatch.setattr("nnapi.importers.onnx.convert.MOST_NODES", most)
    twice = function("Twice", "a", "b", [node("Add", "a a", "t"), node("Neg", "t", "b")])
    content = with_functions([node("Twice", "x", "t", "mine"), node("Neg", "t")], [twice], {})
    if is_read:
        assert computed(content) == [[2, -4, 6]]
    else:
        with pytest.raises(nnapi.NnapiError, match="inlining makes more than 3 nodes"):
            nnapi.load(content)


def test_names_of_a_subgraph_hide_those_around_it() -> None:
    """The branch writes a tensor, and has a constant, of names that the graph has, too."""
    branch = helper.make_graph(
        [node("Mul", "x c", "t"), node("Neg", "t", "r")],
        "branch",
        [],
        [onnx.ValueInfoProto(name="r")],
        [numpy_helper.from_array(np.array(10, np.float32), "c")],
    )
    choice = node("If", "yes", "z", then_branch=branch, else_branch=subgraph([], "", "x"))
    nodes = [node("Add", "x c", "t"), choice, node("Sub", "t z")]
    assert results(nodes, {"x": X}, {"c": np.float32(100), "yes": True}) == [[111, 78, 133]]


def test_the_steps_of_a_loop_have_names_of_their_own() -> None:
    body = subgraph([node("Add", "a a", "t"), node("Identity", "on", "o")], "i on a", "o t")
    nodes = [node("Neg", "x", "t"), node("Loop", "n - x", "z", body=body), node("Sub", "t z")]
    assert results(nodes, {"x": X}, {"n": np.array(3)}) == [[-9, 18, -27]]


def test_a_refusal_names_its_node() -> None:
    """By its name, else its first output that has one."""
    nodes = [
        helper.make_node("Det", ["x"], ["a"], name="first"),
        helper.make_node("Det", ["x"], ["b"]),
        helper.make_node("TopK", ["x", "zero"], ["", "c"]),
        helper.make_node("Det", ["x"], []),
        helper.make_node("Det", ["x"], [""]),
    ]
    found = listed(file_of(nodes, {"x": X}, {"zero": np.array([0])}, "a"))
    assert [each[:2] for each in found] == [
        ("Det", "first"),
        ("Det", "b"),
        ("TopK", "c"),
        ("Det", "without output"),
        ("Det", "without output"),
    ]


def test_what_reads_a_refused_tensor_is_refused_only_for_itself() -> None:
    """A node with a rule is not; one without, or of an unknown domain, is."""
    nodes = [
        node("Det", "x", "a"),
        node("Relu", "a", "b"),
        node("Size", "b", "s"),
        node("RandomUniformLike", "b", "c"),
        node("Whatever", "c", "d", domain="mine"),
        node("Size", "d", "e", domain="mine"),
    ]
    assert [each[:2] for each in listed(file_of(nodes, {"x": X}, {}, "e"))] == [
        ("Det", "a"),
        ("RandomUniformLike", "c"),
        ("Whatever", "d"),
        ("Size", "e"),
    ]
    assert reasons([node("Whatever", "x", domain="mine")], {"x": X}) == ["operators of the domain mine are not read"]


def test_a_name_is_written_once() -> None:
    assert reasons([node("Neg", "x", "y"), node("Abs", "x", "y")], {"x": X}) == ["y is written twice"]
    assert reasons([node("Neg", "x", "x"), node("Abs", "x", "y")], {"x": X}) == ["x is written twice"]


def test_a_constant_of_a_type_that_nnapi_lacks() -> None:
    proto = onnx.load_from_string(file_of([node("Add", "x c"), node("Neg", "x", "z")], {"x": X}, {}, "y z"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(["text"], object), "c"))
    ((kind, name, reason),) = listed(proto.SerializeToString())
    assert (kind, name) == ("initializer", "c")
    assert "type" in reason


@pytest.mark.parametrize("elem", [TensorProto.INT4, TensorProto.UINT4])
def test_constants_of_4_bits_are_dequantized(elem: int) -> None:
    values = [-8, 7, 3] if elem == TensorProto.INT4 else [0, 15, 3]
    nodes = [node("DequantizeLinear", "c s", "d"), node("Add", "x d")]
    proto = onnx.load_from_string(file_of(nodes, {"x": X}, {"s": np.float32(0.5)}, opset=21))
    proto.graph.initializer.append(helper.make_tensor("c", elem, [3], values))
    proto.ir_version = 10
    assert computed(proto.SerializeToString()) == [(X + np.array(values) * 0.5).tolist()]


def test_an_operator_that_onnx_defines_by_others() -> None:
    """The reasons within name the operator that is defined; without a definition it is refused itself."""
    assert results([node("Celu", "x", alpha=2.0)], {"x": X}) == [[1, pytest.approx(2 * np.expm1(-1)), 3]]
    det = function("Outer", "a", "b", [node("Det", "a", "b"), node("Det", "b", "c")])
    found = listed(with_functions([node("Outer", "x", domain="mine")], [det], {}))
    ((kind, name, reason),) = found
    assert (kind, name) == ("Outer", "y")
    assert reason.startswith("its definition in ONNX uses Det: ")


@pytest.mark.parametrize(("elem", "name"), [(TensorProto.INT4, "INT4"), (TensorProto.UINT4, "UINT4")])
def test_constants_of_4_bits_are_not_those_of_8(elem: int, name: str) -> None:
    proto = onnx.load_from_string(file_of([node("Gather", "c x")], {"x": np.array([1, 0])}, {}, opset=21))
    proto.graph.initializer.append(helper.make_tensor("c", elem, [3], [1, 2, 3]))
    assert [each[2] for each in listed(proto.SerializeToString())] == [
        f"c is of type {name}, which NNAPI does not have"
    ]


@pytest.mark.parametrize(("kind", "name"), [("If", "then_branch"), ("Loop", "body"), ("Scan", "body")])
def test_a_missing_subgraph_is_named(kind: str, name: str) -> None:
    attributes: dict[str, Any] = {"num_scan_inputs": 1} if kind == "Scan" else {}
    ((*_, reason),) = listed(file_of([node(kind, "x", **attributes)], {"x": X}, {}))
    assert reason == f"it has no graph {name}"
