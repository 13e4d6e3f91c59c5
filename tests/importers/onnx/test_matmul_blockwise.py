"""DequantizeLinear with a scale for each block: weights that only a product reads stay packed."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.engines import DEVICES, find_device  # noqa: E402

RANDOM = np.random.default_rng(2)
RANGES: dict[int, tuple[int, int]] = {
    TensorProto.INT4: (-8, 8),
    TensorProto.UINT4: (0, 16),
    TensorProto.INT8: (-128, 128),
    TensorProto.UINT8: (0, 256),
}
ROWS, UNITS, SIZE = 40, 6, 16


class Weights:
    """Integers of a matrix [40, 6], in blocks of 16 rows, with scales and zero points."""

    def __init__(self, elem: int, has_points: bool, is_transposed: bool) -> None:
        low, high = RANGES[elem]
        self.elem, self.axis = elem, int(is_transposed)
        self.values = RANDOM.integers(low, high, (ROWS, UNITS))
        self.scales = RANDOM.uniform(0.01, 0.1, (3, UNITS)).astype(np.float32)
        self.points = RANDOM.integers(low, high, (3, UNITS)) if has_points else None

    @property
    def floats(self) -> Any:
        points = 0 if self.points is None else self.points.repeat(SIZE, 0)[:ROWS]
        return ((self.values - points) * self.scales.repeat(SIZE, 0)[:ROWS]).astype(np.float32)

    def initializers(self) -> list[Any]:
        arrays: list[tuple[str, int, Any]] = [("w", self.elem, self.values), ("s", TensorProto.FLOAT, self.scales)]
        arrays += [] if self.points is None else [("z", self.elem, self.points)]
        laid = [(name, elem, array.T if self.axis else array) for name, elem, array in arrays]
        return [helper.make_tensor(name, elem, array.shape, array.reshape(-1).tolist()) for name, elem, array in laid]

    def node(self) -> Any:
        names = ["w", "s"] if self.points is None else ["w", "s", "z"]
        return helper.make_node("DequantizeLinear", names, ["f"], axis=self.axis, block_size=SIZE)


def load(weights: Weights, *nodes: Any, shape: Any = (2, 3, ROWS), others: Any = ()) -> nnapi.Model:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    found = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([weights.node(), *nodes], "g", [given], [found], [*weights.initializers(), *others])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return nnapi.load(proto.SerializeToString())


def names_of(model: nnapi.Model) -> list[str]:
    return [call.name for call in model.operations if call.name != "RESHAPE"]


WAYS = {
    "MatMul": (False, [helper.make_node("MatMul", ["x", "f"], ["y"])]),
    "Transpose, MatMul": (
        True,
        [helper.make_node("Transpose", ["f"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["y"])],
    ),
}


@each_row("way", WAYS)
@each_row("has_points", [False, True])
@each_row("elem", RANGES, ids=TensorProto.DataType.Name)
def test_products(elem: int, has_points: bool, way: str) -> None:
    is_transposed, nodes = WAYS[way]
    weights = Weights(elem, has_points, is_transposed)
    model = load(weights, *nodes)
    assert names_of(model) == ["BLOCKWISE_FULLY_CONNECTED"]
    x = RANDOM.normal(size=(2, 3, ROWS)).astype(np.float32)
    found = nnapi.compile(model, "nnapi-reference", cache=False).run(x)[0]
    np.testing.assert_allclose(found, x @ weights.floats, 1e-5, 1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("is_transposed", "bias"), [(False, None), (True, (UNITS,)), (True, (2, UNITS))])
def test_gemm(is_transposed: bool, bias: Any, device: str) -> None:
    """Gemm adds a bias of one element for each unit, and others behind the product."""
    weights = Weights(TensorProto.INT4, True, is_transposed)
    added = np.zeros(UNITS, np.float32) if bias is None else RANDOM.normal(size=bias).astype(np.float32)
    others = [] if bias is None else [helper.make_tensor("c", TensorProto.FLOAT, bias, added.reshape(-1).tolist())]
    names = ["x", "f"] if bias is None else ["x", "f", "c"]
    model = load(
        weights, helper.make_node("Gemm", names, ["y"], transB=int(is_transposed)), shape=(2, ROWS), others=others
    )
    assert names_of(model) == ["BLOCKWISE_FULLY_CONNECTED", *(["ADD"] if bias == (2, UNITS) else [])]
    x = RANDOM.normal(size=(2, ROWS)).astype(np.float32)
    found = nnapi.compile(model, find_device(device), cache=False).run(x)[0]
    np.testing.assert_allclose(found, x @ weights.floats + added, 1e-5, 1e-4)


@pytest.mark.parametrize(
    "nodes",
    [
        [helper.make_node("MatMul", ["x", "f"], ["m"]), helper.make_node("Add", ["m", "q"], ["y"])],
        [helper.make_node("Gemm", ["x", "f"], ["y"], alpha=2.0)],
        [helper.make_node("Add", ["f", "f"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])],
        [helper.make_node("Transpose", ["f"], ["t"], perm=[0, 1]), helper.make_node("MatMul", ["x", "t"], ["y"])],
    ],
)
def test_other_readers_get_floats(nodes: list[Any]) -> None:
    """Weights whose floats are read, or whose product is scaled, become a constant of floats."""
    weights = Weights(TensorProto.UINT4, True, False)
    head = [helper.make_node("ReduceSum", ["f"], ["q"], keepdims=0)] if nodes[-1].op_type == "Add" else []
    model = load(weights, *head, *nodes, shape=(2, ROWS))
    assert "BLOCKWISE_FULLY_CONNECTED" not in names_of(model)
    x, floats = RANDOM.normal(size=(2, ROWS)).astype(np.float32), weights.floats
    expected = x @ floats + (floats.sum() if head else 0)
    if nodes[0].op_type in ("Gemm", "Add"):
        expected = 2 * expected
    found = nnapi.compile(model, "nnapi-reference", cache=False).run(x)[0]
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_blocks_along_the_units_become_floats() -> None:
    """An axis that the product does not sum over."""
    weights = Weights(TensorProto.INT8, False, True)
    model = load(weights, helper.make_node("MatMul", ["x", "f"], ["y"]), shape=(2, UNITS))
    x = RANDOM.normal(size=(2, UNITS)).astype(np.float32)
    found = nnapi.compile(model, "nnapi-reference", cache=False).run(x)[0]
    np.testing.assert_allclose(found, x @ weights.floats.T, 1e-5, 1e-4)


def test_zero_points_of_another_shape_are_refused() -> None:
    weights = Weights(TensorProto.INT8, True, False)
    weights.points = weights.points[:2] if weights.points is not None else None
    with pytest.raises(BadDataError, match="its zero points have another shape than its scales"):
        load(weights, helper.make_node("MatMul", ["x", "f"], ["y"]))
