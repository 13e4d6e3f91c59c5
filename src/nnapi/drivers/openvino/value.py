"""An operand in OpenVINO's graph: a value with several representations, each made at first use."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nnapi.codes import OperandCode
from nnapi.drivers.openvino.api import make_constant, op, ov
from nnapi.drivers.openvino.sizes import Node as Node
from nnapi.drivers.openvino.sizes import int32_constant
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.parameter import NCHW_TO_NHWC, nchw_to_nhwc, nhwc_to_nchw
from nnapi.ops.quantized_values import dequantize, same_quantization
from nnapi.shapes.array import is_symbolic

Kind = Literal["stored", "real", "raw"]
"""``stored``: as NNAPI stores it (quantized values, bytes, float16). ``real``: dequantized, as float32, int32 or
boolean. ``raw``: a float32 result that has yet to be quantized."""
Face = tuple[Kind, bool]
"""A kind, and whether an image is NCHW, as the engine computes it, or NHWC; so for volumes of rank 5."""

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
"""OpenVINO's element types for stored operands, by operand code."""
STEPS = 256
"""Number of 8-bit quantized values; the engine has no other quantized types."""
HUGE = 1e6
"""More than the largest float16; beyond, scaled floats could overflow."""
SHARED = 1 << 16
"""Constants with more bytes are not copied. If they are views of a file, each run checks the file."""


class _Shown:
    """A read-only array, shown to the engine as writable, since it accepts no others but never writes to inputs."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def make_shareable(array: Array) -> Array:
    """Return the array, or a view that the engine accepts; a copy if its elements are not in C order."""
    array = np.asarray(array, order="C")
    return array if array.flags.writeable else np.asarray(_Shown(array))


def constant(array: Array) -> Node:
    """Return a constant node; a large one shares the array's memory, unless it is not aligned."""
    array = np.require(array, requirements="A")
    return make_constant(make_shareable(array), is_shared=array.nbytes > SHARED)


def find_order(rank: int, first: bool) -> list[int]:
    """Return the order of axes that moves the channels of an image or a volume behind the batches, or to the end."""
    return [0, rank - 1, *range(1, rank - 1)] if first else [0, *range(2, rank), 1]


def node_of(value: Any) -> Node:
    """Return the node of an output; a node is returned itself."""
    return value.get_node() if isinstance(value, ov.Output) else value


def number(value: float) -> Node:
    return make_constant(np.array(value, np.float32))


def divide(x: Node, y: Node) -> Node:
    """Divide and round once. By default, the engine multiplies by 1 / y, which it rounds before, and which is infinite
    for the smallest floats.

    The engine fuses a quotient of a constant and another node's result with the operands swapped, or as a product with
    a reciprocal. In a quotient by a deviation, it finds MVN, before which it drops factors in quantized models. So it
    must see neither which operand is constant nor what the divisor is.
    """
    quotient = op.divide(_hide(x, y) if _is_constant(x) else x, _hide(y, x if _is_constant(y) else y))
    quotient.get_rt_info()["nonconvertable_divide_0"] = ""
    return quotient


def _hide(x: Node, by: Node) -> Node:
    """Return ``x`` as a selection that depends on ``by``, which is never less than itself."""
    return op.select(op.less(by, by), number(1), x)


def _is_constant(x: Node) -> bool:
    node = x.get_node() if isinstance(x, ov.Output) else x
    while node.get_type_name() in ("Broadcast", "Convert", "Reshape", "Transpose", "Unsqueeze"):
        node = node.input_value(0).get_node()
    return bool(node.get_type_name() == "Constant")


