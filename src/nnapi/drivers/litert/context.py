"""The context of LiteRT's rules: its differences from the canonical context, and facts about the whole model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from nnapi.codes import OperandCode
from nnapi.formats.tflite.graph import Tensor
from nnapi.formats.tflite.operators import row_of
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import context as canonical
from nnapi.lowering.tflite.context import SHIFT, flip_sign
from nnapi.lowering.windows import explain_too_wide, limit_steps
from nnapi.model.call import Call
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.ops.quantized_values import same_quantization
from nnapi.ops.shapes import Padding, Pair
from nnapi.rule_table import LoweringRules

UNSIGNED = (OperandCode.TENSOR_QUANT8_ASYMM,)
T = TypeVar("T")
HIGHEST_RANK = 6
POOLS = ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")
MOST_PADDING = 256
"""Maximum elements of padding per side around a pooled image of any size."""
RULES = LoweringRules("nnapi.drivers.litert.rules", canonical.RULES)
lower = RULES.register


def tensor_of(type: OperandType, name: str, value: Array | None = None) -> Tensor:
    """Return the tensor of an operand; unsigned 8-bit operands get a signed tensor."""
    tensor = canonical.tensor_of(type, name, value)
    require(type.rank <= HIGHEST_RANK, f"{name} has rank {type.rank}, the engine takes at most {HIGHEST_RANK}")
    if tensor.type == "i32":
        tensor.scale = 0.0
    return flip_sign(tensor) if tensor.type == "u8" else tensor


def with_all_zeros(tensor: Tensor, shape: Shape) -> Tensor:
    """Expand a constant 0 to the result's shape. The engine replaces a product with a single 0 by that 0, which loses
    the other tensor's dimensions."""
    if tensor.type != "f32" or tensor.data is None or tensor.size != 1 or tensor.data.any():
        return tensor
    return tensor.like(shape=shape, data=np.zeros(shape, np.float32))


IN_FLOAT = frozenset(
    {"AVERAGE_POOL_2D", "BATCH_MATMUL", "HARD_SWISH", "L2_NORMALIZATION", "LEAKY_RELU", "PRELU", "SOFTMAX"}
)
"""Operators whose quantized kernels are slower than float ones, or abort for some scales."""
SHORT = 12
"""Values of a softmax up to which the quantized kernel is faster than XNNPACK's, 7 times for 2 values."""


class LitertContext(canonical.TfliteContext):
    """One call that is being lowered. ``findings`` is the cache of :meth:`find`; ``dynamic`` has the declared
    dimensions of operands whose shapes are assumed."""

    keeps_axes: ClassVar[bool] = True
    has_xnnpack: ClassVar[bool] = False
    """Whether XNNPACK computes the graph."""
    permits_dynamic_range = False
    """Whether the engine may quantize the float inputs of products, row by row."""

    def __init__(
        self,
        call: Call,
        value_of: Callable[[int], Array | None],
        tensor_at: Callable[[int], Tensor],
        findings: dict[Any, Any],
        dynamic: Mapping[int, Shape],
        find_quantized: Callable[[int], Tensor | None],
    ) -> None:
        super().__init__(call, value_of, tensor_at)
        self._findings, self._dynamic, self._find_quantized = findings, dynamic, find_quantized

    def is_in_float(self, kind: str, output: Tensor) -> bool:
        is_short = self.has_xnnpack and kind == "SOFTMAX" and output.shape[-1] <= SHORT
        return kind in IN_FLOAT and not is_short

    # Methods for this engine's rules

    def find(self, look: Callable[..., T], *tensors: Tensor) -> T:
        """Return ``look(*tensors)``, cached for all calls with the same tensors."""
        key = (look, *tensors)
        result: T | None = self._findings.get(key)
        if result is None:
            result = self._findings[key] = look(*tensors)
        return result

    def record(self, tensor: Tensor, fact: object) -> None:
        """Record a fact about a tensor, for the rules of later calls."""
        self._findings[tensor] = fact

    def recall(self, tensor: Tensor) -> Any:
        """Return the fact that was recorded about a tensor; None without one."""
        return self._findings.get(tensor)

    def find_quantized(self, name: str) -> Tensor | None:
        """Return the quantized constant that a float argument is dequantized from, if the engine may use it."""
        return self._find_quantized(self.call.operands[name][0])

    def is_dynamic(self, name: str, axis: int | None = None) -> bool:
        """Return whether a run may have another dimension of an argument than the assumed one, by default any."""
        found = [self._dynamic[index] for index in self.call.operands.get(name, ()) if index in self._dynamic]
        return bool(found) if axis is None else any(not dimensions or not dimensions[axis] for dimensions in found)

    # Methods that override the canonical ones

    def tensor_of(self, type: OperandType, name: str) -> Tensor:
        return tensor_of(type, name)

    def stored_value(self, name: str, value: float) -> float:
        return value - SHIFT if self.type(name).code in UNSIGNED else value

    def combine(self, kind: str, a: Tensor, b: Tensor) -> Tensor:
        if kind == "MUL":
            shape = np.broadcast_shapes(a.shape, b.shape)
            a, b = with_all_zeros(a, shape), with_all_zeros(b, shape)
        return super().combine(kind, a, b)

    def fit_windows(
        self, x: Tensor, size: Sequence[int], padding: Padding, stride: Pair, dilation: Pair = (1, 1)
    ) -> tuple[int | None, Pair, Pair]:
        """Refuse padding of pools that the engine does not support; pad averages whose windows exceed the height."""
        (height, width), (down, across) = x.shape[1:3], size
        if self.operation_name in POOLS:
            for cells, pair in zip((height, width), padding, strict=True):
                most = max(cells, MOST_PADDING)
                wide = f"{max(pair)} cells of padding beside {cells}, the engine takes at most {most}"
                require(max(pair) <= most, wide)
        require(not explain_too_wide(padding), explain_too_wide(padding))
        stride, dilation = limit_steps((height, width), (down, across), stride, padding, dilation)
        fitted = super().fit_windows(x, size, padding, stride, dilation)
        is_mean = self.operation_name in ("AVERAGE_POOL_2D", "L2_POOL_2D")
        is_higher = is_mean and down > height and self.result().shape[1] > 1
        return (None, stride, dilation) if is_higher else fitted

    def fit_to_operand(self, tensor: Tensor, made: OperandType, kept: OperandType) -> Tensor:
        if not same_quantization(made, kept):
            require(tensor.type == "i8", f"the engine does not requantize {made.name}")
            require(not self.activation, "the result has another scale than the activation is rounded to")
            require(
                not any(row_of(operator.kind).rounds for operator in self.operators) or made.scale <= kept.scale,
                f"the result has steps of {kept.scale:g}, the engine may be a step of {made.scale:g} off",
            )
        return super().fit_to_operand(tensor, made, kept)
