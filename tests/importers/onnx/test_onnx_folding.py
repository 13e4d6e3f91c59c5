"""Folded constants: their size, estimated before they are computed, and the results."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("onnx")
from onnx import helper

from nnapi.importers.onnx import folding
from nnapi.importers.onnx.tensors import OnnxTensor, constant
from nnapi.importers.refusals import Refused

MOST = folding.MOST


@each_row(
    ("kind", "arrays", "shape"),
    [
        ("ConstantOfShape", [[3, 4]], [3, 4]),
        ("ConstantOfShape", [[-3]], [3]),
        ("HannWindow", [[10]], [10]),
        ("ConstantOfShape", [[1] * 9], [MOST + 1]),
        ("EyeLike", [np.zeros((2, 5))], [2, 5]),
        ("Expand", [np.zeros((2, 1)), [3, 1, 4]], [3, 1, 4, 2]),
        ("Tile", [np.zeros((2, 3)), [0, 5]], [1, 5, 6]),
        ("Tile", [np.zeros(0), [2]], [2, 1]),
        ("Range", [1.0, 10.0, 2.0], [5]),
        ("Range", [10, 1, -3], [4]),
        ("Range", [1, 10, 0], [MOST + 1]),
        ("Range", [[1, 2], 10, 1], [MOST + 1]),
        ("Pad", [np.zeros((2, 3)), [1, 0, 2, 4]], [5, 7]),
        ("Pad", [np.zeros((2, 3)), [-1, 0, 0, 0]], [3, 3]),
        ("Pad", [np.zeros(()), []], [1]),
        ("Pad", [np.zeros((2, 3))], [MOST + 1]),
        ("Pad", [np.zeros((1,) * 9), [1] * 18], [MOST + 1]),
        ("OneHot", [[1, 2, 0], 5], [3, 5]),
        ("OneHot", [[1, 2, 0], [5, 6]], [MOST + 1]),
        ("Other", [[1]], [MOST + 1]),
    ],
)
def test_the_shape_that_constants_ask_for(kind: str, arrays: list[Any], shape: list[int]) -> None:
    assert folding._estimate_shape(kind, [np.asarray(array) for array in arrays]) == shape


@pytest.mark.parametrize(("shapes", "size"), [([(2, 3), (3,)], 6), ([(2, 1), (1, 5)], 10), ([(2,), (3,)], MOST * MOST)])
def test_the_elements_of_a_broadcast(shapes: list[tuple[int, ...]], size: int) -> None:
    assert folding._broadcast([np.zeros(shape) for shape in shapes]) == size


def zeros(*shape: int) -> Any:
    return np.broadcast_to(np.int64(0), shape)  # of any size, without the memory


@pytest.mark.parametrize(
    ("kind", "shapes", "size"),
    [
        ("Transpose", [(3, 5)], 15),
        ("Slice", [(3, 5), (2,)], 15),
        ("ScatterND", [(3, 5), (40, 1)], 15),
        ("ReduceSum", [(3, 5)], 15),
        ("Reshape", [], 0),
        ("GatherElements", [(3, 5), (2, 5)], 10),
        ("Concat", [(3, 5), (2, 5), (0, 5)], 25),
        ("Add", [(3, 1), (1, 5)], 15),
        ("Add", [(3, 5), (5,)], 15),
        ("Gather", [(3, 5), (2,)], 30),
        ("Gather", [(3, 0), (2,)], 2),
        ("Neg", [(3, 5)], 15),
        ("Constant", [], 0),
        ("Tile", [(3, 2), (2,)], 6),
    ],
)
def test_the_most_elements_that_an_operator_gives(kind: str, shapes: Any, size: int) -> None:
    assert folding._largest(kind, [zeros(*shape) for shape in shapes]) == size


def known(*shape: int, is_dynamic_shape: bool = False) -> OnnxTensor:
    return OnnxTensor("w", 7, shape, zeros(*shape), is_dynamic_shape=is_dynamic_shape)


@pytest.mark.parametrize(
    ("kind", "tensors", "folds"),
    [
        ("Neg", [known(2)], True),
        ("Add", [known(2), OnnxTensor("x", 1, (2,))], False),
        ("Clip", [known(2), None], True),
        ("RandomNormal", [], False),
        ("DequantizeLinear", [known(2)], False),
        ("Neg", [known(1 << 24)], True),
        ("Neg", [known((1 << 24) + 1)], False),
        ("Cast", [known(2, is_dynamic_shape=True)], True),
    ],
)
def test_nodes_of_constants_are_folded(kind: str, tensors: Any, folds: bool) -> None:
    assert folding.can_fold(kind, tensors) == folds


def test_dynamic_dimensions_are_moved_only() -> None:
    with pytest.raises(Refused, match="it computes with dimensions that only a run knows"):
        folding.can_fold("Neg", [known(2, is_dynamic_shape=True)])


DATA = np.arange(12).reshape(3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_elements_are_gathered_from_part_of_the_data(axis: int) -> None:
    """Indices may leave out the end of the other axes."""
    indices = np.array([[2, 0], [1, -1]])
    proto = helper.make_node("GatherElements", ["d", "i"], ["y"], axis=axis)
    found = folding._gather_elements(proto, DATA, indices)
    part = DATA[:, :2] if axis in (0, -2) else DATA[:2]
    assert found.tolist() == np.take_along_axis(part, indices, axis).tolist()


@pytest.mark.parametrize(("axis", "shape"), [(2, (2, 2)), (-3, (2, 2)), (0, (2,)), (0, (1, 2, 2))])
def test_elements_of_other_axes_are_not_gathered(axis: int, shape: Any) -> None:
    proto = helper.make_node("GatherElements", ["d", "i"], ["y"], axis=axis)
    with pytest.raises(Refused, match="its axis or indices do not fit its data"):
        folding._gather_elements(proto, DATA, np.zeros(shape, np.int64))


def results(proto: Any, *tensors: OnnxTensor) -> Any:
    return folding.compute_constants(None, proto, 17, tensors)


X = OnnxTensor("x", 1, (2, 0, 5, 7))


@pytest.mark.parametrize(
    ("options", "shape", "is_dynamic"),
    [
        ({}, [2, -1, 5, 7], True),
        ({"start": 2}, [5, 7], False),
        ({"start": -3, "end": -1}, [-1, 5], True),
        ({"end": 1}, [2], False),
    ],
)
def test_dimensions_of_a_computed_tensor(options: Any, shape: list[int], is_dynamic: bool) -> None:
    (found,) = results(helper.make_node("Shape", ["x"], ["s"], **options), X)
    assert (found.name, found.array.tolist(), found.is_dynamic_shape) == ("s", shape, is_dynamic)


def test_the_size_of_a_computed_tensor() -> None:
    proto = helper.make_node("Size", ["x"], ["n"])
    (found,) = results(proto, OnnxTensor("x", 1, (2, 3, 5)))
    assert (found.array.tolist(), found.array.shape) == (30, ())
    with pytest.raises(Refused, match="it depends on dimensions that only a run knows"):
        results(proto, X)


def test_results_of_constants() -> None:
    first, second = constant("a", np.array([3, -1])), constant("b", np.array([5, 7]))
    first.is_dynamic_shape = True
    (moved,) = results(helper.make_node("Slice", ["a", "b0", "b1"], ["y"]), first, *map(index, (0, 1)))
    assert (moved.array.tolist(), moved.is_dynamic_shape) == ([3], False)
    (both,) = results(helper.make_node("Concat", ["a", "b"], ["y"], axis=0), first, second)
    assert (both.array.tolist(), both.is_dynamic_shape) == ([3, -1, 5, 7], True)
    (plain,) = results(helper.make_node("Sub", ["b", "b"], ["y"]), second, second)
    assert (plain.array.tolist(), plain.is_dynamic_shape) == ([0, 0], False)
    halves = results(helper.make_node("Split", ["b"], ["", "y"], axis=0), second)
    assert [each and each.array.tolist() for each in halves] == [None, [7]]
    assert results(helper.make_node("Neg", ["x"], ["y"]), X) is None
    with pytest.raises(Refused, match="it cannot be computed on its constants"):
        results(helper.make_node("MatMul", ["a", "b"], ["y"]), second, constant("c", np.zeros((3, 2), np.int64)))


def index(number: int) -> OnnxTensor:
    return constant(f"b{number}", np.array([number]))
