"""Products in the form that OpenVINO's passes recognize in a layer normalization."""

import numpy as np

from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.value import Node, node_of, number


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


def _is_same(a: Node, b: Node) -> bool:
    return bool(a.get_name() == b.get_name())


def _number(node: Node, position: int) -> float | None:
    """Return an input's value if it is a constant of one element, else None."""
    if node.get_input_size() <= position:
        return None
    given = node.input_value(position).get_node()
    values = np.asarray(given.data).reshape(-1) if given.get_type_name() == "Constant" else np.zeros(0)
    return float(values[0]) if values.size == 1 else None
