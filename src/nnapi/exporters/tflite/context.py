"""What an exporter's rule is given: one call of the model, its tensors, and the operators that it appends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.formats.tflite.graph import DTYPES, Operator, Tensor, constant
from nnapi.lowering import lower as lowering
from nnapi.lowering.lower import Rules, Unsupported, require
from nnapi.model.call import Call
from nnapi.model.operand import Array, OperandType, Shape

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
"""Element types of the file by operand code; no operator computes float16, which is converted at the ends."""
SHIFT = 128
"""What an unsigned code is above the signed one that means the same number."""
RULES = Rules()
lower = RULES.lower


def tensor_of(type: OperandType, name: str, value: Array | None = None) -> Tensor:
    """The file's tensor for an operand."""
    element, shape = TYPES.get(type.code), type.dimensions
    if element is None:
        raise Unsupported(f"TFLite has no {type.name}, which {name} is")
    if not shape or 0 in shape:
        raise Unsupported(f"{name} has open dimensions: {type}")
    data = None if value is None else value.astype(DTYPES[element], copy=False).reshape(shape)
    if type.channel:
        scales = np.array(type.channel.scales, np.float32)
        return Tensor(element, shape, scales, 0, type.channel.dimension, data, name)
    return Tensor(element, shape, float(type.scale), type.zero_point, 0, data, name)


class Context(lowering.Context):
    """One call on its way into the file."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.operators: list[Operator] = []

    @property
    def kind(self) -> str:
        """The operation's name in NNAPI, of most operations that in TFLite too."""
        return self.call.operation.name

    def result(self, position: int = 0) -> Tensor:
        """A new tensor of a result's type, as NHWC."""
        return tensor_of(self.call.results[position], f"output {position}")

    def emit(self, kind: str, inputs: Sequence[Tensor | None], output: Tensor | None = None, **options: Any) -> Tensor:
        """Append an operator with one output, by default the call's result; gives it."""
        output = self.result() if output is None else output
        self.operators.append(Operator(kind, list(inputs), [output], options))
        return output

    def several(self, kind: str, inputs: Sequence[Tensor | None], count: int, **options: Any) -> list[Tensor]:
        """Append an operator with some outputs."""
        results = [self.result(position) for position in range(count)]
        self.operators.append(Operator(kind, list(inputs), results, options))
        return results

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        shape = tuple(tensor.shape[axis] for axis in order)
        return self.emit("TRANSPOSE", [tensor, constant(list(order))], tensor.like(shape=shape))

    def reshape(self, tensor: Tensor, shape: Shape, output: Tensor | None = None) -> Tensor:
        """The same elements under other dimensions."""
        if output is None and tensor.shape == shape:
            return tensor
        return self.emit("RESHAPE", [tensor, constant(shape)], output or tensor.like(shape=shape))

    def requantise(self, tensor: Tensor, type: OperandType) -> Tensor:
        """A result as its operand keeps it, in another scale and zero point."""
        kept = tensor_of(type, tensor.name)
        require(kept.type in ("u8", "i8"), f"TFLite does not requantise {type.name}")
        return self.emit("QUANTIZE", [tensor], kept)

    # Numbers instead of codes, where TFLite's operator takes none, or others

    def real(self, tensor: Tensor) -> Tensor:
        """The numbers behind codes; a tensor without itself."""
        if not tensor.is_quantized:
            return tensor
        require(tensor.type in ("u8", "i8", "i16"), f"TFLite does not dequantise {tensor}")
        return self.emit("DEQUANTIZE", [tensor], tensor.like(type="f32", scale=0.0, zero_point=0))

    def real_result(self, position: int = 0) -> Tensor:
        """A tensor of numbers for :meth:`store`."""
        return self.result(position).like(type="f32", scale=0.0, zero_point=0)

    def store(self, real: Tensor, position: int = 0) -> Tensor:
        """Numbers as the result has them: as codes where it has codes."""
        result = self.result(position)
        return self.emit("QUANTIZE", [real], result) if result.is_quantized else real

    def fill(self, tensor: Tensor, number: float) -> Tensor:
        """A number to compute with beside a tensor of numbers."""
        return Tensor(tensor.type, (1,), data=np.full(1, number, DTYPES[tensor.type]))

    # Codes as signed or unsigned ones

    def turn(self, tensor: Tensor, type: str) -> Tensor:
        """The same numbers as codes of 8 bits with or without a sign, 128 apart."""
        if tensor.type == type:
            return tensor
        shift = SHIFT if type == "u8" else -SHIFT
        turned = tensor.like(type=type, zero_point=tensor.zero_point + shift)
        if tensor.data is None:
            return self.emit("QUANTIZE", [tensor], turned)
        turned.data = np.bitwise_xor(tensor.data.view(np.uint8), np.uint8(SHIFT)).view(DTYPES[type])
        return turned

    def turned_result(self, type: str) -> Tensor:
        """A tensor of signed or unsigned codes for :meth:`turn_back`."""
        result = self.result()
        shift = SHIFT if type == "u8" else -SHIFT
        return result if result.type == type else result.like(type=type, zero_point=result.zero_point + shift)

    def turn_back(self, tensor: Tensor) -> Tensor:
        """Codes as the result has them."""
        return self.emit("QUANTIZE", [tensor]) if self.result().type != tensor.type else tensor

    # What cells are written out with

    def product(self, x: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        out = x.like(shape=(x.shape[0], weights.shape[0]))
        return self.emit("FULLY_CONNECTED", [x, weights, bias], out, activation=0)

    def combine(self, kind: str, a: Tensor, b: Tensor) -> Tensor:
        return self.emit(kind, [a, b], a.like(shape=np.broadcast_shapes(a.shape, b.shape)), activation=0)

    def map(self, kind: str, x: Tensor) -> Tensor:
        return self.emit("RELU_N1_TO_1" if kind == "RELU1" else kind, [x], x.like())

    def mean(self, x: Tensor) -> Tensor:
        last = constant([len(x.shape) - 1])
        return self.emit("MEAN", [x, last], x.like(shape=(*x.shape[:-1], 1)), keep_dims=True)

    def bound(self, x: Tensor, limit: float) -> Tensor:
        below = self.emit("MINIMUM", [x, self.fill(x, limit)], x.like())
        return self.emit("MAXIMUM", [below, self.fill(x, -limit)], x.like())

    def cut(self, x: Tensor, begin: Sequence[int], shape: Shape) -> Tensor:
        return self.emit("SLICE", [x, constant(list(begin)), constant(shape)], x.like(shape=shape))

    def join(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        return self.emit("CONCATENATION", list(parts), parts[0].like(shape=tuple(shape)), axis=axis, activation=0)
