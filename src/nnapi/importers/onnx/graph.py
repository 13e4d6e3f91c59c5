"""The graph of an ONNX file: QuantizeLinear rounds halves to even, NNAPI's QUANTIZE away from zero."""

import numpy as np

from nnapi.importers.graph import Allowance, Graph, Value, real_numbers
from nnapi.model.operand import OperandType
from nnapi.operation_codes import Code, CompositeCode

SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal


class OnnxGraph(Graph):
    def __init__(self, allowance: Allowance) -> None:
        super().__init__(allowance, high_ranks=True)
        self._sources: dict[Value, OperandType] = {}
        """The quantized types that values were dequantized from."""

    def real(self, value: Value) -> Value:
        real = super().real(value)
        if real is not value:
            self._sources[real] = value.type
        return real

    def choose_quantize(self, real: Value, target: OperandType) -> Code:
        code = super().choose_quantize(real, target)
        return CompositeCode.QUANTIZE_TO_EVEN if self._may_have_halves(real, target) else code

    def _may_have_halves(self, real: Value, target: OperandType) -> bool:
        """Return whether a float, divided by the scale of ``target``, may lie halfway between two integers."""
        if not SMALLEST_NORMAL <= target.scale < np.inf:
            return False
        source = self._sources.get(real)
        if source is None or source.channel or not source.is_quantized:
            return True
        limits = np.iinfo(source.dtype)
        values = real_numbers(source, np.arange(limits.min, limits.max + 1).astype(source.dtype))
        quotients = values / np.float32(target.scale)
        return bool((quotients - np.floor(quotients) == 0.5).any())
