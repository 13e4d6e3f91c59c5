"""What an exporter's rule is given: one call of the model, its tensors, and the operators that it appends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.drivers import lowering
from nnapi.drivers.lowering import Rules, Unsupported, require
from nnapi.formats.tflite.graph import DTYPES, Operator, Tensor, constant
from nnapi.model.call import Call
from nnapi.model.operand import Array, OperandType

TYPES: Mapping[int, str] = {
    OperandCode.TENSOR_FLOAT32: "f32",
    OperandCode.TENSOR_INT32: "i32",
    OperandCode.TENSOR_QUANT8_ASYMM: "u8",
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: "i8",
    OperandCode.TENSOR_QUANT8_SYMM: "i8",
    OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL: "i8",
    OperandCode.TENSOR_QUANT16_SYMM: "i16",
    OperandCode.TENSOR_BOOL8: "bool",
}
"""Element types of the file by operand code."""
REASONS = {OperandCode.TENSOR_FLOAT16: "TFLite's operators compute no float16"}
RULES = Rules()
lower = RULES.lower


def tensor_of(type: OperandType, name: str, value: Array | None = None) -> Tensor:
    """The file's tensor for an operand."""
    element, shape = TYPES.get(type.code), type.dimensions
    if element is None:
        raise Unsupported(REASONS.get(OperandCode(type.code), f"TFLite has no {type.name}, which {name} is"))
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

    def requantise(self, tensor: Tensor, type: OperandType) -> Tensor:
        """A result as its operand keeps it, in another scale and zero point."""
        kept = tensor_of(type, tensor.name)
        require(kept.type in ("u8", "i8"), f"TFLite does not requantise {type.name}")
        return self.emit("QUANTIZE", [tensor], kept)
