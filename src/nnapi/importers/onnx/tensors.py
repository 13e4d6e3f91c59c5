"""Tensors of an ONNX file: constants in the file's own types, and values of the graph under construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import OperandCode as O
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Array, OperandType, Shape


def words(text: str) -> tuple[str, ...]:
    """The words of a text, for tables of names."""
    return tuple(text.split())


FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)
"""TensorProto.DataType, as far as NNAPI has something for them."""
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
"""The operand type that holds an ONNX type. Bytes get scale 1 and zero point 0, with which they mean themselves."""
NARROWED = (INT64, DOUBLE, UINT32, UINT64)
"""Types of which NNAPI holds fewer bits."""
WIDENED = (INT16, UINT16)
ELEMS = {CODES[elem]: elem for elem in (FLOAT, FLOAT16, INT32, BOOL, UINT8, INT8)}
"""The other way round."""
STORED = (FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, FLOAT16, DOUBLE, UINT32, UINT64)
DTYPES: dict[int, np.dtype[Any]] = dict(
    zip(STORED, map(np.dtype, words("f4 u1 i1 u2 i2 i4 i8 b1 f2 f8 u4 u8")), strict=True)
)
"""How NumPy and the file store them."""
ELEM_OF = {dtype: elem for elem, dtype in DTYPES.items()}
BYTES = (UINT8, INT8)
OPEN = 0
"""A dimension that only a run knows."""


def declared_shape(type: Any) -> Shape:
    """The dimensions of a TypeProto.Tensor; one that is negative is open, as ONNX Runtime reads it."""
    return tuple(max(each.dim_value, OPEN) if each.HasField("dim_value") else OPEN for each in type.shape.dim)


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor of the file.

    ``array`` is a constant in the file's type. ``value`` is its value in the graph; that of a constant is made on
    demand. ``shape`` is the file's; the value may hold the same elements with other dimensions. ``is_nhwc``: the value
    is an NHWC image of a tensor that is NCHW in the file. ``is_open``: the array holds dimensions of a tensor, -1 for
    dynamic ones. ``is_refused``: the tensor replaces one that NNAPI cannot express. ``codes``: for a float constant,
    the quantized constant that the file stores for it.
    """

    name: str
    elem: int
    shape: Shape | None
    array: Array | None = None
    value: Value | None = None
    in_file: bool = False
    is_nhwc: bool = False
    is_open: bool = False
    is_refused: bool = False
    codes: Value | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def dims(self) -> Shape:
        """The shape; Refused where not even the rank is known."""
        if self.shape is None:
            raise Refused(f"the rank of {self.name} is not known before a run; fix dimensions by load(shapes=…)")
        return self.shape

    @property
    def constant(self) -> Array:
        """The value of a constant; Refused where it is computed."""
        if self.array is None:
            raise Refused(f"{self.name} is computed, NNAPI needs a constant")
        return self.array

    @property
    def nhwc(self) -> Value | None:
        """The NHWC image that it lies as, None where it lies as in the file."""
        return self.value if self.is_nhwc else None

    def materialize(self) -> Value:
        """Return its value in the graph, in the stored layout. A constant's is made at first use, with dimensions that
        NNAPI takes."""
        if self.value is None:
            expressible(self.constant.size, f"{self.name} has no elements")
            type = operand_type(self.elem, self.constant.shape, self.name)
            array = as_stored(self.constant, type, self.name)
            frozen = array.reshape(type.dimensions)
            frozen.flags.writeable = False
            self.value = Value(type, self.name, frozen, self.in_file and array is self.array)
        return self.value

    @property
    def is_known(self) -> bool:
        """Whether all dimensions are."""
        return self.array is not None or (self.shape is not None and OPEN not in self.shape)


def constant(name: str, array: Array, *, in_file: bool = False, is_open: bool = False) -> Tensor:
    """A constant tensor."""
    elem = ELEM_OF.get(array.dtype, 0)
    expressible(elem, f"{name} is of type {array.dtype}, which NNAPI does not have")
    return Tensor(name, elem, array.shape, array, in_file=in_file, is_open=is_open)


def placeholder(name: str) -> Tensor:
    """A tensor instead of one that NNAPI cannot express."""
    return Tensor(name, FLOAT, None, value=Value(OperandType(O.TENSOR_FLOAT32), name), is_refused=True)


def elem_name(elem: int) -> str:
    """ONNX's name of a type."""
    return NAMES[elem] if 0 <= elem < len(NAMES) else f"number {elem}"


def code_of(elem: int, name: str) -> O:
    """Return the code of the operand type that holds an ONNX type; raise Refused where none does."""
    code = CODES.get(elem)
    if code is None:
        raise Refused(f"{name} is of type {elem_name(elem)}, which NNAPI does not have")
    return code


def operand_type(elem: int, shape: Shape, name: str) -> OperandType:
    """The operand type of a tensor that is not quantized."""
    return OperandType(code_of(elem, name), shape or (1,), 1.0 if elem in BYTES else 0.0)


def as_stored(array: Array, type: OperandType, name: str) -> Array:
    """Return a constant as its operand type stores it; raise Refused where values do not fit."""
    if array.dtype == type.dtype:
        return array
    if array.dtype.kind in "iu" and type.code == O.TENSOR_INT32 and array.size:
        limits = np.iinfo(np.int32)
        fits = array.min() >= limits.min and array.max() <= limits.max
        expressible(fits, f"{name} holds {array.dtype.itemsize * 8}-bit numbers beyond int32")
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    with np.errstate(over="ignore"):
        return array.astype(type.dtype)


def fix_shape(name: str, shape: Shape | None, wanted: Shape) -> Shape:
    """The dimensions that somebody gives to an input, which must be those of the file where it says them."""
    fits = shape is None or (
        len(shape) == len(wanted) and all(have in (OPEN, want) for have, want in zip(shape, wanted, strict=True))
    )
    need(fits, f"input {name} is {describe_shape(shape or ())}, not {list(wanted)}", BadDataError)
    need(all(each > 0 for each in wanted), f"input {name} cannot be {list(wanted)}", BadDataError)
    return wanted


def describe_shape(shape: Sequence[int]) -> str:
    """Dimensions in a message, ? for those that only a run knows."""
    return f"[{', '.join(str(size or '?') for size in shape)}]"
