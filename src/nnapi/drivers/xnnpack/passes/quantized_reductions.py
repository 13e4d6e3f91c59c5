"""Reductions of codes for which a model goes through the numbers behind all of them: on the codes, which takes a half
or a third of the time.

MEAN and SUM of codes that have another scale than the result are one operator of the engine, in place of DEQUANTIZE,
reduction and QUANTIZE. Its results are the same, but for those that lie halfway between two codes. The largest number,
or the least, is that behind the largest code, or the least: there DEQUANTIZE comes after the reduction.
"""

from __future__ import annotations

from collections.abc import Mapping

from nnapi.drivers.xnnpack.long_rows import LONGEST_ROW, count_row
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant

SUMS = ("MEAN", "SUM")
ENDS = ("REDUCE_MAX", "REDUCE_MIN")
RATIOS = (2.0**-14, 2.0**7)
"""What the scale of the codes may be, relative to the result's."""
MOST_SUMMED = 2**16
"""Codes that are summed up at most: their sum fits into 32 bits, and is exact in float32 as well."""
Makers = Mapping["Tensor | None", Operator]


def reduce_quantized(graph: Graph) -> Graph:
    """The same graph with such reductions on codes."""
    makers: Makers = {output: operator for operator in graph.operators for output in operator.outputs}
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _fuse(operator, makers) or _swap(operator, makers) or [operator]
    return graph.with_operators(operators)


def _fuse(operator: Operator, makers: Makers) -> list[Operator] | None:
    """What an operator becomes that quantises sums or means of codes; None for any other."""
    if operator.kind != "QUANTIZE":
        return None
    reduction = makers.get(operator.inputs[0])
    if reduction is not None and reduction.kind == "RESHAPE":
        reduction = makers.get(reduction.inputs[0])
    if reduction is None or reduction.kind not in SUMS:
        return None
    codes, out, real = _find_codes(reduction, makers), operator.output, reduction.output
    if codes is None or out.type != "i8" or not RATIOS[0] <= codes.unit / out.unit <= RATIOS[1]:
        return None
    if reduction.kind == "SUM" and codes.size > MOST_SUMMED * real.size:
        return None
    if count_row(codes.shape, reduction.input(1).value.tolist()) > LONGEST_ROW:
        return None
    result = out if real.shape == out.shape else out.like(shape=real.shape)
    result.origin = real.origin
    fused = Operator(reduction.kind, [codes, *reduction.inputs[1:]], [result], reduction.options)
    return [fused] if result is out else [fused, Operator("RESHAPE", [result, constant(out.shape)], [out])]


def _swap(operator: Operator, makers: Makers) -> list[Operator] | None:
    """What an operator becomes that looks for the largest or least of the numbers behind codes; None for any other."""
    codes = _find_codes(operator, makers) if operator.kind in ENDS else None
    if codes is None:
        return None
    real = operator.output
    found = codes.like(shape=real.shape)
    found.origin = real.origin
    reduced = Operator(operator.kind, [codes, *operator.inputs[1:]], [found], operator.options)
    return [reduced, Operator("DEQUANTIZE", [found], [real])]


def _find_codes(reduction: Operator, makers: Makers) -> Tensor | None:
    """The signed codes behind the numbers that are reduced."""
    source = makers.get(reduction.inputs[0])
    codes = source.inputs[0] if source is not None and source.kind == "DEQUANTIZE" else None
    return codes if codes is not None and codes.type == "i8" and isinstance(codes.scale, float) else None
