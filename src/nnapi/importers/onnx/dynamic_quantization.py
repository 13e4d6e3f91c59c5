"""Fuse the nodes of a dynamically quantized product, as ONNX Runtime's tool writes it, into one operator.

DynamicQuantizeLinear, MatMulInteger, Cast and Mul by both scales become DynamicQuantizeMatMul of com.microsoft. With
ConvInteger they become DynamicQuantizeConv, an operator of the importer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nnapi.formats.onnx.messages import make_node
from nnapi.importers.onnx.fusion import Readers
from nnapi.importers.onnx.reader import DEFAULT
from nnapi.importers.onnx.tensors import FLOAT

if TYPE_CHECKING:
    from nnapi.formats.onnx import messages as onnx


JOINED = {"MatMulInteger": "DynamicQuantizeMatMul", "ConvInteger": "DynamicQuantizeConv"}


class Product(NamedTuple):
    """The nodes of a product. ``scales`` multiplies both scales; ``scaling`` multiplies the product by the result."""

    quantization: onnx.NodeProto
    product: onnx.NodeProto
    cast: onnx.NodeProto
    scales: onnx.NodeProto
    scaling: onnx.NodeProto

    def join(self) -> onnx.NodeProto:
        _, weights, _, *point = self.product.input
        scale = _other(self.scales, self.quantization.output[1])
        inputs = [self.quantization.input[0], weights, scale, *point]
        kind, name = JOINED[self.product.op_type], self.product.name
        joined = make_node(kind, inputs, self.scaling.output, name, "com.microsoft")
        joined.attribute.extend(self.product.attribute)
        return joined


def join_products(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> Sequence[onnx.NodeProto]:
    """Return the nodes of a graph with such products fused; ``outputs`` are the names read outside of it."""
    if not any(node.op_type in JOINED for node in nodes):
        return nodes
    makers = {name: node for node in nodes for name in node.output}
    readers = Readers(nodes, outputs)
    found = [product for node in nodes if (product := _find(node, makers, readers))]
    joined = {id(each.scaling): each.join() for each in found}
    replaced = {id(node) for each in found for node in (each.product, each.cast)}
    kept = [joined.get(id(node), node) for node in nodes if id(node) not in replaced]
    for kind in ("scales", "quantization"):
        candidates = {id(getattr(each, kind)) for each in found}
        readers = Readers(kept, outputs)
        kept = [node for node in kept if id(node) not in candidates or any(map(readers.reads, node.output))]
    return kept


def _find(product: onnx.NodeProto, makers: dict[str, onnx.NodeProto], readers: Readers) -> Product | None:
    if product.op_type not in JOINED or len(product.input) < 3:
        return None
    quantization = makers.get(product.input[0])
    if quantization is None or not _is(quantization, "DynamicQuantizeLinear"):
        return None
    if product.input[2] != quantization.output[2] or product.input[1] in quantization.output:
        return None
    cast = readers.only(product.output[0])
    if cast is None or not _is(cast, "Cast") or [each.i for each in cast.attribute if each.name == "to"] != [FLOAT]:
        return None
    scaling = readers.only(cast.output[0])
    if scaling is None or not _is(scaling, "Mul"):
        return None
    scales = makers.get(_other(scaling, cast.output[0]))
    if scales is None or not _is(scales, "Mul") or quantization.output[1] not in scales.input:
        return None
    is_constant = makers.keys().isdisjoint((product.input[1], _other(scales, quantization.output[1])))
    if product.op_type == "ConvInteger" and not is_constant:
        return None
    return Product(quantization, product, cast, scales, scaling)


def _is(node: onnx.NodeProto, kind: str) -> bool:
    return node.op_type == kind and node.domain in DEFAULT


def _other(node: onnx.NodeProto, name: str) -> str:
    """Return the other input of a node with two inputs, one of which is ``name``."""
    first, second = map(str, node.input)
    return second if first == name else first
