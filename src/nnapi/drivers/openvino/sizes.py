"""Sizes in OpenVINO's graph: constants, or nodes that compute them from the shapes of inputs."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from nnapi.drivers.openvino.api import make_constant, op
from nnapi.lowering.refusal import require
from nnapi.shapes.array import SymbolicArray, has_sizes, is_symbolic
from nnapi.shapes.expression import Division, Expression, Symbol
from nnapi.shapes.size import Size

DYNAMIC = -1
Node: TypeAlias = Any
"""A node of OpenVINO's graph with one output, or that output."""


def declare(parameter: Node, dimensions: Sequence[Any]) -> None:
    """Let the sizes that are dimensions of a model input be computed from its shape."""
    shape = None
    for axis, size in enumerate(dimensions):
        if isinstance(size, Size) and size.expression not in size.symbols.nodes:
            shape = op.shape_of(parameter, "i64") if shape is None else shape
            size.symbols.nodes[size.expression] = op.gather(shape, _constant([axis]), _constant(0))


def partial_shape(dimensions: Sequence[Any]) -> list[int]:
    return [DYNAMIC if isinstance(size, Size) else size for size in dimensions]


def integers(values: Any) -> Node:
    """Return int64 numbers: a list of axes, dimensions or indices."""
    if is_symbolic(values):
        values = values.tolist()
    if isinstance(values, Size):
        return op.squeeze(_compute(values), _constant([0]))
    if isinstance(values, list | tuple) and has_sizes(values):
        return op.concat([_compute(each) if isinstance(each, Size) else _constant([each]) for each in values], 0)
    return _constant(values)


def int32_constant(array: SymbolicArray) -> Node | None:
    """Return a node with the elements of an array of sizes; None for other arrays, whose values are fixed."""
    if array.elements is None or not array.elements.size:
        return None
    flat = op.convert(integers(array.reshape(-1)), "i32")
    return flat if array.ndim == 1 else reshape(flat, array.shape)


def reshape(x: Node, dimensions: Sequence[int]) -> Node:
    """Reshape to dimensions, of which the engine computes a single dynamic one itself."""
    partial = partial_shape(dimensions)
    return op.reshape(x, integers(partial if partial.count(DYNAMIC) == 1 else list(dimensions)), False)


def _constant(values: Any) -> Node:
    return make_constant(np.asarray(values, np.int64))


def _compute(size: Size) -> Node:
    return _find(size.expression, size.symbols.nodes)


def _find(expression: Expression, nodes: dict[Expression, Any]) -> Node:
    """Return a node with one element, made at first use."""
    node = nodes.get(expression)
    if node is None:
        node = None
        for product, factor in expression.terms.items():
            term = None if factor == 1 and product else _constant([factor])
            for atom in product:
                value = _find_atom(atom, nodes)
                term = value if term is None else op.multiply(term, value)
            node = term if node is None else op.add(node, term)
        nodes[expression] = node = _constant([0]) if node is None else node
    return node


def _find_atom(atom: Symbol | Division, nodes: dict[Expression, Any]) -> Node:
    if isinstance(atom, Symbol):
        node = nodes.get(Expression.of(atom))
        require(node is not None, f"the size {atom} is not computed yet")
        return node
    dividend, divisor = _find(atom.dividend, nodes), _find(atom.divisor, nodes)
    rest = op.floor_mod(dividend, divisor)
    return op.divide(op.subtract(dividend, rest), divisor) if atom.is_quotient else rest
