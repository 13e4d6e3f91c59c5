"""The context of a rule that lowers one NNAPI call to operators of TensorFlow Lite."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.formats.tflite.graph import DTYPES, Operator, Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS, SAME, VALID
from nnapi.lowering import lower as lowering
from nnapi.lowering.refusal import Unsupported, require
from nnapi.model.call import Call
from nnapi.model.operand import Array, ChannelQuantization, OperandType, Shape
from nnapi.ops.quantized_values import dequantize, requantizer, same_quantization
from nnapi.ops.shapes import Padding, Pair, same_padding
from nnapi.rule_table import LoweringRules

TYPES: Mapping[int, str] = {
    OperandCode.TENSOR_FLOAT16: "f32",
    OperandCode.TENSOR_FLOAT32: "f32",
    OperandCode.TENSOR_INT32: "i32",
    OperandCode.TENSOR_QUANT8_ASYMM: "u8",
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: "i8",
    OperandCode.TENSOR_QUANT8_SYMM: "i8",
    OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL: "i8",
    OperandCode.TENSOR_QUANT16_SYMM: "i16",
    OperandCode.TENSOR_BOOL8: "bool",
}
"""Element types by operand code. Operators compute float16 tensors in float32; inputs and outputs are converted."""
QUANTIZED = {
    "u8": OperandCode.TENSOR_QUANT8_ASYMM,
    "i8": OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
    "i16": OperandCode.TENSOR_QUANT16_SYMM,
}
RENAMED = {
    "RELU1": "RELU_N1_TO_1",
    "ARGMAX": "ARG_MAX",
    "ARGMIN": "ARG_MIN",
    "PAD_V2": "PADV2",
    "REDUCE_SUM": "SUM",
    "REDUCE_SUM_V2": "SUM",
    "MEAN_V2": "MEAN",
}
"""TensorFlow Lite's names of operations that NNAPI names differently."""
ACTIVATIONS = ("", "RELU", "RELU_N1_TO_1", "RELU6")
"""The operator of each activation, by its FuseCode; empty for none."""
SHIFT = 128
"""Difference between an unsigned quantized value and the signed value that represents the same number."""
HIGHEST_RANKS = {"PAD": 5, "PADV2": 5}
"""Maximum ranks of operators that LiteRT refuses beyond, with the whole graph."""
RULES = LoweringRules("nnapi.lowering.tflite")
lower = RULES.register


def tensor_of(type: OperandType, name: str, value: Array | None = None, *, is_static: bool = False) -> Tensor:
    """Return the tensor of an operand type, with its quantization; raise Unsupported if TensorFlow Lite has none.

    If its dimensions are static, 0 is the size of an axis without elements."""
    element, shape = TYPES.get(type.code), type.dimensions
    if element is None:
        raise Unsupported(f"TensorFlow Lite has no {type.name}, which {name} is")
    if not shape or (0 in shape and not is_static):
        raise Unsupported(f"{name} has dimensions that are not known before the run: {type}")
    data = None if value is None else value.astype(DTYPES[element], copy=False).reshape(shape)
    if type.channel:
        return Tensor(element, shape, np.array(type.channel.scales, np.float32), 0, type.channel.dimension, data, name)
    return Tensor(element, shape, float(type.scale), type.zero_point, 0, data, name)


def flip_sign(tensor: Tensor) -> Tensor:
    """Return an unsigned 8-bit tensor as signed, or a signed one as unsigned: values and zero point shift by 128."""
    type, shift = ("i8", -SHIFT) if tensor.type == "u8" else ("u8", SHIFT)
    data = None if tensor.data is None else flip_values(tensor.data)
    return tensor.like(type=type, zero_point=tensor.zero_point + shift, data=data)


def flip_values(values: Array) -> Array:
    """Convert 8-bit values from unsigned to signed or back: invert the highest bit."""
    flipped = np.bitwise_xor(values.view(np.uint8), np.uint8(SHIFT))
    return flipped if values.dtype == np.int8 else flipped.view(np.int8)


def image_paddings(padding: Padding) -> list[Sequence[int]]:
    return [(0, 0), *padding, (0, 0)]


