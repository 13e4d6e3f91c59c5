"""Patterns that OpenVINO's passes or this lowering recognize in a graph: layer normalization, erf in GELU."""

import numpy as np

from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.value import Node, node_of, number
from nnapi.lowering.error_function import ERROR_FUNCTION, SCALE


def multiply(x: Node, y: Node) -> Node:
    """Multiply in the form that the engine fuses with means: a square as a power, a product with 1 / √y as a
    quotient."""
    if _is_integer(x):
        return op.multiply(x, y)
    if _is_same(node_of(x), node_of(y)):
        return op.power(x, number(2))
    divisor = _find_divisor(y)
    return op.multiply(x, y) if divisor is None else op.divide(x, divisor)


def _is_integer(x: Node) -> bool:
    return not node_of(x).get_output_element_type(0).is_real()


def _find_divisor(x: Node) -> Node | None:
    """Return the node √y if ``x`` is 1 / √y, else None."""
    node = node_of(x)
    if node.get_type_name() != "Divide" or _number(node, 0) != 1:
        return None
    divisor = node.input_value(1)
    return divisor if divisor.get_node().get_type_name() == "Sqrt" else None


def find_error_function(x: Node) -> Node | None:
    """Return erf(y) if tanh of ``x`` is the importers' approximation of erf(y), else None."""
    node, factors = node_of(x), list[float]()
    if node.get_type_name() != "Multiply":
        return None
    bounded, node = (node.input_value(i).get_node() for i in (0, 1))
    while node.get_type_name() == "Add" and (factor := _number(node, 1)) is not None:
        factors.append(factor)
        node = node.input_value(0).get_node()
        last = _number(node, 1) if node.get_type_name() == "Multiply" else None
        square = node.input_value(0 if last is not None else 1).get_node()
        if not _is_square(square, bounded):
            return None
        if last is not None:
            factors.append(last)
            break
        node = node.input_value(0).get_node()
    if not np.array_equal(np.asarray(factors, np.float32), np.asarray(ERROR_FUNCTION, np.float32)):
        return None
    return _find_argument(bounded)


def _is_square(node: Node, root: Node) -> bool:
    is_power = node.get_type_name() == "Power" and _number(node, 1) == 2
    return is_power and _is_same(node.input_value(0).get_node(), root)


def _is_same(a: Node, b: Node) -> bool:
    return bool(a.get_name() == b.get_name())


def _find_argument(bounded: Node) -> Node | None:
    """Return erf(y) for ``bounded``, which is y / SCALE clamped to -1..1; None for other nodes."""
    if bounded.get_type_name() != "Clamp" or bounded.get_attributes() != {"min": -1.0, "max": 1.0}:
        return None
    scaled = bounded.input_value(0)
    node = scaled.get_node()
    factor = _number(node, 1) if node.get_type_name() == "Multiply" else None
    if factor is None:
        return op.erf(op.multiply(scaled, number(SCALE)))
    argument = node.input_value(0)
    return op.erf(argument if factor * SCALE == 1 else op.divide(argument, number(1 / (factor * SCALE))))


def _number(node: Node, position: int) -> float | None:
    """Return an input's value if it is a constant of one element, else None."""
    if node.get_input_size() <= position:
        return None
    given = node.input_value(position).get_node()
    values = np.asarray(given.data).reshape(-1) if given.get_type_name() == "Constant" else np.zeros(0)
    return float(values[0]) if values.size == 1 else None
