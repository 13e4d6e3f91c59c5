"""Nodes that fuse into the node before them: an activation, a quantization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.importers.onnx.checked_graph import list_graphs
from nnapi.importers.onnx.tensors import BYTES, CODES, OnnxTensor
from nnapi.model.operand import OperandType
from nnapi.ops.quantized_values import BOUNDS

if TYPE_CHECKING:
    from nnapi.formats.onnx import messages as onnx

LARGEST = float(np.finfo(np.float32).max)
ACTIVATIONS: dict[tuple[float | None, float | None], FuseCode] = {found: code for code, found in BOUNDS.items()}
"""Activations by their bounds."""


class Fusion(NamedTuple):
    activation: FuseCode
    quantized: OperandType | None


NONE = Fusion(FuseCode.FUSED_NONE, None)


class Readers:
    def __init__(self, nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> None:
        self._readers: dict[str, list[onnx.NodeProto | None]] = {name: [None] for name in outputs}
        for node in nodes:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
            for name in names_in_subgraphs(node):
                self._readers.setdefault(name, []).append(None)

    def fusion(self, name: str, tensors: Mapping[str, OnnxTensor]) -> Fusion:
        """Return the activation and quantization that read a tensor; each must be the only reader of its input."""
        node = self.only(name)
        activation = FuseCode.FUSED_NONE if node is None else _activation(node, tensors)
        if node is not None and activation != FuseCode.FUSED_NONE:
            node = self.only(node.output[0])
        return Fusion(activation, None if node is None else _find_quantized_type(node, tensors))

    def only(self, name: str) -> onnx.NodeProto | None:
        """Return the single reader of a tensor; None if it has several, or one in a subgraph or outside the graph."""
        readers = self._readers.get(name, [])
        return readers[0] if len(readers) == 1 else None


def names_in_subgraphs(node: onnx.NodeProto) -> set[str]:
    found: set[str] = set()
    for graph in list_graphs(node):
        for each in graph.node:
            found |= set(each.input) | names_in_subgraphs(each)
        found |= {output.name for output in graph.output}
    return found


def _activation(node: onnx.NodeProto, tensors: Mapping[str, OnnxTensor]) -> FuseCode:
    if node.op_type == "Relu":
        return FuseCode.FUSED_RELU
    if node.op_type != "Clip" or node.domain:
        return FuseCode.FUSED_NONE
    attributes = {each.name: each.f for each in node.attribute}
    arrays = [tensors[name].array if name in tensors else None for name in node.input[1:3]]
    if len(arrays) == 2 and all(array is not None and array.size == 1 for array in arrays):
        low, high = (float(array.reshape(())) for array in arrays if array is not None)
    elif "min" in attributes and "max" in attributes:
        low, high = attributes["min"], attributes["max"]
    else:
        return FuseCode.FUSED_NONE
    return ACTIVATIONS.get((low, high), FuseCode.FUSED_NONE)


def _find_quantized_type(node: onnx.NodeProto, tensors: Mapping[str, OnnxTensor]) -> OperandType | None:
    """Return the quantized type of QuantizeLinear's result; None if NNAPI lacks this type."""
    if node.op_type != "QuantizeLinear" or node.domain or len(node.input) < 2:
        return None
    scale = tensors.get(node.input[1])
    point = tensors.get(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    if len(node.input) > 2 and node.input[2] and point is None:
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
