"""Compute the reciprocal roots of layer normalizations by operators with fast kernels.

The lowering computes RSQRT by the C library, because the fast kernel flushes the smallest floats to 0. The sum of a
mean of squares and a constant is larger than those.
"""

import numpy as np

from nnapi.drivers.xnnpack.lowering import LARGE
from nnapi.formats.tflite.graph import Graph, Operator, Tensor

LEAST = 1e-30
"""Minimum constant that is added to the mean of squares."""
Makers = dict[Tensor, Operator]


def divide_by_roots(graph: Graph) -> Graph:
    """Replace RSQRT of (mean of squares + constant) by a division by the square root."""
    makers: Makers = {output: operator for operator in graph.operators for output in operator.outputs}
    operators: list[Operator] = []
    for operator in graph.operators:
        root = _maker(operator, "RSQRT", makers) if operator.kind == "RESHAPE" else None
        variance = None if root is None else _find_variance(root, makers)
        y = operator.output
        if variance is not None and variance.shape == y.shape:
            operators += _divide(variance, y)
        else:
            operators.append(operator)
    return graph.with_operators(operators)


def _maker(operator: Operator, kind: str, makers: Makers, position: int = 0) -> Operator | None:
    """Return the operator that computes an input, if it is of this kind; else None."""
    tensor = operator.inputs[position]
    found = None if tensor is None else makers.get(tensor)
    return found if found is not None and found.kind == kind else None


def _find_variance(root: Operator, makers: Makers) -> Tensor | None:
    """Return (mean of squares + constant), before the reshape that RSQRT's lowering adds; None for other inputs."""
    reshape = _maker(root, "RESHAPE", makers)
    total = reshape and _maker(reshape, "ADD", makers)
    mean = total and _maker(total, "MEAN", makers)
    square = mean and _maker(mean, "MUL", makers)
    if total is None or square is None or square.input(0) is not square.input(1) or total.options.get("activation"):
        return None
    least = total.input(1).data
    return total.output if least is not None and least.dtype == np.float32 and (least >= LEAST).all() else None


def _divide(x: Tensor, y: Tensor) -> list[Operator]:
    """Return y = 1 / √x, with √x as √min(x, LARGE) · √max(x / LARGE, 1): the engine's is wrong beyond LARGE."""

    def number(value: float) -> Tensor:
        return Tensor("f32", (1,), data=np.array([value], np.float32))

    usual, first, rest, beyond, second, root = (x.like() for _ in range(6))
    plain = {"activation": 0}
    return [
        Operator("MINIMUM", [x, number(LARGE)], [usual]),
        Operator("SQRT", [usual], [first]),
        Operator("MUL", [x, number(1 / LARGE)], [rest], plain),
        Operator("MAXIMUM", [rest, number(1)], [beyond]),
        Operator("SQRT", [beyond], [second]),
        Operator("MUL", [first, second], [root], plain),
        Operator("DIV", [number(1), root], [y], plain),
    ]
