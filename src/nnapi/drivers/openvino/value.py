"""What an operand is in the engine's graph: one value under several faces, each made when first asked for."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from nnapi.codes import OperandCode
from nnapi.drivers.openvino.api import op, ov
from nnapi.model.operand import Array, OperandType
from nnapi.model.parameter import nchw_to_nhwc, nhwc_to_nchw
from nnapi.ops.quantization import dequantize, same_quantization

Node: TypeAlias = Any
"""A node of the engine's graph with one output, or that output."""
Kind = Literal["stored", "real", "raw"]
"""``stored``: codes, bytes, halves, as NNAPI stores them. ``real``: the numbers they stand for, as float32, int32 or
boolean. ``raw``: a float32 result that is still to be rounded to codes."""
Face = tuple[Kind, bool]
"""A kind, and whether the axes of an image are ordered NCHW, which the engine computes in."""

NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
ELEMENTS = {
    OperandCode.TENSOR_FLOAT32: ov.Type.f32,
    OperandCode.TENSOR_FLOAT16: ov.Type.f16,
    OperandCode.TENSOR_INT32: ov.Type.i32,
    OperandCode.TENSOR_BOOL8: ov.Type.u8,
    OperandCode.TENSOR_QUANT8_ASYMM: ov.Type.u8,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: ov.Type.i8,
    OperandCode.TENSOR_QUANT8_SYMM: ov.Type.i8,
    OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL: ov.Type.i8,
    OperandCode.INT32: ov.Type.i32,
}
"""Element types that operands are stored in, by operand code."""
SHARED = 1 << 16
"""Bytes from which on a constant is not copied: one that is a view of a file is looked after at every run."""


class _Shown:
    """An array for the engine, which takes none that is read-only, though it never writes to what it reads."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def make_shareable(array: Array) -> Array:
    """The array itself, or a view of it, or where its elements do not lie in order a copy, that the engine takes."""
    array = np.asarray(array, order="C")
    return array if array.flags.writeable else np.asarray(_Shown(array))


def constant(array: Array) -> Node:
    """A constant that shares the array's memory, if it is worth it."""
    return op.constant(make_shareable(array), shared_memory=array.nbytes > SHARED)


def number(value: float) -> Node:
    return op.constant(np.float32(value))


class Value:
    """An operand's value. ``type`` has all dimensions; an image's says NHWC whatever order the graph computes in.

    ``array`` is the stored value of a constant.
    """

    def __init__(self, type: OperandType, name: str, array: Array | None = None) -> None:
        self.type = type
        self.name = name
        self.array = array
        self._faces: dict[Face, Node] = {}

    @classmethod
    def of(cls, node: Node, type: OperandType, kind: Kind, *, first: bool = False, name: str = "") -> Value:
        """A computed value by one face; ``first``: the node orders an image as NCHW."""
        value = cls(type, name)
        value._faces[kind, first] = node
        return value

    def faces(self) -> list[Node]:
        """The nodes that it has so far."""
        return list(self._faces.values())

    @property
    def kind(self) -> Kind:
        """The kind it was made as."""
        return next(iter(self._faces))[0] if self.array is None else "stored"

    @property
    def is_channels_first(self) -> bool:
        """Whether it was computed as NCHW."""
        return self.array is None and next(iter(self._faces))[1]

    @property
    def is_moved_as(self) -> Kind:
        """The kind in which operations that only move elements take it."""
        return "stored" if self.kind == "stored" else "real"

    def node(self, kind: Kind, first: bool = False) -> Node:
        """The value under a face."""
        face = kind, first
        if face not in self._faces:
            self._faces[face] = self._constant(kind, first) if self.array is not None else self._derive(kind, first)
        return self._faces[face]

    def real(self, first: bool = False) -> Node:
        return self.node("real", first)

    def real_unrounded(self, first: bool = False) -> Node:
        """The numbers, for who does not compute with codes: those of an input are not rounded to what they are."""
        parameter = self._faces.get(("stored", False))
        if not isinstance(parameter, ov.op.Parameter) or not self.type.is_quantized or self.type.channel:
            return self.real(first)
        limits = np.iinfo(self.type.dtype)
        codes = op.clamp(op.convert(parameter, "f32"), float(limits.min), float(limits.max))
        real = _scale(codes, self.type)  # no code is limited, but the engine would turn the image before its codes
        return op.transpose(real, list(NHWC_TO_NCHW)) if first else real

    def before_rounding(self, first: bool = False) -> Node:
        """The numbers, to be rounded to codes at once. The engine crashes where those of stored codes, from behind a
        concatenation, are rounded: it must not see that they are some."""
        is_stored = self.kind == "stored" and self.array is None and self.type.is_quantized and not self.type.channel
        if not is_stored or isinstance(self.node("stored"), ov.op.Parameter):
            return self.real(first)
        return decode_exactly(self.node("stored", first), self.type)

    def view_as_image(self) -> Value:
        """The same value, stored as NCHW, as the NHWC image that rules know."""
        type = self.type.with_dimensions(nchw_to_nhwc(self.type.dimensions))
        if self.array is not None:
            return Value(type, self.name, self.array.transpose(NCHW_TO_NHWC))
        return Value.of(self.node(self.kind), type, self.kind, first=True, name=self.name)

    def store_as_nchw(self) -> Value:
        """The opposite: an NHWC image as the operand that stores it as NCHW."""
        type = self.type.with_dimensions(nhwc_to_nchw(self.type.dimensions))
        return Value.of(self.node(self.kind, first=True), type, self.kind, name=self.name)

    def requantise(self, type: OperandType) -> Value:
        """The same numbers in the scale and zero point of another type."""
        if same_quantization(self.type, type):
            return self
        first = self.is_channels_first
        target = self.type.replace(scale=type.scale, zero_point=type.zero_point)
        return Value.of(self.before_rounding(first), target, "raw", first=first, name=self.name)

    def _constant(self, kind: Kind, first: bool) -> Node:
        assert self.array is not None
        array = self.array.transpose(NHWC_TO_NCHW) if first else self.array
        if kind == "stored":
            return constant(array)
        if self.type.is_quantized:
            if first and self.type.channel:
                array = dequantize(self.type, self.array).transpose(NHWC_TO_NCHW)
            else:
                array = dequantize(self.type, array)
        elif self.type.code == OperandCode.TENSOR_BOOL8:
            array = array != 0
        elif array.dtype == np.float16:
            array = array.astype(np.float32)
        return constant(array)

    def _derive(self, kind: Kind, first: bool) -> Node:
        """From the face it was made as: the kind first, then the order, so that codes are made where numbers are. What
        was rounded is not rounded again from the same numbers: a half may go up here and down there; and what was
        turned is not turned again: the engine has an output and who reads the same codes share one memory."""
        (native, order), node = next(iter(self._faces.items()))
        other: Kind = "real" if kind == "stored" else "stored"
        if self.type.is_quantized and native != "stored" and (other, first) in self._faces:
            return _convert(self._faces[other, first], other, kind, self.type)
        if native == "raw" and kind != "raw" and (other, order) in self._faces:
            native, node = other, self._faces[other, order]
        if (kind, order) not in self._faces:
            self._faces[kind, order] = _convert(node, native, kind, self.type)
        node = self._faces[kind, order]
        return node if order == first else op.transpose(node, list(NHWC_TO_NCHW if first else NCHW_TO_NHWC))


