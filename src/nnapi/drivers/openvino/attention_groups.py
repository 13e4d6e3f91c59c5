"""Attention whose results the engine's search for groups of operations follows into memory that is not its own.

The search makes one group of two matrix multiplications, the SOFTMAX between them, and the elementwise operations
behind them that have one reader each. The process ends if an operation of two operands reads the group's result.
"""

from typing import Any

from nnapi.drivers.openvino.api import ov

ALONE = frozenset({"Result", "Softmax"})
"""Types of nodes with one input that do not continue a group."""


def ends_search(graph: ov.Model) -> bool:
    """Return whether an operation of two operands reads the result of an attention's group."""
    ends = (_follow(node) for node in graph.get_ops() if node.get_type_name() == "Softmax")
    products = (node for end in ends for node in _list_readers(end) if node.get_type_name() == "MatMul")
    return any(_is_binary(node) for product in products for node in _list_readers(_follow(product)))


def _follow(node: Any) -> Any:
    """Return the last of the elementwise operations and reshapes that read a result one after the other."""
    while len(readers := _list_readers(node)) == 1 and _continues(readers[0]) and len(_list_readers(readers[0])) == 1:
        (node,) = readers
    return node


def _list_readers(node: Any) -> list[Any]:
    return [reader.get_node() for reader in node.output(0).get_target_inputs()]


def _continues(node: Any) -> bool:
    kind = node.get_type_name()
    return _is_binary(node) or kind == "Reshape" or (node.get_input_size() == 1 and kind not in ALONE)


def _is_binary(node: Any) -> bool:
    return "auto_broadcast" in node.get_attributes()
