"""Products that ONNX Runtime's tool quantizes dynamically become one operation with quantized weights."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import nnapi
from nnapi.codes import OperationCode

rng = np.random.default_rng(3)
X = rng.normal(size=(2, 6, 8)).astype(np.float32)
WEIGHTS = rng.integers(-127, 128, (8, 5), np.int8)
SCALE = np.float32(0.01)


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
    graph = helper.make_graph(nodes, "g", [given], [onnx.ValueInfoProto(name=name) for name in names], constants)
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
