"""What NNAPI says with several operations and the engine with one: files have ROUND and SIGN, NNAPI has not.

The importer writes them out in comparisons and selections (:mod:`nnapi.importers.tflite.rules.arithmetic`). Here they
are recognised. The numbers are the same, but for the sign of 0 and for NaN, which SIGN keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from nnapi.formats.tflite.graph import Graph, Operator, Tensor

Pattern: TypeAlias = "str | float | tuple[Pattern, ...]"
"""The value itself, a constant of one number, or an operator's kind and patterns of its inputs."""
Makers: TypeAlias = Mapping["Tensor | None", Operator]

X = "x"
LOW = ("FLOOR", X)
REST = ("SUB", X, LOW)
ABOVE = ("ADD", LOW, 1)
EVEN = ("MUL", ("FLOOR", ("MUL", ABOVE, 0.5)), 2)
WRITTEN_OUT: dict[str, Pattern] = {
    "ROUND": ("SELECT", ("EQUAL", REST, 0.5), EVEN, ("SELECT", ("GREATER", REST, 0.5), ABOVE, LOW)),
    "SIGN": ("SELECT", ("GREATER", X, 0), 1, ("SELECT", ("LESS", X, 0), -1, 0)),
}


def join_written_out(graph: Graph) -> Graph:
    """The same graph with one operator for each of these; what nobody reads any more is left for others to remove."""
    makers: Makers = {output: operator for operator in graph.operators for output in operator.outputs}
    return graph.with_operators([_join(operator, makers) or operator for operator in graph.operators])


def _join(operator: Operator, makers: Makers) -> Operator | None:
    """The operator that computes the same from what the last one of a pattern begins with; None for any other."""
    if operator.kind != "SELECT":
        return None
    for kind, pattern in WRITTEN_OUT.items():
        found: set[Tensor] = set()
        if _is_match(operator.output, pattern, makers, found):
            (x,) = found
            if x.type == "f32" and x.shape == operator.output.shape:
                return Operator(kind, [x], operator.outputs)
    return None


def _is_match(tensor: Tensor | None, pattern: Pattern, makers: Makers, found: set[Tensor]) -> bool:
    """Whether a tensor is computed so; ``found`` gets the value that the pattern begins with, always the same one."""
    if tensor is None:
        return False
    while tensor in makers and makers[tensor].kind == "RESHAPE":  # of operators that look at every number by itself
        tensor = makers[tensor].input(0)
    if isinstance(pattern, str):
        found.add(tensor)
        return len(found) == 1
    if not isinstance(pattern, tuple):
        return tensor.data is not None and bool((tensor.data == pattern).all())
    kind, *inputs = pattern
    maker = makers.get(tensor)
    if maker is None or maker.kind != kind or maker.options.get("activation"):
        return False
    pairs = zip(maker.inputs, inputs, strict=False)
    return all(_is_match(each, one, makers, found) for each, one in pairs)
