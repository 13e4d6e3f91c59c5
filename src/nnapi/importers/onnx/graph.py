"""The graph of an ONNX file: QuantizeLinear rounds halves to even, NNAPI's QUANTIZE away from zero."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import FLOAT32, Allowance, Graph, Value, real_numbers
from nnapi.lowering.even_ties import MAGIC
from nnapi.model.operand import OperandType

HIGHEST_RANK = 4
"""The highest rank of DIV."""
SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal


class OnnxGraph(Graph):
    def __init__(self, allowance: Allowance) -> None:
        super().__init__(allowance)
        self._sources: dict[Value, OperandType] = {}
        """The quantized types that values were dequantized from."""
        self.quotients: set[Value] = set()
        """Values divided by a scale, which are rounded next."""

    def real(self, value: Value) -> Value:
        real = super().real(value)
        if real is not value:
            self._sources[real] = value.type
        return real

    def quantize(self, real: Value, target: Value) -> None:
        if self._may_have_halves(real, target.type):
            real = self._round(real, target.type.scale)
        super().quantize(real, target)

    def _may_have_halves(self, real: Value, target: OperandType) -> bool:
        """Return whether a float, divided by the scale of ``target``, may lie halfway between two integers."""
        if not SMALLEST_NORMAL <= target.scale < np.inf or real.rank > HIGHEST_RANK:
            return False
        source = self._sources.get(real)
        if source is None or source.channel or not source.is_quantized:
            return True
        limits = np.iinfo(source.dtype)
        values = real_numbers(source, np.arange(limits.min, limits.max + 1).astype(source.dtype))
        quotients = values / np.float32(target.scale)
        return bool((quotients - np.floor(quotients) == 0.5).any())

    def _round(self, real: Value, scale: float) -> Value:
        """Round floats to multiples of ``scale``, halves to even, as :mod:`~nnapi.lowering.even_ties` finds it."""
        none = self.scalar(OperandCode.INT32, 0)
        unit, magic = (self.constant(np.full(1, number, np.float32)) for number in (scale, MAGIC))
        steps = [
            (OperationCode.DIV, unit, none),
            (OperationCode.ADD, magic, none),
            (OperationCode.SUB, magic, none),
            (OperationCode.MUL, unit, none),
        ]
        for code, *others in [(OperationCode.CAST,)] * (real.type.code != FLOAT32) + steps:
            rounded = Value(OperandType(FLOAT32, real.shape), f"{real.name}:rounded")
            self.emit(code, [real, *others], [rounded])
            self.quotients.update([rounded] if code == OperationCode.DIV else [])
            real = rounded
        return real
