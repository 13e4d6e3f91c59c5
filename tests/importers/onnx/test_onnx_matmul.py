"""Products of matrices: zero points of rows and columns, dynamic batches."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.onnx.rules.matmul import batch_product  # noqa: E402
from nnapi.importers.refusals import Refused  # noqa: E402
from tests.importers.onnx.operator_cases import computed, loaded  # noqa: E402


def test_an_integer_product_has_a_zero_point_for_each_row_and_column() -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    w = np.array([[1, 2], [3, 4], [5, 6]], np.uint8)
    node = helper.make_node("MatMulInteger", ["x", "w", "row", "column"], ["y"])
    for row, column, product in (
        ([1, 2], [1, 2], [[10, 10], [22, 22]]),
        ([1, 2], [0, 0], [[13, 16], [31, 40]]),
        ([1], [1, 2], [[10, 10], [28, 28]]),
        ([0], [0], [[22, 28], [49, 64]]),
    ):
        constants = {"w": w, "row": np.array(row, np.uint8), "column": np.array(column, np.uint8)}
        assert computed(loaded([node], constants, x=x), x).tolist() == product


@pytest.mark.parametrize(("left", "right"), [(("N", 2, 3), (5, 3, 4)), ((5, 2, 3), ("N", 3, 4))])
def test_a_dynamic_batch_is_stretched_when_it_is_known(left: tuple[Any, ...], right: tuple[Any, ...]) -> None:
    """NNAPI does not broadcast batches, so the model is imported for the dimensions of a run."""
    given = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", left), ("w", right))]
    found = helper.make_tensor_value_info("y", 1, ("M", 2, 4))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", given, [found])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    compiled = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference")
    for batch in (5, 1):
        shapes = [tuple(batch if each == "N" else each for each in shape) for shape in (left, right)]
        x, w = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
        (y,) = compiled.run(x, w)
        assert y.tolist() == (x @ w).tolist()


@pytest.mark.parametrize(
    ("left", "right", "batches"),
    [
        ((0, 2, 3), (5, 3, 4), (5,)),
        ((5, 2, 3), (0, 3, 4), (5,)),
        ((0, 6, 2, 3), (1, 6, 3, 4), (0, 6)),
        ((0, 6, 2, 3), (5, 6, 3, 4), (5, 6)),
    ],
)
def test_dynamic_batches_that_differ_are_refused(
    left: tuple[int, ...], right: tuple[int, ...], batches: tuple[int, ...]
) -> None:
    """A dimension of 0 is dynamic."""
    with pytest.raises(Refused, match="its dynamic batches stretch; fix them by load"):
        batch_product(None, (None, left), (None, right), batches)
