"""MEAN of codes that have another scale than the result, for which a model goes through numbers.

DEQUANTIZE, MEAN and QUANTIZE are one operator of the engine, which sums codes: without the numbers of the whole input
it is two to three times as fast. Its results are the same, but for means that lie halfway between two codes.
"""

from __future__ import annotations

from collections.abc import Mapping

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant

RATIOS = (2.0**-14, 2.0**7)
"""What the scale of the codes may be, relative to the result's."""
Makers = Mapping["Tensor | None", Operator]


def fuse_mean(graph: Graph) -> Graph:
    """The same graph with such operators."""
    makers: Makers = {output: operator for operator in graph.operators for output in operator.outputs}
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _fuse(operator, makers) or [operator]
    return graph.with_operators(operators)


def _fuse(operator: Operator, makers: Makers) -> list[Operator] | None:
    """What an operator becomes that quantises means of codes; None for any other."""
    if operator.kind != "QUANTIZE":
        return None
    mean = makers.get(operator.inputs[0])
    if mean is not None and mean.kind == "RESHAPE":
        mean = makers.get(mean.inputs[0])
    if mean is None or mean.kind != "MEAN":
        return None
    source, out = makers.get(mean.inputs[0]), operator.output
    codes = source.inputs[0] if source is not None and source.kind == "DEQUANTIZE" else None
    if codes is None or codes.type != "i8" or out.type != "i8" or not isinstance(codes.scale, float):
        return None
    if not RATIOS[0] <= codes.unit / out.unit <= RATIOS[1]:
        return None
    real = mean.output
    result = out if real.shape == out.shape else out.like(shape=real.shape)
    result.origin = real.origin
    means = Operator("MEAN", [codes, *mean.inputs[1:]], [result], mean.options)
    return [means] if result is out else [means, Operator("RESHAPE", [result, constant(out.shape)], [out])]
