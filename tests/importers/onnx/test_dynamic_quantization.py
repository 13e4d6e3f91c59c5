"""Products that ONNX Runtime's tool quantizes dynamically become one operation with quantized weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.importers.onnx.dynamic_quantization import join_products
from tests.importers.onnx.file_nodes import decoded

pytest.importorskip("onnx", reason="onnx is an extra: nnapi[onnx]")
import onnx
from onnx import helper, numpy_helper

rng = np.random.default_rng(3)
X = rng.normal(size=(2, 6, 8)).astype(np.float32)
WEIGHTS = rng.integers(-127, 128, (8, 5), np.int8)
SCALE = np.float32(0.01)
WINDOW: dict[str, Any] = {"strides": [2, 2], "pads": [1, 0, 1, 0]}


def made(*, cast_is_read: bool = False, zero_point: int = 0, products: int = 1) -> onnx.ModelProto:
    """A file whose products read one quantized input."""
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])]
    for i in range(products):
        nodes += [
            helper.make_node("MatMulInteger", ["q", "w", "z", "p"], [f"i{i}"]),
            helper.make_node("Cast", [f"i{i}"], [f"f{i}"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", ["s", "k"], [f"ks{i}"]),
            helper.make_node("Mul", [f"f{i}", f"ks{i}"], [f"y{i}"]),
        ]
    names = [f"y{i}" for i in range(products)] + ["f0"] * cast_is_read
    constants = [
        numpy_helper.from_array(np.asarray(value), name)
        for value, name in ((WEIGHTS, "w"), (np.int8(zero_point), "p"), (SCALE, "k"))
    ]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)
    return file_of(nodes, given, names, constants)


def file_of(nodes: Any, given: onnx.ValueInfoProto, outputs: Sequence[str], constants: Any) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name=name) for name in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def codes_of(model: nnapi.Model) -> set[Any]:
    return {call.code for call in model.operations}


@pytest.mark.parametrize("zero_point", [0, 3])
def test_products_of_one_quantized_input_are_joined(zero_point: int) -> None:
    model = nnapi.load(made(zero_point=zero_point, products=2).SerializeToString())
    assert codes_of(model) <= {OperationCode.DEQUANTIZE, OperationCode.FULLY_CONNECTED, OperationCode.RESHAPE}
    assert (OperationCode.DEQUANTIZE in codes_of(model)) is (zero_point == 0)
    assert model.dynamic_range
    expected = X @ ((WEIGHTS.astype(np.float32) - zero_point) * SCALE)
    for found in nnapi.compile(model, "nnapi-reference").run(X):
        np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_a_product_whose_sums_are_read_stays_exact() -> None:
    model = nnapi.load(made(cast_is_read=True).SerializeToString())
    assert not model.dynamic_range
    found, sums = nnapi.compile(model, "nnapi-reference").run(X)
    assert (sums == np.rint(sums)).all()
    np.testing.assert_allclose(found, X @ (WEIGHTS * SCALE), 0, 0.1)


@pytest.mark.parametrize(("group", "zero_point", "scales"), [(1, 0, ()), (1, 0, (6, 1, 1)), (1, 3, (1,)), (2, 0, ())])
def test_a_convolution_is_joined(group: int, zero_point: int, scales: tuple[int, ...]) -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("ConvInteger", ["q", "w", "z", "p"], ["i"], group=group, **WINDOW),
        helper.make_node("Cast", ["i"], ["f"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "k"], ["ks"]),
        helper.make_node("Mul", ["f", "ks"], ["y"]),
    ]
    x = rng.normal(size=(1, 4, 9, 9)).astype(np.float32)
    weights = rng.integers(-127, 128, (6, 4 // group, 3, 3), np.int8)
    scale = rng.uniform(0.01, 0.02, scales).astype(np.float32)
    reals = (weights.astype(np.float32) - zero_point) * scale.reshape((-1, 1, 1, 1))
    constants = [
        numpy_helper.from_array(np.asarray(value), name)
        for value, name in ((weights, "w"), (np.int8(zero_point), "p"), (scale, "k"), (reals, "reals"))
    ]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)
    found, expected = (
        nnapi.load(file_of(chosen, given, ["y"], constants).SerializeToString())
        for chosen in (nodes, [helper.make_node("Conv", ["x", "reals"], ["y"], group=group, **WINDOW)])
    )
    assert found.dynamic_range
    assert (OperationCode.DEQUANTIZE in codes_of(found)) is (group == 1 and zero_point == 0)
    assert not {OperationCode.DIV, OperationCode.CAST} & codes_of(found)
    ours, float_result = (nnapi.compile(model, "nnapi-reference").run(x)[0] for model in (found, expected))
    np.testing.assert_allclose(ours, float_result, 1e-4, 1e-4)


def product_nodes() -> dict[str, onnx.NodeProto]:
    return {
        "quantization": helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        "product": helper.make_node("MatMulInteger", ["q", "w", "z", "p"], ["i"], name="whole"),
        "cast": helper.make_node("Cast", ["i"], ["f"], to=onnx.TensorProto.FLOAT),
        "scales": helper.make_node("Mul", ["s", "k"], ["ks"]),
        "scaling": helper.make_node("Mul", ["f", "ks"], ["y"]),
    }


CHANGES: dict[str, tuple[bool, dict[str, Any]]] = {
    "none": (True, {}),
    "the scales in the other order": (True, {"scales": helper.make_node("Mul", ["k", "s"], ["ks"])}),
    "the factors in the other order": (True, {"scaling": helper.make_node("Mul", ["ks", "f"], ["y"])}),
    "no zero point of the weights": (True, {"product": helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"])}),
    "no zero point": (False, {"product": helper.make_node("MatMulInteger", ["q", "w"], ["i"])}),
    "another zero point": (False, {"product": helper.make_node("MatMulInteger", ["q", "w", "p8", "p"], ["i"])}),
    "a cast to other floats": (False, {"cast": helper.make_node("Cast", ["i"], ["f"], to=onnx.TensorProto.DOUBLE)}),
    "no cast": (False, {"cast": helper.make_node("Abs", ["i"], ["f"])}),
    "a sum of both": (False, {"scaling": helper.make_node("Add", ["f", "ks"], ["y"])}),
    "a sum of the scales": (False, {"scales": helper.make_node("Add", ["s", "k"], ["ks"])}),
    "another scale": (False, {"scales": helper.make_node("Mul", ["k", "k"], ["ks"])}),
    "scales that are no product": (False, {"scaling": helper.make_node("Mul", ["f", "k"], ["y"])}),
    "another domain": (False, {"scaling": helper.make_node("Mul", ["f", "ks"], ["y"], domain="mine")}),
}


def joined(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str] = ("y",)) -> list[str]:
    return [node.proto.op_type for node in join_products(decoded(nodes), outputs)]


@pytest.mark.parametrize("change", CHANGES)
def test_only_the_pattern_of_a_product_is_joined(change: str) -> None:
    is_product, changes = CHANGES[change]
    nodes = list((product_nodes() | changes).values())
    unchanged = [node.op_type for node in nodes]
    assert joined(nodes) == (["DynamicQuantizeMatMul"] if is_product else unchanged)
    if is_product:
        (node,) = join_products(decoded(nodes), ["y"])
        assert list(node.inputs) == ["x", "w", "k", *nodes[1].input[3:]]
        assert (list(node.outputs), node.proto.name, node.domain) == (["y"], nodes[1].name, "com.microsoft")


def test_a_convolution_is_joined_if_its_filter_and_scale_are_constants() -> None:
    nodes = product_nodes()
    nodes["product"] = helper.make_node("ConvInteger", ["q", "w", "z"], ["i"], strides=[2, 1])
    (node,) = join_products(decoded(list(nodes.values())), ["y"])
    assert node.kind == "com.microsoft:DynamicQuantizeConv"
    assert [each.name for each in node.proto.attribute] == ["strides"]
    for name in "wk":
        given = [helper.make_node("Identity", ["v"], [name]), *nodes.values()]
        assert joined(given) == [each.op_type for each in given]
        given[2] = product_nodes()["product"]
        assert joined(given) == ["Identity", "DynamicQuantizeMatMul"]


@pytest.mark.parametrize(
    ("read", "kept"),
    [
        ("q", ["DynamicQuantizeLinear", "DynamicQuantizeMatMul"]),
        ("z", ["DynamicQuantizeLinear", "DynamicQuantizeMatMul"]),
        ("ks", ["DynamicQuantizeLinear", "Mul", "DynamicQuantizeMatMul"]),
        ("i", ["DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul"]),
        ("f", ["DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul"]),
    ],
)
def test_nodes_that_others_read_stay(read: str, kept: list[str]) -> None:
    nodes = list(product_nodes().values())
    assert joined(nodes, ["y", read]) == kept
    reader = helper.make_node("Neg", [read], ["n"])
    assert joined([*nodes, reader], ["y", "n"]) == [*kept, "Neg"]
    branch = helper.make_graph([reader], "branch", [], [onnx.ValueInfoProto(name="n")])
    chosen = helper.make_node("If", ["c"], ["m"], then_branch=branch, else_branch=branch)
    assert joined([*nodes, chosen], ["y", "m"]) == [*kept, "If"]


def test_products_of_the_input_by_itself_are_not_joined() -> None:
    nodes = list(product_nodes().values())
    nodes[1] = helper.make_node("MatMulInteger", ["q", "q", "z", "z"], ["i"])
    assert joined(nodes) == [node.op_type for node in nodes]
    nodes[0], nodes[1] = helper.make_node("Identity", ["x"], ["q", "s", "z"]), product_nodes()["product"]
    assert joined(nodes) == [node.op_type for node in nodes]
