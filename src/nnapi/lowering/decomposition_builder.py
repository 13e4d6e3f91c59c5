"""The builder of a decomposition: rules call its methods to replace one call by simpler calls."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.refusal import require
from nnapi.model.builder import Builder, Tensor
from nnapi.model.call import Call
from nnapi.model.emitter import Emitter
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import NCHW_TO_NHWC, NHWC_TO_NCHW
from nnapi.operation_codes import Code
from nnapi.ops.quantized_values import same_quantization
from nnapi.rule_table import LoweringRules

FLOAT32 = OperandCode.TENSOR_FLOAT32
RULES = LoweringRules("nnapi.lowering.decompositions")
"""The rules of operations that have a decomposition. A rule takes a :class:`Decomposition` and the call's arguments by
name, with a :class:`Tensor` for each tensor; it returns the tensor of each result."""
decomposition = RULES.register
MOVABLE = frozenset(
    {
        OperandCode.TENSOR_FLOAT32,
        OperandCode.TENSOR_FLOAT16,
        OperandCode.TENSOR_QUANT8_ASYMM,
        OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
    }
)
"""Types that TRANSPOSE and CONCATENATION support."""
CLAMPS = {FuseCode.FUSED_RELU: "relu", FuseCode.FUSED_RELU1: "relu1", FuseCode.FUSED_RELU6: "relu6"}


class Decomposition(Emitter[Tensor, OperandType], Builder):  # type: ignore[misc]
    """The decomposition of one call, built by a rule.

    Rules see NHWC images; an NCHW call gets transposes before and after. The fused activation of the call is applied to
    its first result. ``origins`` maps an operand of the decomposition to the model's operand. ``reshape``,
    ``transpose``, ``slice`` and ``split`` are those of :class:`Emitter`, not the builder's.
    """

    def __init__(self, call: Call, given: Mapping[int, OperandType | None], values: Mapping[int, Array]) -> None:
        super().__init__(f"decomposed {call.operation.name}")
        self.call = call
        self.origins: dict[int, int] = {}
        self.is_stored = False
        """Whether the rule's results already have the call's layout and activation."""
        self.is_clamped = False
        """Whether the rule's first result already has the call's activation."""
        self._tensors: dict[int, Tensor] = {}
        self._given, self._known = given, values
        self._zeros: dict[int, Tensor] = {}
        self._outer: Decomposition | None = None

    def read(self, index: int) -> Tensor | None:
        """Return the tensor of an operand of the model; None for an omitted one."""
        type = self._given[index]
        if type is None:
            return None
        require(type.is_known, f"{type} has unspecified dimensions")
        found = self._tensors.get(index)
        if found is None:
            value = self._known.get(index)
            found = self.input(type) if value is None else self.constant(value, type)
            self._tensors[index] = found
            self.origins[found.index] = index
        return found

    def nest(self, name: str) -> "Decomposition":
        """Return the builder of a model of control flow, which may take operands of this one."""
        types: dict[int, OperandType | None] = {operand.index: operand.type for operand in self.model.operands}
        inner = Decomposition(self.call, types, self._values)
        inner.model.name = f"{self.model.name}: {name}"
        inner._outer = self
        return inner

    def take_outer(self, operand: Any) -> Any:
        """Return an operand of the model around a nested one: a constant as a constant, another tensor as an input."""
        return self.read(operand.index) if isinstance(operand, Tensor) else operand

    def list_outer_operands(self) -> list[Tensor]:
        """Return the tensors of the model around this one that became inputs, in their order."""
        assert self._outer is not None
        return [self._outer._tensor(self.origins[index]) for index in self._inputs if index in self.origins]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the call, with tensors instead of their types."""
        return self.call.bind(self.read, lambda x: self.transpose(x, NCHW_TO_NHWC))

    def complete(self, made: Tensor | Sequence[Tensor]) -> Model:
        """Finish and return the model; its outputs are the call's results, quantized as the call's operands are."""
        results = [made] if isinstance(made, Tensor) else list(made)
        kept, slots = self.call.requantized_results(), self.call.operation.outputs
        images = self.call.images
        for position, type in enumerate(kept):
            result = results[position]
            if not same_quantization(result.type, type):
                result = self._requantize(result, type)
            if (
                not position and self.call.activation and not (self.is_stored or self.is_clamped)
            ):  # clamp after requantizing
                result = getattr(self, CLAMPS[self.call.activation])(result)
            if not self.is_stored and position < len(slots) and slots[position].name in images:
                result = self.transpose(result, NHWC_TO_NCHW)
            is_new = any(result.index in call.outputs for call in self.model.operations)
            if not is_new or result.index in self._outputs:
                (result,) = self.append(Op.RESHAPE, [result, list(result.shape)], [result.type])
            same = result.type.code == type.code and result.shape == type.dimensions
            require(same, f"its decomposition gives {result.type}, not {type}")
            self.output(result)
        self.model.assign_roles(self._inputs, self._outputs)  # inputs or outputs may be empty here
        self.model.freeze()
        return self.model

    def _requantize(self, tensor: Tensor, type: OperandType) -> Tensor:
        real = self.dequantize(tensor, out=OperandType(FLOAT32, tensor.shape))
        return self.quantize(real, out=type.with_dimensions(tensor.shape))

    # Methods for rules

    def value(self, tensor: Tensor) -> Array | None:
        """Return the value of a constant tensor; None for a computed one."""
        return self._values.get(tensor.index)

    def number(self, like: Tensor, value: float) -> Tensor:
        """Return a constant of one element with the dtype of ``like``, for broadcasting."""
        return like.beside(value)  # type: ignore[no-any-return]

    def zeros(self, count: int) -> Tensor:
        """Return a constant of ``count`` float32 zeros; the same count returns the same tensor."""
        if count not in self._zeros:
            self._zeros[count] = self.constant(np.zeros(count, np.float32))
        return self._zeros[count]

    def append(self, code: Code, inputs: Sequence[Any], results: Sequence[OperandType]) -> list[Tensor]:
        given = [np.array(each, np.int32) if isinstance(each, list | range) else each for each in inputs]
        made = self._add(REGISTRY[code], given, {}, out=list(results), scale=None, zero_point=0, name="")
        return [made] if isinstance(made, Tensor) else list(made)

    def full(self, type: OperandType, value: float) -> Tensor:
        """Return a constant filled with one stored value; one out of range keeps its lowest bits."""
        return self.constant(np.full(type.dimensions, np.array(value).astype(type.dtype)), type)

    def can_move(self, x: Tensor) -> bool:
        return x.type.code in MOVABLE

    def reshape(  # type: ignore[override]
        self, x: Tensor, shape: Sequence[int], to: OperandType | None = None
    ) -> Tensor:
        value = self.value(x)
        if value is None or tuple(shape) == x.shape:
            return super().reshape(x, shape, to)
        return self.constant(np.reshape(value, shape), x.type.with_dimensions(tuple(shape)))

    def transpose(  # type: ignore[override]
        self, x: Tensor, order: Sequence[int], to: OperandType | None = None
    ) -> Tensor:
        if list(order) == sorted(order):
            return x
        value, channel = self.value(x), x.type.channel
        if value is None:
            require(channel is None, "its filter is computed and has a scale per channel")
            return super().transpose(x, order, to)
        transposed = np.ascontiguousarray(value.transpose(order))
        channel = channel and channel._replace(dimension=list(order).index(channel.dimension))
        return self.constant(transposed, x.type.replace(dimensions=transposed.shape, channel=channel))

    def pick(self, x: Tensor, axis: int, indices: Sequence[int] | range | Array) -> Tensor:
        if np.array_equal(indices, range(x.shape[axis])):
            return x
        value, channel = self.value(x), x.type.channel
        if value is None:
            return super().pick(x, axis, np.array(indices, np.int32))
        picked = np.ascontiguousarray(value.take(indices, axis))
        if channel is not None and channel.dimension == axis:
            channel = channel._replace(scales=tuple(channel.scales[index] for index in indices))
        return self.constant(picked, x.type.replace(dimensions=picked.shape, channel=channel))

    def block(self, x: Tensor, axis: int, begin: int, size: int) -> Tensor:
        if self.value(x) is not None:
            return self.pick(x, axis, range(begin, begin + size))
        return super().block(x, axis, begin, size)


def read_stored(b: Decomposition, x: Tensor) -> Tensor:
    """Return quantized values minus their zero point, as float32 integers."""
    real = b.dequantize(x, out=OperandType(FLOAT32, x.shape))
    return round_half_up(b, real / x.type.scale)


def round_half_up(b: Decomposition, x: Tensor) -> Tensor:
    """Return the nearest integers; halves round up."""
    return b.floor(x + 0.5)


def write_stored(b: Decomposition, x: Tensor, type: OperandType) -> Tensor:
    """Quantize integers that are quantized values of ``type`` minus its zero point."""
    return b.quantize(x * type.scale, out=type.with_dimensions(x.shape))
