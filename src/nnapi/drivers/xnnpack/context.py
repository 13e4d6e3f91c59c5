"""What a lowering rule is given: one call of the model, the tensors that reach it, and the operators it emits."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.formats.tflite.graph import DTYPES, Operator, Tensor, constant
from nnapi.formats.tflite.operators import facts
from nnapi.lowering import lower as lowering
from nnapi.lowering.lower import Rules, Unsupported, require
from nnapi.model.call import Call
from nnapi.model.operand import Array, ChannelQuantization, OperandType, Shape
from nnapi.ops.quantization import dequantize, requantizer, same_quantization

TYPES: Mapping[int, str] = {
    OperandCode.TENSOR_FLOAT16: "f32",
    OperandCode.TENSOR_FLOAT32: "f32",
    OperandCode.TENSOR_INT32: "i32",
    OperandCode.TENSOR_QUANT8_ASYMM: "i8",
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: "i8",
    OperandCode.TENSOR_QUANT8_SYMM: "i8",
    OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL: "i8",
    OperandCode.TENSOR_QUANT16_SYMM: "i16",
    OperandCode.TENSOR_BOOL8: "bool",
}
"""Element types in the graph by operand code; unsigned codes become signed ones, float16 is computed as float32."""
UNSIGNED = (OperandCode.TENSOR_QUANT8_ASYMM,)
T = TypeVar("T")
SHIFT = 128
"""What an unsigned code is above the signed one that means the same number."""
HIGHEST_RANK = 5
RULES = Rules()
lower = RULES.lower


def tensor_of(type: OperandType, name: str, value: Array | None = None) -> Tensor:
    """The graph's tensor for an operand, with the codes of an unsigned one shifted."""
    element, shape = TYPES.get(type.code), type.dimensions
    if element is None:
        raise Unsupported(f"{name} is {type.name}, which the engine does not compute in")
    if not shape or 0 in shape:
        raise Unsupported(f"{name} has dimensions that are not known before the run: {type}")
    if len(shape) > HIGHEST_RANK:
        raise Unsupported(f"{name} has rank {type.rank}, the engine takes at most {HIGHEST_RANK}")
    shift = SHIFT if type.code in UNSIGNED else 0
    if value is not None:
        value = flip_codes(value) if shift else value.astype(DTYPES[element], copy=False)
    if element not in ("i8", "i16"):
        return Tensor(element, shape, 0.0, type.zero_point - shift, data=value, name=name)
    if type.channel:
        scales = np.array(type.channel.scales, np.float32)
        return Tensor(element, shape, scales, type.zero_point - shift, type.channel.dimension, value, name)
    return Tensor(element, shape, type.scale, type.zero_point - shift, 0, value, name)


def flip_codes(codes: Array) -> Array:
    """Unsigned codes less 128, as signed ones: the highest bit turned over."""
    return np.bitwise_xor(codes, np.uint8(SHIFT)).view(np.int8)


