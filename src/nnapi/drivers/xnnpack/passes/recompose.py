"""Replace importers' decompositions of casts by operators."""

from collections.abc import Mapping
from itertools import chain
from typing import TypeAlias

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS

Pattern: TypeAlias = "str | float | tuple[Pattern, ...]"
"""The input "x", a constant value, or an operator's kind with patterns of its inputs."""
Makers: TypeAlias = Mapping["Tensor | None", Operator]

X = "x"
TRUTH = ("SELECT", X, 1, 0)
BYTE = ("CAST", ("DEQUANTIZE", X))
LAST = {"SELECT": (TRUTH,), "CAST": (BYTE,)}
"""Patterns by the kind of their last operator."""


def recompose(graph: Graph) -> Graph:
    makers: Makers = {output: operator for operator in graph.operators for output in operator.outputs}
    return graph.with_operators(list(chain.from_iterable(_join(operator, makers) for operator in graph.operators)))


def _join(operator: Operator, makers: Makers) -> list[Operator]:
    y = operator.output
    for pattern in LAST.get(operator.kind, ()):
        found: set[Tensor] = set()
        if _is_match(y, pattern, makers, found):
            (x,) = found
            same = y if x.shape == y.shape else y.like(shape=x.shape)
            replaced = _replace(pattern, x, same, x in makers) if x.size == y.size else None
            if replaced is None:
                break
            return [replaced] if same is y else [replaced, Operator("RESHAPE", [same, constant(y.shape)], [y])]
    return [operator]


def _replace(pattern: Pattern, x: Tensor, y: Tensor, is_computed: bool) -> Operator | None:
    """Return the operator for ``y``, None if types do not fit. A computed boolean is 0 or 1, so it can be cast."""
    is_truth = x.type == "bool" and (y.type == "f32" or (y.type == "i32" and is_computed))
    is_byte = x.type == "i8" and y.type == "i32" and (x.scale, x.zero_point) == (1.0, 0)
    if is_truth if pattern is TRUTH else is_byte:
        return Operator("CAST", [x], [y], {"source": ELEMENTS[x.type], "target": ELEMENTS[y.type]})
    return None


def _is_match(tensor: Tensor | None, pattern: Pattern, makers: Makers, found: set[Tensor]) -> bool:
    """Return whether a tensor matches a pattern; ``found`` gets the pattern's single input."""
    if tensor is None:
        return False
    while tensor in makers and makers[tensor].kind == "RESHAPE":  # reshapes do not matter to elementwise operators
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
