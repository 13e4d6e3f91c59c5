"""Types and shapes of results, which follow from the file's tensors where NNAPI has several for one."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.codes import OperandCode, OperationCode  # noqa: E402
from nnapi.importers.graph import Allowance, Graph, Value  # noqa: E402
from nnapi.importers.onnx.file_graph import FileNode  # noqa: E402
from nnapi.importers.onnx.node import OnnxNode  # noqa: E402
from nnapi.importers.onnx.rule_results import as_tensor  # noqa: E402
from nnapi.importers.onnx.schemas import find_schema  # noqa: E402
from nnapi.importers.onnx.tensors import OnnxTensor  # noqa: E402
from nnapi.importers.refusals import Refused  # noqa: E402
from nnapi.model.operand import OperandType  # noqa: E402

FLOAT, UINT8, INT8, INT16, INT32, INT64, BOOL, DOUBLE = 1, 2, 3, 5, 6, 7, 9, 11
TENSOR_INT32, QUANT8 = OperandCode.TENSOR_INT32, OperandCode.TENSOR_QUANT8_ASYMM


class Conversion:
    def __init__(self) -> None:
        self.graph = Graph(Allowance(0))


def node(kind: str, *elems: int) -> OnnxNode:
    """A node whose inputs have these types."""
    proto, schema = helper.make_node(kind, ["a", "b"], ["y"]), find_schema(kind, 17, "")
    tensors = [OnnxTensor("a", elem, (2, 3)) for elem in elems]
    return OnnxNode(Conversion(), FileNode(proto), tensors, schema)  # type: ignore[arg-type]


def value(code: OperandCode, *shape: int, scale: float = 0.0, zero_point: int = 0) -> Value:
    return Value(OperandType(code, shape, scale, zero_point), "y:step")


@pytest.mark.parametrize(
    ("kind", "elems", "result", "elem"),
    [
        ("Add", (FLOAT, FLOAT), value(OperandCode.TENSOR_FLOAT32, 2), FLOAT),
        ("Add", (DOUBLE, DOUBLE), value(OperandCode.TENSOR_FLOAT32, 2), DOUBLE),
        ("Add", (INT16, INT16), value(TENSOR_INT32, 2), INT16),
        ("Gather", (FLOAT, INT32), value(TENSOR_INT32, 2), INT32),
        ("ArgMax", (FLOAT,), value(TENSOR_INT32, 2), INT64),
        ("Less", (FLOAT, FLOAT), value(OperandCode.TENSOR_BOOL8, 2), BOOL),
        ("Add", (UINT8, UINT8), value(QUANT8, 2, scale=1.0), UINT8),
        ("Relu", (FLOAT,), value(QUANT8, 2, scale=0.5), FLOAT),
        ("MaxPool", (UINT8,), value(QUANT8, 2, scale=0.5), UINT8),
        ("MaxPool", (UINT8,), value(QUANT8, 2, scale=1.0, zero_point=3), UINT8),
        ("MaxPool", (INT8,), value(QUANT8, 2, scale=0.5), FLOAT),
        ("QuantizeLinear", (FLOAT, FLOAT), value(QUANT8, 2, scale=0.5), FLOAT),
        ("Gather", (INT8, UINT8), value(QUANT8, 2, scale=0.5), FLOAT),
        ("Max", (FLOAT, UINT8), value(QUANT8, 2, scale=0.5), UINT8),
    ],
)
def test_a_result_has_the_type_of_an_input_that_is_stored_alike(
    kind: str, elems: Any, result: Value, elem: int
) -> None:
    assert as_tensor(node(kind, *elems), "y", result).elem == elem


def test_a_result_has_the_shape_of_the_file_up_to_nnapi_s_rank() -> None:
    neg = node("Neg", FLOAT)
    x, y = value(OperandCode.TENSOR_FLOAT32, 2, 3), value(OperandCode.TENSOR_FLOAT32, 2, 3)
    neg.graph.emit(OperationCode.NEG, [x], [y])
    found = as_tensor(neg, "y", neg.result(y, (3, 2)))
    assert found.value is not None
    assert (found.shape, found.value.shape, found.value.name) == ((3, 2), (3, 2), "y")
    assert [step.code for step in neg.graph.steps] == [OperationCode.NEG, OperationCode.RESHAPE]
    image = as_tensor(neg, "y", neg.result(y, (3, 2), is_nhwc=True))
    assert image.value is y
    assert (y.name, len(neg.graph.steps)) == ("y", 2)
    long = as_tensor(neg, "y", neg.result(y, (1, 2, 1, 3, 1)))
    assert (long.shape, long.value) == ((1, 2, 1, 3, 1), y)
    four = as_tensor(neg, "y", neg.result(y, (1, 2, 3, 1)))
    assert four.value is not None
    assert four.value.shape == (1, 2, 3, 1)


def test_inputs_keep_their_names_and_results_may_be_missing() -> None:
    neg, given = node("Neg", FLOAT), value(OperandCode.TENSOR_FLOAT32, 2, 3)
    found = as_tensor(neg, "z", given)
    assert (found.name, found.shape, given.name) == ("z", (2, 3), "y:step")
    assert as_tensor(neg, "z", value(OperandCode.TENSOR_FLOAT32)).shape is None
    with pytest.raises(Refused, match="its output z is not computed"):
        as_tensor(neg, "z", None)
    array = np.array([1, 2], np.float32)
    constant = as_tensor(neg, "z", neg.constant_result(array))
    assert (constant.array is array, constant.value) == (True, None)
