"""Nodes that fuse into the node before them: an activation, a quantization."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.importers.onnx.file_graph import FileGraph, FileNode
from nnapi.importers.onnx.tensors import BYTES, CODES, OnnxTensor
from nnapi.model.operand import OperandType
from nnapi.ops.quantized_values import BOUNDS

LARGEST = float(np.finfo(np.float32).max)
ACTIVATIONS: dict[tuple[float | None, float | None], FuseCode] = {found: code for code, found in BOUNDS.items()}
"""Activations by their bounds."""


class Fusion(NamedTuple):
    activation: FuseCode
    quantized: OperandType | None


NONE = Fusion(FuseCode.FUSED_NONE, None)


def find_fusion(name: str, graph: FileGraph, tensors: Mapping[str, OnnxTensor]) -> Fusion:
    """Return the activation and quantization that read a tensor; each must be the only reader of its input."""
    node = graph.find_only_reader(name)
    activation = FuseCode.FUSED_NONE if node is None else _activation(node, tensors)
    if node is not None and activation != FuseCode.FUSED_NONE:
        node = graph.find_only_reader(node.outputs[0])
    return Fusion(activation, None if node is None else _find_quantized_type(node, tensors))


def _activation(node: FileNode, tensors: Mapping[str, OnnxTensor]) -> FuseCode:
    if node.kind == "Relu":
        return FuseCode.FUSED_RELU
    if node.kind != "Clip":
        return FuseCode.FUSED_NONE
    attributes = {each.name: each.f for each in node.proto.attribute}
    arrays = [tensors[name].array if name in tensors else None for name in node.inputs[1:3]]
    if len(arrays) == 2 and all(array is not None and array.size == 1 for array in arrays):
        low, high = (float(array.reshape(())) for array in arrays if array is not None)
    elif "min" in attributes and "max" in attributes:
        low, high = attributes["min"], attributes["max"]
    else:
        return FuseCode.FUSED_NONE
    return ACTIVATIONS.get((low, high), FuseCode.FUSED_NONE)


def _find_quantized_type(node: FileNode, tensors: Mapping[str, OnnxTensor]) -> OperandType | None:
    """Return the quantized type of QuantizeLinear's result; None if NNAPI lacks this type."""
    if node.kind != "QuantizeLinear" or len(node.inputs) < 2:
        return None
    scale = tensors.get(node.inputs[1])
    point = tensors.get(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    if len(node.inputs) > 2 and node.inputs[2] and point is None:
        return None
    return quantized_type(scale, point)


def quantized_type(scale: OnnxTensor | None, point: OnnxTensor | None) -> OperandType | None:
    """Return the quantized type for a constant scale and zero point; None if NNAPI lacks this type."""
    if scale is None or scale.array is None or scale.array.size != 1 or scale.array.dtype.kind != "f":
        return None
    number = float(scale.array.reshape(()))
    if point is None:
        elem, zero = 2, 0
    elif point.array is None or point.array.size != 1 or point.elem not in BYTES:
        return None
    else:
        elem, zero = point.elem, int(point.array.reshape(()))
    if not (0 < number <= LARGEST and np.float32(number) > 0):
        return None
    return OperandType(OperandCode(CODES[elem]), (), number, zero)
