"""Tensors of ONNX files: their types and dimensions, as the file declares and NNAPI stores them."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

from nnapi.codes import OperandCode  # noqa: E402
from nnapi.importers.graph import Value  # noqa: E402
from nnapi.importers.onnx import tensors  # noqa: E402
from nnapi.importers.onnx.tensors import OnnxTensor  # noqa: E402
from nnapi.importers.refusals import Refused  # noqa: E402
from nnapi.model.operand import OperandType  # noqa: E402

INT32, FLOAT32 = OperandCode.TENSOR_INT32, OperandCode.TENSOR_FLOAT32


def test_types_have_the_library_s_numbers_and_names() -> None:
    named = dict(TensorProto.DataType.items())
    assert {name: named[name] for name in tensors.NAMES} == {name: i for i, name in enumerate(tensors.NAMES)}
    types = [*tensors.NAMES[1:14]]
    assert (types[0], types[7], types[-1]) == ("FLOAT", "STRING", "UINT64")
    assert {name: getattr(tensors, name) for name in types} == {name: named[name] for name in types}
    for elem, dtype in tensors.DTYPES.items():
        assert helper.tensor_dtype_to_np_dtype(elem) == dtype
        assert tensors.ELEM_OF[dtype] == elem


@pytest.mark.parametrize(
    ("elem", "name"), [(1, "FLOAT"), (0, "UNDEFINED"), (26, "INT2"), (27, "number 27"), (-1, "number -1")]
)
def test_names_of_types(elem: int, name: str) -> None:
    assert tensors.elem_name(elem) == name


def test_types_that_nnapi_lacks_are_refused_by_name() -> None:
    with pytest.raises(Refused, match="w is of type BFLOAT16, which NNAPI does not have"):
        tensors.code_of(16, "w")
    with pytest.raises(Refused, match="w is of type complex64, which NNAPI does not have"):
        tensors.constant("w", np.zeros(1, np.complex64))


@pytest.mark.parametrize(
    ("elem", "shape", "type"),
    [
        (1, (2, 3), OperandType(FLOAT32, (2, 3))),
        (11, (), OperandType(FLOAT32, (1,))),
        (7, (4,), OperandType(INT32, (4,))),
        (2, (4,), OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (4,), 1.0)),
        (3, (), OperandType(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, (1,), 1.0)),
        (9, (4,), OperandType(OperandCode.TENSOR_BOOL8, (4,))),
    ],
)
def test_operand_types(elem: int, shape: Any, type: OperandType) -> None:
    assert tensors.operand_type(elem, shape, "w") == type


@pytest.mark.parametrize("limit", [2**31 - 1, -(2**31)])
def test_numbers_that_fit_int32_are_stored_as_such(limit: int) -> None:
    type = OperandType(INT32, (2,))
    stored = tensors.as_stored(np.array([limit, 7]), type, "w")
    assert (stored.dtype, stored.tolist()) == (np.int32, [limit, 7])
    beyond = np.array([limit + (1 if limit > 0 else -1), 7])
    with pytest.raises(Refused, match="w holds integers beyond int32"):
        tensors.as_stored(beyond, type, "w")
    assert tensors.as_stored(np.zeros(0, np.int64), type, "w").size == 0
    same = np.array([1, 2], np.int32)
    assert tensors.as_stored(same, type, "w") is same


def test_booleans_and_doubles_are_stored_in_smaller_types() -> None:
    truths = tensors.as_stored(np.array([True, False]), OperandType(OperandCode.TENSOR_BOOL8, (2,)), "w")
    assert (truths.dtype, truths.tolist()) == (np.uint8, [1, 0])
    floats = tensors.as_stored(np.array([0.1, 1e300]), OperandType(FLOAT32, (2,)), "w")
    assert (floats.dtype, floats.tolist()) == (np.float32, [np.float32(0.1), np.inf])


def test_what_is_known_of_a_tensor() -> None:
    value = Value(OperandType(FLOAT32, (2, 4, 5, 3)), "x")
    image = OnnxTensor("x", 1, (2, 3, 4, 5), value=value, is_nhwc=True)
    plain, unknown = OnnxTensor("x", 1, (2, 0), value=value), OnnxTensor("x", 1, None)
    assert (image.rank, image.dims, image.is_known, image.nhwc) == (4, (2, 3, 4, 5), True, value)
    assert (plain.rank, plain.is_known, plain.nhwc) == (2, False, None)
    assert not unknown.is_known
    with pytest.raises(Refused, match="the rank of x is not known before a run"):
        _ = unknown.rank
    with pytest.raises(Refused, match="x is computed, NNAPI needs a constant"):
        _ = plain.constant
    empty = tensors.constant("w", np.zeros((0, 2), np.float32))
    assert empty.is_known
    assert empty.materialize().shape == (0, 2)


@pytest.mark.parametrize(("dtype", "in_file"), [(np.float32, True), (np.float64, False)])
def test_a_constant_is_of_the_file_unless_it_is_converted(dtype: Any, in_file: bool) -> None:
    tensor = tensors.constant("w", np.array(2.5, dtype), in_file=True)
    value = tensor.materialize()
    assert value is tensor.materialize()
    assert (value.shape, value.constant.tolist(), value.in_file) == ((1,), [2.5], in_file)
    assert not value.constant.flags.writeable