def _convert(node: Node, native: Kind, kind: Kind, type: OperandType) -> Node:
    if type.is_quantized:
        if native == "stored":
            real = decode(node, type)
            if isinstance(node, ov.op.Parameter) and not type.channel:
                return round_codes(real, type)  # no change, but the engine computes with the codes of inputs
            return real
        if kind == "raw":
            return node
        return round_codes(node, type) if kind == "real" else encode(node, type)
    if kind == native or type.code == OperandCode.TENSOR_INT32:
        return node
    if kind == "stored":
        return op.convert(node, ELEMENTS[OperandCode(type.code)].get_type_name()) if _differs(type) else node
    if native != "stored":
        return node
    if type.code == OperandCode.TENSOR_BOOL8:
        return op.not_equal(node, op.constant(np.uint8(0)))
    return op.convert(node, "f32") if _differs(type) else node


def _differs(type: OperandType) -> bool:
    """Whether the graph computes in another element type than the operand's."""
    return type.code in (OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_BOOL8)


def decode(codes: Node, type: OperandType) -> Node:
    """The numbers behind codes, in the form that the engine knows for dequantisation."""
    real = op.convert(codes, "f32")
    return op.multiply(real, constant(type.channel.broadcast(type.rank))) if type.channel else _scale(real, type)


def _scale(codes: Node, type: OperandType) -> Node:
    """The numbers behind codes that are float32."""
    difference = op.subtract(codes, number(type.zero_point)) if type.zero_point else codes
    return op.multiply(difference, number(type.scale))


def decode_exactly(codes: Node, type: OperandType) -> Node:
    """The same, where what is computed from them can tell the last place: the code that means 0 gives 0.

    The form above the engine computes as a product and a sum, rounded once, of what was rounded before; or it has what
    follows work on the codes, which goes wrong where numbers are added that have none.
    """
    if type.channel:
        return decode(codes, type)
    difference = op.subtract(op.convert(codes, "i32"), op.constant(np.int32(type.zero_point)))
    return op.multiply(op.convert(difference, "f32"), number(type.scale))


def round_codes(real: Node, type: OperandType) -> Node:
    """The nearest numbers that have codes."""
    low, high = _reach(type)
    return op.fake_quantize(real, low, high, low, high, _levels(type))


def encode(real: Node, type: OperandType) -> Node:
    """The codes nearest to numbers."""
    limits = np.iinfo(type.dtype)
    bounds = number(limits.min), number(limits.max)
    codes = op.fake_quantize(real, *_reach(type), *bounds, _levels(type))
    return op.convert(codes, ELEMENTS[OperandCode(type.code)].get_type_name())


def _levels(type: OperandType) -> int:
    limits = np.iinfo(type.dtype)
    return int(limits.max) - int(limits.min) + 1


def _reach(type: OperandType) -> tuple[Node, Node]:
    """The numbers of the lowest and of the highest code."""
    limits = np.iinfo(type.dtype)
    low, high = ((float(code) - type.zero_point) * type.scale for code in (limits.min, limits.max))
    return number(low), number(high)