class TfliteContext(lowering.Context, ABC):
    """One call that is being lowered, and the operators that a rule has appended for it.

    ``value_of`` returns an operand's stored value by index, None for a computed operand; ``tensor_at`` its tensor.
    """

    keeps_axes: ClassVar[bool] = False
    """Whether operators keep reduced or shrunk axes with size 1, which a RESHAPE then removes."""

    def __init__(self, call: Call, value_of: Callable[[int], Array | None], tensor_at: Callable[[int], Tensor]) -> None:
        super().__init__(call)
        self.operators: list[Operator] = []
        self._value_of, self._tensor_at = value_of, tensor_at
        self._reals: dict[Tensor, Tensor] = {}

    # The call

    @property
    def operation_name(self) -> str:
        return self.call.operation.name

    @property
    def kind(self) -> str:
        """Return TensorFlow Lite's name of the operation."""
        return RENAMED.get(self.operation_name, self.operation_name)

    def type(self, name: str) -> OperandType:
        """Return the type of a tensor argument; images are NHWC."""
        type: OperandType = self.call.arguments[name]
        return type

    def value(self, name: str) -> Array:
        """Return the stored value of an argument; raise Unsupported if it is computed."""
        value = self._value_of(self.call.operands[name][0])
        if value is None:
            raise Unsupported(f"{name} is computed, the engine needs it constant")
        return value

    def is_computed(self, name: str) -> bool:
        return self._value_of(self.call.operands[name][0]) is None

    def stored_tensor(self, name: str) -> Tensor:
        """Return the tensor of an argument that rules get as an operand type."""
        return self._tensor_at(self.call.operands[name][0])

    # Results

    def tensor_of(self, type: OperandType, name: str) -> Tensor:
        """Return a new tensor of an operand type."""
        return tensor_of(type, name)

    def result(self, position: int = 0) -> Tensor:
        """Return a new tensor for a result; images are NHWC."""
        return self.tensor_of(self.call.results[position], f"output {position}")

    def results(self, count: int) -> list[Tensor]:
        return [self.result(position) for position in range(count)]

    def float_like(self, tensor: Tensor) -> Tensor:
        """Return a new float32 tensor of the same shape if the tensor is quantized; else the tensor itself."""
        return tensor.like(type="f32", scale=0.0, zero_point=0) if tensor.is_quantized else tensor

    def real_result(self) -> Tensor:
        """Return a new float32 tensor with the shape of the first result, for :meth:`store`."""
        return self.float_like(self.result())

    def store(self, real: Tensor, position: int = 0) -> Tensor:
        """Convert a float32 tensor to the type of a result, which is quantized or float32."""
        result = self.result(position)
        return self.emit("QUANTIZE", [real], result) if result.is_quantized else real

    def fit_to_operand(self, tensor: Tensor, made: OperandType, kept: OperandType) -> Tensor:
        """Requantize a result to the quantization of its operand."""
        if same_quantization(made, kept):
            return tensor
        return self.requantize(tensor, self.tensor_of(kept, tensor.name))

    # Operators

    def emit(self, kind: str, inputs: Sequence[Tensor | None], output: Tensor | None = None, **options: Any) -> Tensor:
        """Append an operator with one output, by default the call's first result; return the output."""
        output = self.result() if output is None else output
        if output.is_quantized and self.is_in_float(kind, output):
            reals = [None if tensor is None else self.real(tensor) for tensor in inputs]
            real = self.emit(kind, reals, self.float_like(output), **options)
            return self.emit("QUANTIZE", [real], output)
        self.operators.append(Operator(kind, list(inputs), [output], options))
        return output

    def is_in_float(self, kind: str, output: Tensor) -> bool:
        """Return whether :meth:`emit` computes an operator with a quantized output in float32."""
        return False

    def emit_several(
        self, kind: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], **options: Any
    ) -> list[Tensor]:
        """Append an operator with several outputs; return them."""
        self.operators.append(Operator(kind, list(inputs), list(outputs), options))
        return list(outputs)

    @abstractmethod
    def sum_products(self, kind: str, x: Tensor, name: str, channel: int, out: Tensor, **options: Any) -> Tensor:
        """Multiply ``x`` by the argument ``name`` with units along ``channel``, and add ``bias``; return ``out``."""

    def fit_windows(
        self, x: Tensor, size: Sequence[int], padding: Padding, stride: Pair, dilation: Pair = (1, 1)
    ) -> tuple[int | None, Pair, Pair]:
        """Return padding scheme (None if neither SAME nor VALID fits), strides and dilations. May raise Unsupported."""
        if not any(map(any, padding)):
            return VALID, stride, dilation
        axes = zip(x.shape[1:3], size, stride, dilation, strict=True)
        is_same = tuple(map(tuple, padding)) == tuple(same_padding(*axis) for axis in axes)
        return SAME if is_same else None, stride, dilation

    def stored_value(self, name: str, value: float) -> float:
        """Convert a scalar from the quantization of the argument ``name`` to that of the argument's tensor."""
        return value

    # Quantization

    def real(self, tensor: Tensor) -> Tensor:
        """Return a dequantized tensor; a tensor that is not quantized is returned itself."""
        if not tensor.is_quantized or tensor.type not in QUANTIZED:
            return tensor
        if tensor not in self._reals:
            real = self.float_like(tensor)
            if tensor.data is not None:
                real.data = dequantize(_operand_type(tensor), tensor.data)
            else:
                self.emit("DEQUANTIZE", [tensor], real)
            self._reals[tensor] = real
        return self._reals[tensor]

    def requantize(self, tensor: Tensor, like: Tensor) -> Tensor:
        """Return the tensor with the type, scale and zero point of ``like``; itself if it has no scale."""
        if not tensor.is_quantized or tensor.same_quantization(like):
            return tensor
        require(like.type in ("u8", "i8"), f"TensorFlow Lite does not requantize {like.type}")
        target = tensor.like(type=like.type, scale=like.scale, zero_point=like.zero_point)
        if tensor.data is None:
            return self.emit("QUANTIZE", [tensor], target)
        real = dequantize(_operand_type(tensor), tensor.data)
        target.data = requantizer(_operand_type(like), FuseCode.FUSED_NONE, 1.0)(real)
        return target

    def cast(self, tensor: Tensor, out: Tensor) -> Tensor:
        """Convert elements to the type of ``out``; return ``out``."""
        return self.emit("CAST", [tensor], out, source=ELEMENTS[tensor.type], target=ELEMENTS[out.type])

    def round_half(self, tensor: Tensor) -> Tensor:
        """Round float32 values to float16."""
        return self.cast(self.cast(tensor, tensor.like(type="f16")), tensor.like())

    # Shapes

    def reshape(self, tensor: Tensor, shape: Shape, output: Tensor | None = None) -> Tensor:
        """Return the same elements with another shape: in ``output`` if that is given, else maybe the tensor itself."""
        if output is None and tensor.shape == shape:
            return tensor
        return self.emit("RESHAPE", [tensor, constant(shape)], output or tensor.like(shape=shape))

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        if list(order) == list(range(len(tensor.shape))):
            return tensor
        shape = tuple(tensor.shape[axis] for axis in order)
        if tensor.data is not None:
            return tensor.like(shape=shape, data=np.ascontiguousarray(tensor.data.transpose(order)))
        return self.emit("TRANSPOSE", [tensor, constant(order)], tensor.like(shape=shape))

    def pad(self, tensor: Tensor, paddings: Sequence[Sequence[int]], value: Tensor | None = None) -> Tensor:
        """Pad each axis with (before, after) elements: zeros, or ``value``, a constant of one element."""
        if not any(any(pair) for pair in paddings):
            return tensor
        shape = tuple(size + sum(pair) for size, pair in zip(tensor.shape, paddings, strict=True))
        inputs = [tensor, constant(paddings)]
        if value is None:
            return self.emit("PAD", inputs, tensor.like(shape=shape))
        return self.emit("PADV2", [*inputs, value], tensor.like(shape=shape))

    def cut(self, tensor: Tensor, begin: Sequence[int], shape: Shape) -> Tensor:
        return self.emit("SLICE", [tensor, constant(begin), constant(shape)], tensor.like(shape=shape))

    def concatenate(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Concatenate tensors along an axis."""
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        values = [part.data for part in parts if part.data is not None]
        concatenated = parts[0].like(shape=tuple(shape))
        if len(values) < len(parts):
            return self.emit("CONCATENATION", parts, concatenated, axis=axis, activation=0)
        concatenated.data = np.concatenate(values, axis)
        return concatenated

    # Arithmetic

    def fill(self, tensor: Tensor, value: float) -> Tensor:
        """Return a constant of one element, the stored value ``value``, with the type and quantization of
        ``tensor``."""
        data = np.full(1, value, DTYPES[tensor.type])
        return Tensor(tensor.type, (1,), tensor.scale, tensor.zero_point, data=data)

    def map(self, kind: str, x: Tensor, out: Tensor | None = None) -> Tensor:
        """Emit a function of each element, by its name in TensorFlow Lite or NNAPI."""
        return self.emit(RENAMED.get(kind, kind), [x], out or x.like())

    def combine(self, kind: str, a: Tensor, b: Tensor) -> Tensor:
        """Emit ADD, SUB, MUL or DIV of two float32 tensors with broadcasting."""
        return self.emit(kind, [a, b], a.like(shape=np.broadcast_shapes(a.shape, b.shape)), activation=0)

    def activate(self, x: Tensor) -> Tensor:
        """Emit the call's activation as an operator on float32 values."""
        kind = ACTIVATIONS[self.activation]
        return self.emit(kind, [x], x.like()) if kind else x

    def product(self, x: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        """Return x · weightsᵀ + bias."""
        out = x.like(shape=(x.shape[0], weights.shape[0]))
        return self.emit("FULLY_CONNECTED", [x, weights, bias], out, activation=0)


def _operand_type(tensor: Tensor) -> OperandType:
    if isinstance(tensor.scale, float):
        return OperandType(QUANTIZED[tensor.type], tensor.shape, tensor.scale, tensor.zero_point)
    channel = ChannelQuantization(tensor.axis, tuple(map(float, tensor.scale)))
    return OperandType(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, tensor.shape, channel=channel)
