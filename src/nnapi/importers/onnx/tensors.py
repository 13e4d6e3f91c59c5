"""Tensors of an ONNX file: constants in the file's types, and values of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nnapi.codes import OperandCode as O
from nnapi.importers.graph import Value
from nnapi.importers.input_shapes import DYNAMIC as DYNAMIC
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.shapes.array import is_symbolic


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)
"""Values of TensorProto.DataType, up to the last that NNAPI can hold."""
NAMES = words(
    "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 "
    "COMPLEX64 COMPLEX128 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ UINT4 INT4 "
    "FLOAT4E2M1 FLOAT8E8M0 UINT2 INT2"
)

CODES: dict[int, O] = {
    FLOAT: O.TENSOR_FLOAT32,
    DOUBLE: O.TENSOR_FLOAT32,
    FLOAT16: O.TENSOR_FLOAT16,
    BOOL: O.TENSOR_BOOL8,
    UINT8: O.TENSOR_QUANT8_ASYMM,
    INT8: O.TENSOR_QUANT8_ASYMM_SIGNED,
    **dict.fromkeys((INT32, INT64, INT16, UINT16, UINT32, UINT64), O.TENSOR_INT32),
}
"""The operand type of each ONNX type; plain bytes have scale 1 and zero point 0."""
NARROWED = (INT64, DOUBLE, UINT32, UINT64)
"""Types that NNAPI stores in fewer bits."""
WIDENED = (INT16, UINT16)
ELEMS = {CODES[elem]: elem for elem in (FLOAT, FLOAT16, INT32, BOOL, UINT8, INT8)}
STORED = (FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, FLOAT16, DOUBLE, UINT32, UINT64)
DTYPES: dict[int, np.dtype[Any]] = dict(
    zip(STORED, map(np.dtype, words("f4 u1 i1 u2 i2 i4 i8 b1 f2 f8 u4 u8")), strict=True)
)
ELEM_OF = {dtype: elem for elem, dtype in DTYPES.items()}
BYTES = (UINT8, INT8)
Values = Mapping[str, Array]
"""Inputs that are read as constants, by name."""


class PackedWeights(NamedTuple):
    """A constant matrix of few bits, as BLOCKWISE_FULLY_CONNECTED has it, whichever axis the file's units have."""

    values: Value
    scales: Value
    zero_points: Value | None
    bits: int
    block_size: int


@dataclass(eq=False, slots=True)
class OnnxTensor:
    """A tensor of the file.

    ``array`` is a constant in the file's type. ``value`` is the operand in the graph, made on demand for a constant;
    its dimensions may differ from ``shape``. ``is_nhwc``: the operand is NHWC, while the file's tensor is NCHW.
    ``is_dynamic_shape``: the array is a shape, with -1 for dynamic dimensions. ``is_refused``: NNAPI cannot express
    the tensor. ``is_empty``: the tensor never has elements, although it has dynamic dimensions. ``quantized``: the
    stored values of a float constant. ``compute`` returns a shape whose dimensions depend on data as a tensor that a
    run computes; its ``known_sizes`` are those known before, else -1. ``packed``: a constant matrix that only products
    read.
    """

    name: str
    elem: int
    shape: Shape | None
    array: Array | None = None
    value: Value | None = None
    in_file: bool = False
    is_nhwc: bool = False
    is_dynamic_shape: bool = False
    is_refused: bool = False
    is_empty: bool = False
    quantized: Value | None = None
    compute: Callable[[], OnnxTensor] | None = None
    known_sizes: Array | None = None
    packed: PackedWeights | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def dims(self) -> Shape:
        """Return the shape; raise Refused if the rank is unknown."""
        if self.shape is None:
            raise Refused(f"the rank of {self.name} is not known before a run; fix dimensions by load(shapes=…)")
        return self.shape

    @property
    def constant(self) -> Array:
        """Return the array of a constant; raise Refused if the tensor is computed."""
        if self.array is None:
            raise Refused(f"{self.name} is computed, NNAPI needs a constant")
        return self.array

    @property
    def lacks_elements(self) -> bool:
        return self.is_empty or (self.array is not None and not self.array.size)

    @property
    def nhwc(self) -> Value | None:
        return self.value if self.is_nhwc else None

    def materialize(self) -> Value:
        if self.value is None:
            expressible(not self.is_dynamic_shape, f"{self.name} depends on dimensions that only a run knows")
            type = operand_type(self.elem, self.constant.shape, self.name)
            array = as_stored(self.constant, type, self.name)
            frozen = array.reshape(type.dimensions)
            if not is_symbolic(frozen):
                frozen.flags.writeable = False
            self.value = Value(type, self.name, frozen, self.in_file and array is self.array)
        return self.value

    @property
    def is_known(self) -> bool:
        return self.array is not None or (self.shape is not None and DYNAMIC not in self.shape)


def constant(name: str, array: Array, *, in_file: bool = False, is_dynamic_shape: bool = False) -> OnnxTensor:
    elem = ELEM_OF.get(array.dtype)
    if elem is None:  # to describe a dtype takes longer than all else here
        raise Refused(f"{name} is of type {array.dtype}, which NNAPI does not have")
    return OnnxTensor(name, elem, array.shape, array, in_file=in_file, is_dynamic_shape=is_dynamic_shape)


def placeholder(name: str) -> OnnxTensor:
    return OnnxTensor(name, FLOAT, None, value=Value(OperandType(O.TENSOR_FLOAT32), name), is_refused=True)


def elem_name(elem: int) -> str:
    return NAMES[elem] if 0 <= elem < len(NAMES) else f"number {elem}"


def code_of(elem: int, name: str) -> O:
    """Return the code of the operand type for an ONNX element type; raise Refused if NNAPI has none."""
    code = CODES.get(elem)
    if code is None:
        raise Refused(f"{name} is of type {elem_name(elem)}, which NNAPI does not have")
    return code


def operand_type(elem: int, shape: Shape, name: str) -> OperandType:
    return OperandType(code_of(elem, name), shape or (1,), 1.0 if elem in BYTES else 0.0)


def as_stored(array: Array, type: OperandType, name: str) -> Array:
    """Return a constant as its operand type stores it; raise Refused if values do not fit."""
    if array.dtype == type.dtype:
        return array
    if array.dtype.kind in "iu" and type.code == O.TENSOR_INT32 and array.size:
        limits = np.iinfo(np.int32)
        fits = array.min() >= limits.min and array.max() <= limits.max
        expressible(fits, f"{name} holds integers beyond int32")
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    with np.errstate(over="ignore"):
        return array.astype(type.dtype)
