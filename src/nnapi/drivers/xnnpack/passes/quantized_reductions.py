"""Compute reductions on quantized values if a model dequantizes them only for the reduction, in up to half the time."""

from collections.abc import Mapping

from nnapi.dataflow import find_makers
from nnapi.drivers.litert.rules.reduction import LONGEST_ROW, count_row
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant

SUMS = ("MEAN", "SUM")
ENDS = ("REDUCE_MAX", "REDUCE_MIN")
RATIOS = (2.0**-14, 2.0**7)
"""Range of (input scale / result scale)."""
MOST_SUMMED = 2**16
"""Maximum number of values in a sum. It then fits into 32 bits, and is exact in float32."""
Makers = Mapping["Tensor | None", Operator]


def reduce_quantized(graph: Graph) -> Graph:
    makers: Makers = find_makers(graph.operators)
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _fuse(operator, makers) or _swap(operator, makers) or [operator]
    return graph.with_operators(operators)


def _fuse(operator: Operator, makers: Makers) -> list[Operator] | None:
    """Replace DEQUANTIZE, sum or mean, QUANTIZE by a quantized sum or mean; None if that does not apply."""
    if operator.kind != "QUANTIZE":
        return None
    reduction = makers.get(operator.inputs[0])
    if reduction is not None and reduction.kind == "RESHAPE":
        reduction = makers.get(reduction.inputs[0])
    if reduction is None or reduction.kind not in SUMS:
        return None
    quantized, out, real = _find_quantized(reduction, makers), operator.output, reduction.output
    if quantized is None or out.type != "i8" or not RATIOS[0] <= quantized.unit / out.unit <= RATIOS[1]:
        return None
    if reduction.kind == "SUM" and quantized.size > MOST_SUMMED * real.size:
        return None
    if count_row(quantized.shape, reduction.input(1).value.tolist()) > LONGEST_ROW:
        return None
    result = out if real.shape == out.shape else out.like(shape=real.shape)
    result.origin = real.origin
    fused = Operator(reduction.kind, [quantized, *reduction.inputs[1:]], [result], reduction.options)
    return [fused] if result is out else [fused, Operator("RESHAPE", [result, constant(out.shape)], [out])]


def _swap(operator: Operator, makers: Makers) -> list[Operator] | None:
    """Replace the maximum or minimum of dequantized values by that of quantized values; None if that does not apply."""
    quantized = _find_quantized(operator, makers) if operator.kind in ENDS else None
    if quantized is None:
        return None
    real = operator.output
    found = quantized.like(shape=real.shape)
    found.origin = real.origin
    reduced = Operator(operator.kind, [quantized, *operator.inputs[1:]], [found], operator.options)
    return [reduced, Operator("DEQUANTIZE", [found], [real])]


def _find_quantized(reduction: Operator, makers: Makers) -> Tensor | None:
    """Return the signed quantized tensor whose dequantized values a reduction reads; None if there is none."""
    source = makers.get(reduction.inputs[0])
    quantized = source.inputs[0] if source is not None and source.kind == "DEQUANTIZE" else None
    return (
        quantized if quantized is not None and quantized.type == "i8" and isinstance(quantized.scale, float) else None
    )
