"""The context of the exporter's rules, which preserve quantization and filters."""

from collections.abc import Sequence
from typing import Any

from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import context as canonical
from nnapi.lowering.tflite.context import HIGHEST_RANKS, flip_sign
from nnapi.model.operand import OperandType
from nnapi.rule_table import LoweringRules

RULES = LoweringRules("nnapi.exporters.tflite.rules", canonical.RULES)
lower = RULES.register


class ExportContext(canonical.TfliteContext):
    def tensor_of(self, type: OperandType, name: str) -> Tensor:
        return canonical.tensor_of(type, name, is_static=True)

    def emit(self, kind: str, inputs: Sequence[Tensor | None], output: Tensor | None = None, **options: Any) -> Tensor:
        made = super().emit(kind, inputs, output, **options)
        most = HIGHEST_RANKS.get(kind)
        if most is not None:
            require(len(made.shape) <= most, f"LiteRT's {kind} takes at most {most} dimensions")
        return made

    def copy(self, tensor: Tensor) -> Tensor:
        return self.reshape(tensor, tensor.shape, tensor.like())

    def sum_products(self, kind: str, x: Tensor, name: str, channel: int, out: Tensor, **options: Any) -> Tensor:
        """Emit a sum of products: input, filter and output all signed, with filter zero point 0, or all unsigned."""
        filter, bias = self.stored_tensor(name), self.stored_tensor("bias")
        result = out
        if filter.is_quantized:
            require(filter.is_constant or kind != "TRANSPOSE_CONV", "its filter is computed and quantized")
            if not isinstance(filter.scale, float):
                require(filter.is_constant, "its filter is computed and has a scale per channel")
                bias = bias.like(scale=filter.scale * x.unit, axis=0, data=bias.data)
            type = "i8" if filter.type == "i8" and not filter.zero_point else "u8"
            x, filter = self._with_type(x, type), self._with_type(filter, type)
            result = out if out.type == type else flip_sign(out)
        inputs = [constant(out.shape), filter, x, bias] if kind == "TRANSPOSE_CONV" else [x, filter, bias]
        self.emit(kind, inputs, result, activation=self.activation, **options)
        return out if result is out else self.emit("QUANTIZE", [result], out)

    def _with_type(self, tensor: Tensor, type: str) -> Tensor:
        if tensor.type == type:
            return tensor
        flipped = flip_sign(tensor)
        return flipped if flipped.is_constant else self.emit("QUANTIZE", [tensor], flipped)