class Context(lowering.Context):
    """One call being lowered. ``findings`` are what rules found out at other calls of the model, too: :meth:`find`;
    ``open`` are operands of which only some dimensions are assumed yet."""

    def __init__(
        self,
        call: Call,
        value_of: Callable[[int], Array | None],
        tensor_of: Callable[[int], Tensor],
        findings: dict[Any, Any],
        open: Container[int],
        find_codes: Callable[[int], Tensor | None],
    ) -> None:
        super().__init__(call)
        self.operators: list[Operator] = []
        self._value_of, self._tensor_of = value_of, tensor_of
        self._findings, self._open, self._find_codes = findings, open, find_codes
        self._reals: dict[Tensor, Tensor] = {}

    # What the rule is given

    def find(self, look: Callable[..., T], *tensors: Tensor) -> T:
        """What a look at tensors says, which is taken once for all calls that share them."""
        key = (look, *tensors)
        result: T | None = self._findings.get(key)
        if result is None:
            result = self._findings[key] = look(*tensors)
        return result

    def type(self, name: str) -> OperandType:
        """The operand type behind a tensor argument, as NHWC."""
        type: OperandType = self.call.arguments[name]
        return type

    def value(self, name: str) -> Array:
        """The stored value of an argument that must be constant."""
        value = self._value_of(self.call.operands[name][0])
        if value is None:
            raise Unsupported(f"{name} is computed, the engine needs it constant")
        return value

    def is_computed(self, name: str) -> bool:
        """Whether an argument has no stored value."""
        return self._value_of(self.call.operands[name][0]) is None

    def find_codes(self, name: str) -> Tensor | None:
        """The constant codes that an argument is the numbers behind, where the engine may compute with those."""
        return self._find_codes(self.call.operands[name][0])

    def is_open(self, name: str) -> bool:
        """Whether a run may bring other dimensions of an argument than those that are tried."""
        return any(index in self._open for index in self.call.operands.get(name, ()))

    def stored_tensor(self, name: str) -> Tensor:
        """The tensor of an argument that rules are given the type of, constant or computed."""
        return self._tensor_of(self.call.operands[name][0])

    @property
    def operation_name(self) -> str:
        return self.call.operation.name

    def result(self, position: int = 0, **changes: Any) -> Tensor:
        """A new tensor of a result's type, as NHWC."""
        result = tensor_of(self.call.results[position], f"output {position}")
        return result.like(**changes) if changes else result

    # What it emits

    def emit(self, kind: str, inputs: Sequence[Tensor | None], output: Tensor, **options: Any) -> Tensor:
        """Append an operator with one output, which comes back."""
        self.operators.append(Operator(kind, list(inputs), [output], options))
        return output

    def real(self, tensor: Tensor) -> Tensor:
        """The numbers behind a quantised tensor as float32; a float tensor itself."""
        if tensor.type != "i8":
            return tensor
        if tensor not in self._reals:
            real = tensor.like(type="f32", scale=0.0, zero_point=0)
            if tensor.data is not None:
                real.data = dequantize(_code_type(tensor), tensor.data)
            else:
                self.emit("DEQUANTIZE", [tensor], real)
            self._reals[tensor] = real
        return self._reals[tensor]

    def real_result(self, position: int = 0) -> Tensor:
        """A float32 tensor of a result's dimensions, for :meth:`store`."""
        return self.result(position, type="f32", scale=0.0, zero_point=0)

    def store(self, real: Tensor, position: int = 0) -> Tensor:
        """A float32 result as the result's own type, quantised where that is."""
        result = self.result(position)
        return self.emit("QUANTIZE", [real], result) if result.type == "i8" else real

    def requantise(self, tensor: Tensor, like: Tensor) -> Tensor:
        """The same numbers in the scale and zero point of ``like``."""
        if tensor.type != "i8" or tensor.same_codes(like):
            return tensor
        if tensor.data is not None:
            real = dequantize(_code_type(tensor), tensor.data)
            codes = requantizer(_code_type(like), FuseCode.FUSED_NONE, 1.0)(real)
            return tensor.like(scale=like.scale, zero_point=like.zero_point, data=codes)
        output = tensor.like(scale=like.scale, zero_point=like.zero_point)
        return self.emit("QUANTIZE", [tensor], output)

    def keep(self, tensor: Tensor, made: OperandType, kept: OperandType) -> Tensor:
        """A result as its operand keeps it, which may be in another scale and zero point than it is made with."""
        if same_quantization(made, kept):
            return tensor
        require(tensor.type == "i8", f"the engine does not requantise {made.name}")
        require(not self.activation, "the result is kept in another scale than the activation's limits are rounded to")
        require(
            not any(facts(operator.kind).rounds for operator in self.operators) or made.scale <= kept.scale,
            f"the result is kept in steps of {kept.scale:g}, the engine may be a step of {made.scale:g} off",
        )
        return self.requantise(tensor, tensor_of(kept, tensor.name))

    def reshape(self, tensor: Tensor, shape: Shape) -> Tensor:
        """The same elements under other dimensions."""
        if tensor.shape == shape:
            return tensor
        return self.emit("RESHAPE", [tensor, constant(shape)], tensor.like(shape=shape))

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        """The axes in another order."""
        if list(order) == list(range(len(tensor.shape))):
            return tensor
        shape = tuple(tensor.shape[axis] for axis in order)
        if tensor.data is not None:
            return tensor.like(shape=shape, data=np.ascontiguousarray(tensor.data.transpose(order)))
        return self.emit("TRANSPOSE", [tensor, constant(order)], tensor.like(shape=shape))

    def pad(self, tensor: Tensor, paddings: Sequence[Sequence[int]]) -> Tensor:
        """Surrounded by zeros, before and after along each axis."""
        if not any(any(pair) for pair in paddings):
            return tensor
        shape = tuple(dimension + sum(pair) for dimension, pair in zip(tensor.shape, paddings, strict=True))
        return self.emit("PAD", [tensor, constant(paddings)], tensor.like(shape=shape))

    def fill(self, tensor: Tensor, value: float) -> Tensor:
        """A constant of one element that is added to, or compared with, a float tensor."""
        return Tensor(tensor.type, (1,), data=np.full(1, value, DTYPES[tensor.type]))


def _code_type(tensor: Tensor) -> OperandType:
    if isinstance(tensor.scale, float):
        return OperandType(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, tensor.shape, tensor.scale, tensor.zero_point)
    channel = ChannelQuantization(tensor.axis, tuple(map(float, tensor.scale)))
    return OperandType(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, tensor.shape, channel=channel)
