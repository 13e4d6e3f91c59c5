"""16-bit integers of a file, which NNAPI stores in 32 bits."""

from nnapi.importers.graph import Value
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.tensors import INT16, UINT16
from nnapi.operation_codes import CompositeCode


def narrow(node: OnnxNode, value: Value, elem: int) -> Value:
    """Return the lowest 16 bits of an int32 as the integers of a 16-bit type; other types keep all bits."""
    if elem == UINT16:
        return node.apply(CompositeCode.BITWISE_AND, value, node.like(value, 0xFFFF))
    if elem == INT16:
        sixteen = node.like(value, 16)
        return node.apply(CompositeCode.RIGHT_SHIFT, node.apply(CompositeCode.LEFT_SHIFT, value, sixteen), sixteen)
    return value
