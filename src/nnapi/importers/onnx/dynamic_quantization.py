"""Fuse the nodes of a dynamically quantized product, as ONNX Runtime's tool writes it, into one operator.

DynamicQuantizeLinear, MatMulInteger, Cast and Mul by both scales become DynamicQuantizeMatMul of com.microsoft. With
ConvInteger they become DynamicQuantizeConv, an operator of the importer.
"""

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any

from nnapi.formats.onnx.messages import make_node
from nnapi.importers.onnx.file_graph import FileNode
from nnapi.importers.onnx.tensors import FLOAT
from nnapi.rewriting.pattern import Apply, Either, Operand, Pattern
from nnapi.rewriting.rewriter import Rewrite, Rewriter

JOINED = {"MatMulInteger": "DynamicQuantizeMatMul", "ConvInteger": "DynamicQuantizeConv"}
SHARED = frozenset({"DynamicQuantizeLinear", "Mul"})
"""Nodes of a product that other nodes may read too; its sums, which become floats, may have no other reader."""


def join_products(nodes: Sequence[FileNode], outputs: Sequence[str]) -> Sequence[FileNode]:
    """Return the nodes of a graph with such products fused; ``outputs`` are the names read outside of it."""
    kinds = JOINED.keys() & {node.kind for node in nodes}
    if not kinds:
        return nodes
    inner = [name for node in nodes for name in node.captured]
    rewriter = Rewriter(nodes, [*outputs, *inner])
    made = rewriter.flow.makers.keys()
    return rewriter.run([_declare(kind, made) for kind in sorted(kinds)])


def _declare(kind: str, made: Container[str]) -> Rewrite:
    """Return the rewrite of a product. A convolution has constant weights; ``made`` are the results of nodes."""
    constant = (lambda name: name not in made) if kind == "ConvInteger" else (lambda name: True)
    weights, scale = (Operand(name, constant) for name in ("weights", "scale"))
    quantize = partial(_apply, "DynamicQuantizeLinear", Operand("x"), name="quantization")
    x, scale_of_x, point = (quantize(output=i) for i in range(3))
    cast = _apply("Cast", _apply(kind, x, weights, point, name="product"), where=_is_to_float)
    scales = Either(_multiply(scale_of_x, scale))
    return Rewrite(kind, _multiply(cast, scales), _join, SHARED)


def _apply(kind: str, *inputs: Pattern, where: Callable[[FileNode], bool] = lambda node: True, **names: Any) -> Apply:
    return Apply(frozenset({kind}), inputs, where, **names)


def _multiply(a: Pattern, b: Pattern) -> tuple[Pattern, ...]:
    return _apply("Mul", a, b), _apply("Mul", b, a)


def _is_to_float(cast: FileNode) -> bool:
    return [each.i for each in cast.proto.attribute if each.name == "to"] == [FLOAT]


def _join(
    last: FileNode, product: FileNode, quantization: FileNode, x: str, weights: str, scale: str
) -> list[FileNode] | None:
    if weights in quantization.outputs:
        return None
    inputs = [x, weights, scale, *product.inputs[3:]]
    joined = make_node(JOINED[product.kind], inputs, last.outputs, product.proto.name, "com.microsoft")
    joined.attribute.extend(product.proto.attribute)
    return [FileNode(joined)]
