"""Operand types. A dimension of 0 is unspecified; no dimensions mean a tensor of unspecified rank."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from nnapi.codes import OEM_SCALAR, TENSOR_OEM_BYTE, OperandCode
from nnapi.errors import BadDataError, need
from nnapi.model.extension import EXTENSIONS
from nnapi.shapes.size import Size

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Array: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]

_NAMES = {int(code): code.name for code in OperandCode}
_NAMES |= {OEM_SCALAR: "OEM_SCALAR", TENSOR_OEM_BYTE: "TENSOR_OEM_BYTE"}


def type_name(code: int) -> str:
    return _NAMES.get(code) or f"extension type {code:#x}"


class _BuiltIn(NamedTuple):
    """Storage type, first feature level, legal zero points of a type with a scale, and names for :func:`tensor`."""

    dtype: type[np.generic] | None
    level: int = 1
    zero_points: tuple[int, int] | None = None
    names: tuple[str, ...] = ()


_BUILT_IN: Mapping[int, _BuiltIn] = {
    OperandCode.FLOAT32: _BuiltIn(np.float32),
    OperandCode.INT32: _BuiltIn(np.int32),
    OperandCode.UINT32: _BuiltIn(np.uint32),
    OperandCode.BOOL: _BuiltIn(np.uint8, 3),
    OperandCode.FLOAT16: _BuiltIn(np.float16, 3),
    OperandCode.MODEL: _BuiltIn(None, 4),
    OEM_SCALAR: _BuiltIn(None),
    TENSOR_OEM_BYTE: _BuiltIn(np.uint8),
    OperandCode.TENSOR_FLOAT32: _BuiltIn(np.float32, names=("float32",)),
    OperandCode.TENSOR_FLOAT16: _BuiltIn(np.float16, 3, names=("float16",)),
    OperandCode.TENSOR_INT32: _BuiltIn(np.int32, names=("int32",)),
    OperandCode.TENSOR_BOOL8: _BuiltIn(np.uint8, 3, names=("bool8", "bool")),
    OperandCode.TENSOR_QUANT8_ASYMM: _BuiltIn(np.uint8, 1, (0, 255), ("quant8_asymm", "uint8")),
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: _BuiltIn(np.int8, 4, (-128, 127), ("quant8_asymm_signed", "int8")),
    OperandCode.TENSOR_QUANT8_SYMM: _BuiltIn(np.int8, 3, (0, 0), ("quant8_symm",)),
    OperandCode.TENSOR_QUANT16_SYMM: _BuiltIn(np.int16, 3, (0, 0), ("quant16_symm", "int16")),
    OperandCode.TENSOR_QUANT16_ASYMM: _BuiltIn(np.uint16, 3, (0, 65535), ("quant16_asymm", "uint16")),
    OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL: _BuiltIn(np.int8, 3, names=("quant8_symm_per_channel",)),
}
DTYPES: dict[int, np.dtype[Any]] = {code: np.dtype(each.dtype) for code, each in _BUILT_IN.items() if each.dtype}
"""Storage type of one element, by operand code. Extension types are added at first use as ``np.void`` bytes."""
SCALARS = {code for code in _BUILT_IN if not type_name(code).startswith("TENSOR_")}
"""Codes of scalars; extension types are added at first use."""
PER_CHANNEL = OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL
ZERO_POINTS = {code: each.zero_points for code, each in _BUILT_IN.items() if each.zero_points}
TYPE_LEVELS = {code: each.level for code, each in _BUILT_IN.items()}
"""First feature level of a built-in operand type; that of extensions is 3."""
_SHORT_NAMES = {name: code for code, each in _BUILT_IN.items() for name in each.names}
SCALED_LATER = {OperandCode.TENSOR_INT32, OEM_SCALAR, TENSOR_OEM_BYTE}
"""Types whose scale is checked at finish, because biases have one."""

SIZES = frozenset({int, Size})
"""Classes of dimensions. Importers compute with a Size where the file leaves a dimension dynamic."""

LAST_BUILT_IN = 0xFFFF

MAX_BYTES = 0xFFFFFFFF


class ChannelQuantization(NamedTuple):
    """Scales of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand: ``real = value * scales[index along dimension]``."""

    dimension: int
    scales: tuple[float, ...]

    def broadcast(self, rank: int) -> Array:
        """Return the scales as float32, shaped to multiply a tensor of that rank."""
        shape = [1] * rank
        shape[self.dimension] = len(self.scales)
        return np.array(self.scales, np.float32).reshape(shape)


class OperandType:
    """Type, dimensions and quantization of an operand (``ANeuralNetworksOperandType``); immutable.

    ``code`` is an :class:`OperandCode`. ``scale`` has the precision of the C structure (float32), so that equal types
    compare equal; ``zero_point`` is the quantized value of 0, ``channel`` the scales of a filter per channel. ``data``
    are the parameters of an extension's type, in its driver's encoding.
    """

    __slots__ = ("channel", "code", "data", "dimensions", "scale", "zero_point")
    code: int
    dimensions: Shape
    scale: float
    zero_point: int
    channel: ChannelQuantization | None
    data: bytes

    def __init__(
        self,
        code: int,
        dimensions: Sequence[int] = (),
        scale: float = 0.0,
        zero_point: int = 0,
        channel: ChannelQuantization | None = None,
        data: bytes = b"",
    ) -> None:
        _put_code(self, code)
        _put_dimensions(self, tuple([each if each.__class__ in SIZES else int(each) for each in dimensions]))
        _put_scale(self, as_float32(scale) if scale else scale)
        _put_zero_point(self, zero_point)
        _put_channel(self, channel)
        _put_data(self, data)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of an operand's type cannot be changed: replace() gives another type")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} of an operand's type cannot be removed")

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, OperandType) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> tuple[Any, ...]:
        return OperandType, self._values()

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in zip(FIELDS, self._values(), strict=True))
        return f"OperandType({values})"

    def _values(self) -> tuple[Any, ...]:
        return self.code, self.dimensions, self.scale, self.zero_point, self.channel, self.data

    def replace(self, **changes: Any) -> OperandType:
        """Return a copy of the type with the attributes in ``changes``."""
        return OperandType(**(dict(zip(FIELDS, self._values(), strict=True)) | changes))

    @property
    def shape(self) -> Shape:
        return self.dimensions

    @property
    def rank(self) -> int:
        """Return the number of dimensions; 0 for a scalar and for a tensor of unspecified rank."""
        return len(self.dimensions)

    @property
    def is_scalar(self) -> bool:
        return self.code in SCALARS

    @property
    def is_quantized(self) -> bool:
        return self.code in ZERO_POINTS or self.code == PER_CHANNEL

    @property
    def is_extension(self) -> bool:
        return self.code > LAST_BUILT_IN

    @property
    def is_known(self) -> bool:
        """Return whether rank and all dimensions are specified."""
        return self.is_scalar or (bool(self.dimensions) and 0 not in self.dimensions)

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.code]

    @property
    def size(self) -> int:
        """Return the number of elements; 0 with unspecified dimensions, 1 for a scalar."""
        return 1 if self.is_scalar else (math.prod(self.dimensions) if self.dimensions else 0)

    @property
    def nbytes(self) -> int:
        """Return the size of a value in bytes; 0 if it is unspecified."""
        return self.size * self.dtype.itemsize if self.code in DTYPES else 0

    @property
    def name(self) -> str:
        return type_name(self.code)

    def with_dimensions(self, dimensions: Sequence[int]) -> OperandType:
        """Return the type with other dimensions; the same object if they are equal numbers."""
        if any(isinstance(each, Size) for each in (*dimensions, *self.dimensions)):  # a comparison would be a guard
            return self.replace(dimensions=dimensions)
        return self if dimensions == self.dimensions else self.replace(dimensions=dimensions)

    def __str__(self) -> str:
        text = self.name
        if not self.is_scalar:
            text += "[" + ", ".join(str(dimension or "?") for dimension in self.dimensions) + "]"
        if self.channel:
            text += f" (per channel {self.channel.dimension})"
        elif self.scale:
            text += f" (scale {self.scale:.6g}, zero point {self.zero_point})"
        return text


FIELDS = "code", "dimensions", "scale", "zero_point", "channel", "data"
_put_code, _put_dimensions, _put_scale, _put_zero_point, _put_channel, _put_data = (
    getattr(OperandType, name).__set__ for name in FIELDS
)
"""Setters of the slots for the constructor; they are twice as fast as setting attributes by name."""


def as_float32(value: float) -> float:
    """Round to the precision of a C float; return infinity beyond its range."""
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


_FLOAT32 = struct.Struct("f")


def tensor(
    dtype: str | OperandCode | DTypeLike,
    dimensions: Sequence[int | None] | None = (),
    scale: float = 0.0,
    zero_point: int = 0,
    channel: ChannelQuantization | None = None,
) -> OperandType:
    """Return the type of a tensor: ``tensor("float32", (3, 4))``, ``tensor(np.uint8, (1, 8), scale=0.5)``.

    ``dtype`` is a name of the specification or NumPy, a NumPy dtype, or an :class:`OperandCode`. A dimension of 0 or
    None is unspecified; no dimensions mean an unspecified rank. ``scale``, ``zero_point`` and ``channel`` are those of
    :class:`OperandType`. Raises BadDataError for an unknown dtype, and for what is not a dimension or a number.
    """
    code = dtype if isinstance(dtype, int) else _read_dtype(dtype)
    need(isinstance(scale, int | float | np.number), f"scale is {scale!r}, must be a number", BadDataError)
    need(hasattr(zero_point, "__index__"), f"zero_point is {zero_point!r}, must be a whole number", BadDataError)
    return OperandType(code, _read_dimensions(dimensions), scale, zero_point, channel)


def _read_dimensions(dimensions: Sequence[int | None] | None) -> list[int]:
    """Return dimensions with 0 for None; BadDataError for anything but whole numbers from 0."""
    try:
        found = [0 if size is None else operator.index(size) for size in (() if dimensions is None else dimensions)]
    except TypeError:
        raise BadDataError(f"dimensions is {dimensions!r}, must be a sequence of whole numbers") from None
    if min(found, default=0) < 0:
        raise BadDataError(f"dimensions has {min(found)}, must not be negative; 0 is unspecified")
    return found


def _read_dtype(dtype: DTypeLike) -> int:
    try:
        name = dtype.lower() if isinstance(dtype, str) else np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in _SHORT_NAMES:
        raise BadDataError(f"{dtype!r} is not a tensor type; known: {', '.join(_SHORT_NAMES)}")
    return _SHORT_NAMES[name]


def check_type(type: OperandType) -> None:
    """Raise BadDataError for a type that breaks the rules of ANeuralNetworksModel_addOperand."""
    if not isinstance(type, OperandType):
        raise BadDataError(f"{type!r} is not an OperandType: nnapi.tensor() and nnapi.OperandType() make them")
    code = type.code
    if code > LAST_BUILT_IN:
        _add_extension_type(code)
    elif code not in DTYPES and code not in SCALARS:
        raise BadDataError(f"operand type {code} is not one of NeuralNetworks.h and no driver defines it")
    if type.dimensions:
        _check_dimensions(type)
    if code not in SCALED_LATER:
        _check_quantization(type)


def _check_dimensions(type: OperandType) -> None:
    code, dimensions = type.code, type.dimensions
    if code in SCALARS:
        raise BadDataError(f"{type.name} is a scalar and has no dimensions, got {list(dimensions)}")
    if [each for each in dimensions if each < 0]:  # sizes are not compared with each other
        raise BadDataError(f"{type.name} has a negative dimension: {list(dimensions)}; 0 is unspecified")
    known = math.prod(dimensions) or math.prod([dimension for dimension in dimensions if dimension])
    itemsize = DTYPES[code].itemsize if code in DTYPES else 0
    if not (known * itemsize <= MAX_BYTES):
        raise BadDataError(f"{type} takes {known * itemsize} bytes, more than {MAX_BYTES}")


def _add_extension_type(code: int) -> None:
    """Add an extension type to the tables; BadDataError if no driver describes it."""
    described = EXTENSIONS.operand_type(code)
    DTYPES[code] = np.dtype((np.void, described.byte_size))
    if not described.is_tensor:
        SCALARS.add(code)


def stores(type: OperandType, dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of a dtype hold stored values of the operand type; for extensions, the size decides."""
    return dtype == type.dtype or (type.is_extension and dtype.itemsize == type.dtype.itemsize)


def _check_quantization(type: OperandType) -> None:
    if type.code not in ZERO_POINTS:
        if type.scale != 0:
            raise BadDataError(f"{type.name} has no scale, got {type.scale:g}")
        if type.zero_point != 0:
            raise BadDataError(f"{type.name} has no zero point, got {type.zero_point}")
        return
    low, high = ZERO_POINTS[type.code]
    if not (type.scale > 0):
        raise BadDataError(f"{type.name} needs a scale above 0, got {type.scale:g}")
    if not (low <= type.zero_point <= high):
        raise BadDataError(f"{type.name} needs a zero point in {low}..{high}, got {type.zero_point}")


def combine(a: Shape, b: Shape) -> Shape | None:
    """Combine two partially specified shapes; return None if they contradict each other."""
    if a == b or not a or not b:
        return a or b
    if len(a) != len(b) or any(x and y and x != y for x, y in zip(a, b, strict=True)):
        return None
    return tuple(x or y for x, y in zip(a, b, strict=True))
