"""The context of the exporter's rules: one call, its values, and the nodes that the rule appends."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import FuseCode
from nnapi.exporters.onnx.graph import Node, Value, constant, value_of
from nnapi.lowering import lower as lowering
from nnapi.model.call import Call
from nnapi.model.operand import OperandType
from nnapi.ops.quantized_values import BOUNDS, same_quantization
from nnapi.ops.shapes import Pair
from nnapi.rule_table import LoweringRules

RULES = LoweringRules("nnapi.exporters.onnx.rules")
lower = RULES.register
RENAMED = {
    "ARGMAX": "ArgMax",
    "ARGMIN": "ArgMin",
    "CUMSUM": "CumSum",
    "AVERAGE_POOL_2D": "AveragePool",
    "AVERAGE_POOL_3D": "AveragePool",
    "GREATER_EQUAL": "GreaterOrEqual",
    "LESS_EQUAL": "LessOrEqual",
    "LOGICAL_AND": "And",
    "LOGICAL_NOT": "Not",
    "LOGICAL_OR": "Or",
    "LOGISTIC": "Sigmoid",
    "MAXIMUM": "Max",
    "MAX_POOL_2D": "MaxPool",
    "MAX_POOL_3D": "MaxPool",
    "MEAN": "ReduceMean",
    "MINIMUM": "Min",
    "REDUCE_ALL": "ReduceMin",
    "REDUCE_ANY": "ReduceMax",
}
"""ONNX's names of operations that differ from NNAPI's names in camel case."""


class OnnxContext(lowering.Context):
    """One exported call. Quantized values are computed as floats; all calls share the ``transposed`` constants.

    ``is_part`` says that the call is part of another call's decomposition.
    """

    def __init__(
        self, call: Call, transposed: dict[tuple[Value, tuple[int, ...]], Value], *, is_part: bool = False
    ) -> None:
        super().__init__(call)
        self.is_part = is_part
        self.operators: list[Node] = []
        self._transposed = transposed

    @property
    def kind(self) -> str:
        """Return ONNX's name of the operation."""
        name = self.call.operation.name
        return RENAMED.get(name) or "".join(map(str.capitalize, name.split("_")))

    def result(self, position: int = 0) -> Value:
        """Return a new value with the type of a result, as NHWC."""
        return value_of(self.call.results[position], f"output {position}", is_static=True)

    # Nodes

    def emit(self, kind: str, inputs: Sequence[Value | None], output: Value, **attributes: Any) -> Value:
        self.operators.append(Node(kind, list(inputs), [output], attributes))
        return output

    def compute(self, kind: str, *inputs: Value | None, **attributes: Any) -> Value:
        """Return the call's first result, computed by a node ``kind`` on the dequantized inputs."""
        reals, out = [None if value is None else self.real(value) for value in inputs], self.result()
        return self.store(
            self.emit(kind, reals, out if out.quantized is None else out.like(element=np.float32), **attributes)
        )

    def move(self, kind: str, inputs: Sequence[Value | None], **attributes: Any) -> Value:
        """Return the call's first result, computed by a node that only moves elements."""
        return self.emit(kind, inputs, self.result(), **attributes)

    def real(self, value: Value) -> Value:
        """Return a quantized value dequantized; return any other value unchanged."""
        if value.quantized is None:
            return value
        out, channel = value.like(element=np.float32), value.quantized.channel
        if channel is None:
            return self.emit("DequantizeLinear", [value, *self._parameters(value.quantized, value.element)], out)
        parameters = constant(channel.scales, np.float32), constant(np.zeros(len(channel.scales)), value.element)
        return self.emit("DequantizeLinear", [value, *parameters], out, axis=channel.dimension)

    def quantize(self, real: Value, type: OperandType) -> Value:
        out = value_of(type.with_dimensions(real.shape), real.name)
        real = self.cast(real, np.float32)
        return self.emit("QuantizeLinear", [real, *self._parameters(type, out.element)], out)

    def store(self, real: Value, position: int = 0) -> Value:
        """Return a result as declared: quantized if its type is; the fused activation applies to the first result."""
        if position == 0:
            real = self.activate(real, self.activation)
        type = self.call.results[position]
        return self.quantize(real, type) if type.is_quantized else real

    def activate(self, value: Value, activation: FuseCode) -> Value:
        if activation == FuseCode.FUSED_NONE:
            return value
        if activation == FuseCode.FUSED_RELU:
            return self.emit("Relu", [value], value.like())
        return self.clip(value, *BOUNDS[activation])

    def fit_to_operand(self, value: Value, made: OperandType, kept: OperandType) -> Value:
        return value if same_quantization(made, kept) else self.quantize(self.real(value), kept)

    def in_one_scale(self, values: Sequence[Value]) -> list[Value]:
        """Return the values requantized to the first result's type."""
        type = self.call.results[0]
        return [self.fit_to_operand(value, value.quantized or type, type) for value in values]

    def dequantize_weights(self, input: Value, filter: Value, bias: Value) -> tuple[Value, Value]:
        """Return filter and bias dequantized; the bias has the scale of input times filter."""
        quantization, filter = filter.quantized, self.real(filter)
        if quantization is None or input.quantized is None:
            return filter, bias
        scales = np.multiply(
            quantization.channel.scales if quantization.channel else quantization.scale, input.quantized.scale
        )
        inputs = [bias, constant(scales, np.float32)]  # the zero point 0 is omitted
        return filter, self.emit("DequantizeLinear", inputs, bias.like(element=np.float32), axis=0)

    # Shorthands

    def on_image(
        self, kind: str, input: Value, *others: Value, padding: Sequence[Pair] | None = None, **attributes: Any
    ) -> Value:
        """Return the call's first result, computed by a node ``kind`` on the dequantized input as NCHW. The image may
        also be a volume."""
        if padding is not None:
            attributes["pads"] = [pair[side] for side in (0, 1) for pair in padding]
        x, (batches, *cells, channels) = self.real(self.to_nchw(input)), self.result().shape
        made = self.emit(kind, [x, *others], x.like((batches, channels, *cells)), **attributes)
        return self.to_nhwc(self.store(made))

    def copy(self, value: Value) -> Value:
        return self.emit("Identity", [value], value.like())

    def clip(self, value: Value, low: float, high: float) -> Value:
        bounds = (constant(bound, value.element) for bound in (low, high))
        return self.emit("Clip", [value, *bounds], value.like())

    def cast(self, value: Value, element: Any) -> Value:
        if value.element == element:
            return value
        return self.emit("Cast", [value], value.like(element=element), to=np.dtype(element))

    def narrow(self, positions: Value, position: int = 0) -> Value:
        """Return a result from the 64-bit integers that ONNX's operators give as positions and sizes."""
        out = self.result(position)
        return self.emit("Cast", [positions], out, to=out.element)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        if value.shape == tuple(shape):
            return value
        if value.data is not None:
            return value.like(shape, data=value.data.reshape(shape))
        return self.emit("Reshape", [value, constant(shape)], value.like(shape))

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if value.data is None:
            return self.emit("Transpose", [value], value.transposed(order), perm=list(order))
        key = value, tuple(order)
        if key not in self._transposed:
            self._transposed[key] = value.transposed(order, np.ascontiguousarray(value.data.transpose(order)))
        return self._transposed[key]

    def pad(self, value: Value, around: Sequence[Sequence[int]], number: float) -> Value:
        if not any(map(any, around)):
            return value
        shape = tuple(size + sum(pair) for size, pair in zip(value.shape, around, strict=True))
        pads = constant([pair[0] for pair in around] + [pair[1] for pair in around])
        x = self.real(value)
        padded = self.emit("Pad", [x, pads, constant(number, x.element)], x.like(shape), mode="constant")
        return padded if value.quantized is None else self.quantize(padded, value.quantized)

    def to_nchw(self, value: Value) -> Value:
        last = len(value.shape) - 1
        return self.transpose(value, (0, last, *range(1, last)))

    def to_nhwc(self, value: Value) -> Value:
        return self.transpose(value, (0, *range(2, len(value.shape)), 1))

    def _parameters(self, type: OperandType, element: np.dtype[Any]) -> list[Value | None]:
        return [constant(type.scale, np.float32), constant(type.zero_point, element)]
