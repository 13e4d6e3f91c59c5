"""Replace importers' decompositions of ROUND, SIGN, GELU and casts by operators; sign of 0 and NaN may differ."""

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.ops.smooth_activations import ERROR_FUNCTION, SCALE

Pattern: TypeAlias = "str | float | tuple[Pattern, ...]"
"""The input "x", a constant value, or an operator's kind with patterns of its inputs."""
Makers: TypeAlias = Mapping["Tensor | None", Operator]

X = "x"
LOW = ("FLOOR", X)
REST = ("SUB", X, LOW)
ABOVE = ("ADD", LOW, 1)
EVEN = ("MUL", ("FLOOR", ("MUL", ABOVE, 0.5)), 2)
ROUND = ("SELECT", ("EQUAL", REST, 0.5), EVEN, ("SELECT", ("GREATER", REST, 0.5), ABOVE, LOW))
SIGN = ("SELECT", ("GREATER", X, 0), 1, ("SELECT", ("LESS", X, 0), -1, 0))
TRUTH = ("SELECT", X, 1, 0)
BYTE = ("CAST", ("DEQUANTIZE", X))


def _error_function(argument: Pattern) -> Pattern:
    """Return the pattern of erf(4 · argument)."""
    u: Pattern = ("RELU_N1_TO_1", argument)
    square = ("MUL", u, u)
    *rest, last = ERROR_FUNCTION
    total: Pattern = ("MUL", square, last)
    for factor in rest[:0:-1]:
        total = ("MUL", ("ADD", total, factor), square)
    return "TANH", ("MUL", u, ("ADD", total, rest[0]))


def _gelus() -> Iterator[Pattern]:
    """Yield the patterns of x (1 + erf(x / √2)) / 2."""
    root = math.sqrt(2)
    for argument in (
        ("MUL", X, 1 / root / SCALE),
        ("MUL", ("DIV", X, root), 1 / SCALE),
        ("MUL", ("MUL", X, 1 / root), 1 / SCALE),
    ):
        above = ("ADD", _error_function(argument), 1)
        yield "MUL", ("MUL", X, 0.5), above
        yield "MUL", ("MUL", X, above), 0.5
        yield "MUL", X, ("MUL", above, 0.5)


GELUS = tuple(_gelus())
LAST = {"SELECT": (ROUND, SIGN, TRUTH), "CAST": (BYTE,), "MUL": GELUS}
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
    if pattern in (ROUND, SIGN):
        return Operator("ROUND" if pattern is ROUND else "SIGN", [x], [y]) if x.type == "f32" else None
    if pattern in GELUS:
        return Operator("GELU", [x], [y], {"approximate": False}) if x.type == "f32" else None
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