class Value:
    """An operand's value. ``type`` has static dimensions, in NHWC for images, whatever the graph's order.

    ``array`` is the stored value of a constant. ``quantized`` is the value from which this one was dequantized.
    """

    def __init__(self, type: OperandType, name: str, array: Array | None = None) -> None:
        self.type = type
        self.name = name
        self.array = array
        self.quantized: Value | None = None
        self.weights: dict[tuple[Shape, Shape], Node] = {}
        """The float filters made of a constant, by shape and order of axes: several convolutions may share one."""
        self._faces: dict[Face, Node] = {}

    @classmethod
    def of(cls, node: Node, type: OperandType, kind: Kind, *, first: bool = False, name: str = "") -> Value:
        """Return a computed value with one representation. ``first`` says whether the node has an image as NCHW."""
        value = cls(type, name)
        value._faces[kind, first] = node
        return value

    def faces(self) -> list[Node]:
        """Return the nodes of all representations made so far."""
        return list(self._faces.values())

    @property
    def kind(self) -> Kind:
        """The kind of the first representation."""
        return next(iter(self._faces))[0] if self.array is None else "stored"

    @property
    def is_channels_first(self) -> bool:
        """Whether the first representation is NCHW."""
        return self.array is None and next(iter(self._faces))[1]

    @property
    def is_moved_as(self) -> Kind:
        """The kind in which operations without arithmetic take the value."""
        return "stored" if self.kind == "stored" else "real"

    @property
    def rounded(self) -> Value:
        """The computed quantized value from which this one was dequantized; else the value itself.

        With its floats, the engine computes on quantized values, but the float of the zero point is slightly off 0.
        """
        return self.quantized if self.quantized is not None and self.quantized.kind != "stored" else self

    def node(self, kind: Kind, first: bool = False) -> Node:
        """Return the representation of this kind and order, made at first use."""
        face = kind, first
        if face not in self._faces:
            self._faces[face] = self._constant(kind, first) if self.array is not None else self._derive(kind, first)
        return self._faces[face]

    def real(self, first: bool = False) -> Node:
        return self.node("real", first)

    def real_unrounded(self, first: bool = False) -> Node:
        """Return the float values without FakeQuantize, by which the engine recognizes quantized model inputs."""
        parameter = self._faces.get(("stored", False))
        if not isinstance(parameter, ov.op.Parameter) or not self.type.is_quantized or self.type.channel:
            return self.real(first)
        limits = np.iinfo(self.type.dtype)
        quantized = op.clamp(op.convert(parameter, "f32"), float(limits.min), float(limits.max))
        real = _scale(quantized, self.type)  # clamps nothing, but makes the engine dequantize before it transposes
        return op.transpose(real, find_order(self.type.rank, True)) if first else real

    def before_rounding(self, first: bool = False) -> Node:
        """Return the float values, for quantization at once. Otherwise the engine may crash on dequantized values of a
        concatenation that are quantized again."""
        is_stored = self.kind == "stored" and self.array is None and self.type.is_quantized and not self.type.channel
        if not is_stored or isinstance(self.node("stored"), ov.op.Parameter):
            return self.real(first)
        return decode_exactly(self.node("stored", first), self.type)

    def exact(self, first: bool = False) -> Node:
        """Return the float values; the zero point of quantized ones becomes exactly 0."""
        if not self.type.is_quantized:
            return self.real(first)
        if self.kind == "stored" or ("stored", first) in self._faces:
            return decode_exactly(self.node("stored", first), self.type)
        steps = op.round(op.multiply(self.real(first), number(1 / self.type.scale)), "half_to_even")
        return op.multiply(steps, number(self.type.scale))

    def view_as_image(self) -> Value:
        """Return an operand that is stored as NCHW as the NHWC image that rules see."""
        type = self.type.with_dimensions(nchw_to_nhwc(self.type.dimensions))
        if self.array is not None:
            return Value(type, self.name, self.array.transpose(NCHW_TO_NHWC))
        return Value.of(self.node(self.is_moved_as), type, self.is_moved_as, first=True, name=self.name)

    def store_as_nchw(self) -> Value:
        """Return an NHWC image as the operand that is stored as NCHW."""
        type = self.type.with_dimensions(nhwc_to_nchw(self.type.dimensions))
        return Value.of(self.node(self.is_moved_as, first=True), type, self.is_moved_as, name=self.name)

    def requantize(self, type: OperandType) -> Value:
        """Return the value with the quantization of another type."""
        if same_quantization(self.type, type):
            return self
        first = self.is_channels_first
        target = self.type.replace(scale=type.scale, zero_point=type.zero_point)
        return Value.of(self.before_rounding(first), target, "raw", first=first, name=self.name)

    def _constant(self, kind: Kind, first: bool) -> Node:
        assert self.array is not None
        order = find_order(self.type.rank, first)
        array = self.array.transpose(order) if first else self.array
        if is_symbolic(array) and array.dtype == np.int32 and (node := int32_constant(array)) is not None:
            return node
        if kind == "stored":
            return constant(array)
        if self.type.is_quantized:
            if first and self.type.channel:
                array = dequantize(self.type, self.array).transpose(order)
            else:
                array = dequantize(self.type, array)
        elif self.type.code == OperandCode.TENSOR_BOOL8:
            array = array != 0
        elif array.dtype == np.float16:
            array = array.astype(np.float32)
        return constant(array)

    def _derive(self, kind: Kind, first: bool) -> Node:
        """Make a representation from the first: first its kind, then the order of its axes.

        Floats are quantized once, as two roundings of a half could differ. Quantized values are transposed once, as the
        engine gives an output and another reader of two transposes the same memory.
        """
        (native, order), node = next(iter(self._faces.items()))
        other: Kind = "real" if kind == "stored" else "stored"
        if self.type.is_quantized and native != "stored" and (other, first) in self._faces:
            return _convert(self._faces[other, first], other, kind, self.type)
        if native == "raw" and kind != "raw" and (other, order) in self._faces:
            native, node = other, self._faces[other, order]
        if (kind, order) not in self._faces:
            self._faces[kind, order] = _convert(node, native, kind, self.type)
        node = self._faces[kind, order]
        return node if order == first else op.transpose(node, find_order(self.type.rank, first))


