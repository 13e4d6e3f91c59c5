"""Axes that are merged, and integers that are moved by other operations than floats."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")

from onnx import TensorProto, helper, numpy_helper

from nnapi import compile, load
from nnapi.importers.graph import INT32, Allowance, Graph, Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.movement import collapse, merge_axes, without_axis
from nnapi.model.operand import OperandType
from tests.engines import DEVICES, find_device
from tests.importers.onnx.operator_cases import chain, compare, single, step


@pytest.mark.parametrize(
    ("shape", "order", "merged", "order_of_merged"),
    [
        ((2, 3, 4, 5, 6), (3, 4, 0, 1, 2), [24, 30], [1, 0]),
        ((2, 3, 4, 5, 6), (0, 2, 1, 3, 4), [2, 3, 4, 30], [0, 2, 1, 3]),
        ((2, 3, 4, 5, 6), (4, 3, 2, 1, 0), [2, 3, 4, 5, 6], [4, 3, 2, 1, 0]),
        ((2, 1, 3, 1, 4), (4, 1, 0, 3, 2), [6, 4], [1, 0]),
        ((2, 3, 1, 4, 5), (3, 0, 2, 1, 4), [6, 4, 5], [1, 0, 2]),
        ((2, 3, 4, 5, 6), (0, 1, 2, 3, 4), [720], [0]),
        ((1, 1, 1, 1, 1), (4, 3, 2, 1, 0), [], []),
        ((2, 3, 4), (0, 2, 1), [2, 3, 4], [0, 2, 1]),
    ],
)
def test_axes_that_stay_neighbors_are_merged(shape: Any, order: Any, merged: Any, order_of_merged: Any) -> None:
    assert merge_axes(shape, order) == (merged, order_of_merged)
    x = np.arange(np.prod(shape)).reshape(shape)
    assert (x.reshape(merged).transpose(order_of_merged).reshape(-1) == x.transpose(order).reshape(-1)).all()


@pytest.mark.parametrize(
    ("shape", "kinds", "sizes", "positions"),
    [
        ((2, 3, 4, 5), "aabb", (6, 20), [0, 0, 1, 1]),
        ((2, 3, 4, 5), "abab", (2, 3, 4, 5), [0, 1, 2, 3]),
        ((2, 3, 4, 5), "aaaa", (120,), [0, 0, 0, 0]),
        ((2, 3, 4), "abb", (2, 12), [0, 1, 1]),
        ((2,), [None], (2,), [0]),
        ((), "", (), []),
    ],
)
def test_neighbors_of_one_kind_are_merged(shape: Any, kinds: Any, sizes: Any, positions: list[int]) -> None:
    assert collapse(shape, kinds) == (sizes, positions)


@pytest.mark.parametrize(
    ("shape", "axis", "rest"), [((2, 3, 4), 0, (3, 4)), ((2, 3, 4), 1, (2, 4)), ((2, 3, 4), 2, (2, 3)), ((5,), 0, (1,))]
)
def test_a_shape_without_an_axis_has_one_element_at_least(shape: Any, axis: int, rest: Any) -> None:
    assert without_axis(shape, axis) == rest


INTS = np.arange(60, dtype=np.int32).reshape(3, 4, 5)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_integers_are_concatenated_by_one_operation(axis: int) -> None:
    more = np.arange(100, 100 + 2 * 60 // INTS.shape[axis], dtype=np.int32)
    more = more.reshape(*INTS.shape[:axis], 2, *INTS.shape[axis + 1 :])
    compare(single("Concat", INTS, more, axis=axis), INTS, "CONCATENATION_V2")


@pytest.mark.parametrize("device", DEVICES)
def test_integers_of_dynamic_dimensions_are_concatenated(device: str) -> None:
    """All bits of them, also in tensors without elements."""
    x = np.array([[2**31 - 1, -(2**31)], [2**24 + 1, -1]], np.int32)
    nodes = [helper.make_node("Concat", ["x", "c", "x"], ["y"], axis=0)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT32, ["n", 2])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, ["m", 2])],
        [numpy_helper.from_array(x[:1], "c")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with compile(load(proto.SerializeToString()), find_device(device), cache=False) as compiled:
        for rows in (2, 1):
            found = compiled.run(x[:rows])[0]
            np.testing.assert_array_equal(found, np.concatenate([x[:rows], x[:1], x[:rows]]))


@pytest.mark.parametrize("perm", [[2, 0, 1], [0, 2, 1]])
def test_integers_are_transposed_by_their_indices(perm: list[int]) -> None:
    nodes = step("Transpose", perm=perm), step("Add", np.array([1], np.int32))
    compare(chain(INTS, *nodes), INTS, "RESHAPE GATHER RESHAPE ADD")


def test_integers_of_which_either_dimension_is_unknown_are_transposed() -> None:
    for shape in ((2, 0), (0, 2)):
        emitter = GraphEmitter(Graph(Allowance(0)), "y")
        moved = emitter.transpose(Value(OperandType(INT32, shape), "x"), [1, 0])
        assert [step.code.name for step in emitter.graph.steps] == ["SPLIT", "RESHAPE", "RESHAPE", "PACK"]
        assert moved.shape == shape[::-1]
