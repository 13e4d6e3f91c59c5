"""Operators in forms that ONNX's own tests of nodes do not have: old opsets, pieces without elements, coarse codes."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402

X = np.random.default_rng(3).uniform(-2, 2, (2, 3, 4, 5)).astype(np.float32)


def loaded(nodes: list[Any], constants: dict[str, Any] | None = None, opset: int = 17, x: Any = X) -> nnapi.Model:
    """A model of one input ``x`` and one output ``y``."""
    elem = helper.np_dtype_to_tensor_dtype(x.dtype)
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    ends = [helper.make_tensor_value_info("x", elem, x.shape), onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return nnapi.load(proto.SerializeToString())


def computed(model: nnapi.Model, x: Any = X) -> Any:
    return nnapi.compile(model, "nnapi-reference").run(x)[0]


@pytest.mark.parametrize(("shape", "axis"), [((3, 4), 1), ((3,), 1), ((3, 4), -3), ((2, 3), 0), ((4, 1), 2)])
@pytest.mark.parametrize(("kind", "function"), [("Add", np.add), ("Sub", np.subtract), ("Pow", np.power)])
def test_before_opset_7_a_second_input_lies_along_an_axis(kind: str, function: Any, shape: Any, axis: int) -> None:
    x, c = np.abs(X) + 0.1, np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(np.float32)
    node = helper.make_node(kind, ["x", "c"], ["y"], broadcast=1, axis=axis)
    first = axis % 4
    wide = c.reshape((1,) * first + shape + (1,) * (4 - first - len(shape)))
    np.testing.assert_allclose(computed(loaded([node], {"c": c}, opset=6), x), function(x, wide), 1e-5)


def test_a_computed_input_lies_along_an_axis_too() -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], axes=[0, 2, 3], keepdims=0),
        helper.make_node("Sub", ["x", "m"], ["y"], broadcast=1, axis=1),
    ]
    np.testing.assert_allclose(computed(loaded(nodes, opset=6)), X - X.max((0, 2, 3))[:, None, None], 1e-6)


def test_slopes_before_opset_7_are_of_channels() -> None:
    slopes = np.array([0.1, 0.2, 0.3], np.float32)
    model = loaded([helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": slopes}, opset=6)
    np.testing.assert_allclose(computed(model), np.where(X < 0, X * slopes[:, None, None], X), 1e-6)


@pytest.mark.parametrize("opset", [9, 17, 22])
def test_functions_are_read_in_opsets_before_they_were_written(opset: int) -> None:
    model = loaded([helper.make_node("HardSigmoid", ["x"], ["y"], alpha=0.25, beta=0.4)], opset=opset)
    np.testing.assert_allclose(computed(model), np.clip(0.25 * X + 0.4, 0, 1), 1e-6)
    model = loaded([helper.make_node("Shrink", ["x"], ["y"], lambd=1.0, bias=0.5)], opset=opset)
    np.testing.assert_allclose(computed(model), np.where(X < -1, X + 0.5, np.where(X > 1, X - 0.5, 0)), 1e-6)


def test_pieces_without_elements_are_left_out() -> None:
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["a", "b", "c"], axis=3),
        helper.make_node("Concat", ["c", "b", "a"], ["y"], axis=3),
    ]
    sizes = np.array([2, 0, 3], np.int64)
    found = computed(loaded(nodes, {"sizes": sizes}))
    np.testing.assert_array_equal(found, np.concatenate([X[..., 2:], X[..., :2]], 3))


def test_a_mean_into_finer_codes_is_computed_in_real_numbers() -> None:
    x = np.random.default_rng(2).integers(0, 256, (1, 8, 6), np.uint8)
    constants = {"s": np.float32(0.1), "z": np.uint8(128), "t": np.float32(0.01), "u": np.uint8(130)}
    constants |= {"v": np.float32(0.2)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["m"], axes=[1], keepdims=0),
        helper.make_node("QuantizeLinear", ["m", "t", "u"], ["y"]),
    ]
    mean = ((x.astype(np.float64) - 128) * 0.1).mean(1)
    found = computed(loaded(nodes, constants, x=x), x)
    assert np.abs(found - np.clip(np.rint(mean / 0.01) + 130, 0, 255)).max() <= 1
    nodes[2] = helper.make_node("QuantizeLinear", ["m", "v", "u"], ["y"])
    coarse = loaded(nodes, constants, x=x)
    assert OperationCode.MEAN in [call.code for call in coarse.operations]
    assert np.abs(computed(coarse, x) - np.clip(np.rint(mean / 0.2) + 130, 0, 255)).max() <= 1


def test_what_follows_a_refused_node_is_not_refused_for_being_known() -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["n"]),
        helper.make_node("Shape", ["n"], ["s"]),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
    ]
    with pytest.raises(UnsupportedOperationsError) as caught:
        loaded(nodes)
    assert [each.operation for each in caught.value.refusals] == ["NonZero"]


def test_constants_that_a_file_asks_to_be_made() -> None:
    """As tests of whole networks have them, whose weights are all of one number."""
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["w"]), helper.make_node("Add", ["x", "w"], ["y"])]
    assert np.array_equal(computed(loaded(nodes, {"n": np.array(X.shape)})), X)
    with pytest.raises(UnsupportedOperationsError, match="bytes of constants that are not in the file"):
        loaded(nodes, {"n": np.array([1 << 16, 1 << 16])})