def _convert(node: Node, native: Kind, kind: Kind, type: OperandType) -> Node:
    if type.is_quantized:
        if native == "stored":
            real = decode(node, type)
            if isinstance(node, ov.op.Parameter) and not type.channel:
                return round_to_quantized(real, type)  # no change, but lets the engine compute on quantized values
            return real
        if kind == "raw":
            return node
        return round_to_quantized(node, type) if kind == "real" else encode(node, type)
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
    """Return whether the graph computes in another element type than the operand's."""
    return type.code in (OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_BOOL8)


def decode(quantized: Node, type: OperandType) -> Node:
    """Dequantize in the pattern that the engine recognizes."""
    real = op.convert(quantized, "f32")
    return op.multiply(real, constant(type.channel.broadcast(type.rank))) if type.channel else _scale(real, type)


def _scale(quantized: Node, type: OperandType) -> Node:
    """Dequantize quantized values that are already float32."""
    difference = op.subtract(quantized, number(type.zero_point)) if type.zero_point else quantized
    return op.multiply(difference, number(type.scale))


def decode_exactly(quantized: Node, type: OperandType) -> Node:
    """Dequantize exactly: the zero point becomes 0.

    The engine computes the pattern of :func:`decode` as a product and a sum with rounded constants. Or it lets later
    operators compute on quantized values, which is wrong if they add floats that have none.
    """
    scale = constant(type.channel.broadcast(type.rank)) if type.channel else number(type.scale)
    difference = op.subtract(op.convert(quantized, "i32"), op.constant(np.int32(type.zero_point)))
    return op.multiply(op.convert(difference, "f32"), scale)


def round_to_quantized(real: Node, type: OperandType) -> Node:
    """Round floats to the nearest dequantized value."""
    reach = _reach(type)
    return op.fake_quantize(real, *reach, *reach, STEPS)


def round_half(x: Node) -> Node:
    """Round floats to float16 by arithmetic: the engine removes conversions to float16 and back."""
    size, scaled = op.abs(x), op.multiply(op.clamp(x, -HUGE, HUGE), number(2**13 + 1))
    normal = op.subtract(scaled, op.subtract(scaled, x))
    small = op.multiply(op.round(op.multiply(x, number(2**24)), "half_to_even"), number(2**-24))
    rounded = op.select(op.less(size, number(2**-14)), small, normal)
    return op.select(op.greater_equal(size, number(65520)), op.multiply(x, number(np.inf)), rounded)


def encode(real: Node, type: OperandType) -> Node:
    """Quantize floats to the nearest quantized value."""
    limits = np.iinfo(type.dtype)
    bounds = number(limits.min), number(limits.max)
    quantized = op.fake_quantize(real, *_reach(type), *bounds, STEPS)
    return op.convert(quantized, ELEMENTS[OperandCode(type.code)].get_type_name())


def _reach(type: OperandType) -> tuple[Node, Node]:
    """Return the dequantized values of the lowest and the highest quantized value."""
    limits = np.iinfo(type.dtype)
    low, high = ((float(value) - type.zero_point) * type.scale for value in (limits.min, limits.max))
    return number(low), number(high)
