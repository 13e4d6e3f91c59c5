"""Compute reductions on quantized values if a model dequantizes them only for the reduction, in up to half the time."""

from nnapi.drivers.litert.rules.reduction import LONGEST_ROW, count_row
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.rewriting.pattern import Apply, Operand, Pattern
from nnapi.rewriting.rewriter import Rewriter, Rewrites

RATIOS = (2.0**-14, 2.0**7)
"""Range of (input scale / result scale)."""
MOST_SUMMED = 2**16
"""Maximum number of values in a sum. It then fits into 32 bits, and is exact in float32."""
SHARED = frozenset({"DEQUANTIZE", "MEAN", "SUM", "RESHAPE"})
"""Operators that others may read too."""
REWRITES = Rewrites()


def reduce_quantized(graph: Graph) -> Graph:
    return graph.with_operators(Rewriter(graph.operators, graph.outputs).run(REWRITES))


def _is_signed(tensor: Tensor) -> bool:
    return tensor.type == "i8" and isinstance(tensor.scale, float)


def _apply(*kinds: str, to: Pattern, name: str = "") -> Apply:
    return Apply(frozenset(kinds), (to,), name=name)


real = _apply("DEQUANTIZE", to=Operand("quantized", _is_signed))
total = _apply("MEAN", "SUM", to=real, name="reduction")


@REWRITES.pattern(_apply("QUANTIZE", to=_apply("RESHAPE", to=total)), _apply("QUANTIZE", to=total), shared=SHARED)
def fuse(last: Operator, quantized: Tensor, reduction: Operator) -> list[Operator] | None:
    """Compute a quantized sum or mean; None if that is not exact."""
    out, real = last.output, reduction.output
    if out.type != "i8" or not RATIOS[0] <= quantized.unit / out.unit <= RATIOS[1]:
        return None
    if reduction.kind == "SUM" and quantized.size > MOST_SUMMED * real.size:
        return None
    if count_row(quantized.shape, reduction.input(1).value.tolist()) > LONGEST_ROW:
        return None
    result = out if real.shape == out.shape else out.like(shape=real.shape)
    result.origin = real.origin
    fused = Operator(reduction.kind, [quantized, *reduction.inputs[1:]], [result], reduction.options)
    return [fused] if result is out else [fused, Operator("RESHAPE", [result, constant(out.shape)], [out])]


@REWRITES.pattern(_apply("REDUCE_MAX", "REDUCE_MIN", to=real), shared=SHARED)
def swap(last: Operator, quantized: Tensor) -> list[Operator]:
    """Dequantize the maximum or minimum instead of all values."""
    real = last.output
    found = quantized.like(shape=real.shape)
    found.origin = real.origin
    reduced = Operator(last.kind, [quantized, *last.inputs[1:]], [found], last.options)
    return [reduced, Operator("DEQUANTIZE", [found], [real])]
