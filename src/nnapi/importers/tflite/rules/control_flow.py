"""IF, WHILE and composites: operations that are subgraphs of the file."""

from __future__ import annotations

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.tflite.graph import Value
from nnapi.importers.tflite.node import Node
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.tensors import expressible
from nnapi.model.operand import OperandType


@rule("IF", options="IfOptions")
def if_(node: Node) -> None:
    condition, *values = node.inputs
    expressible(values, "its branches have no inputs, NNAPI's models have at least one")
    branches = (node.options.then_subgraph_index, node.options.else_subgraph_index)
    _refer(node, OperationCode.IF, [condition], branches, values)


@rule("WHILE", options="WhileOptions")
def while_(node: Node) -> None:
    parts = (node.options.cond_subgraph_index, node.options.body_subgraph_index)
    _refer(node, OperationCode.WHILE, [], parts, node.inputs)


def _refer(
    node: Node, code: OperationCode, first: list[Value], subgraphs: tuple[int, int], values: list[Value]
) -> None:
    """An operation on two subgraphs; nothing where one of them was refused, which has been recorded."""
    models = [node.conversion.whole.subgraph(index) for index in subgraphs]
    references = [
        Value(OperandType(OperandCode.MODEL), model.name, model=model) for model in models if model is not None
    ]
    if len(references) == 2:
        node.emit(code, *first, *references, *values, to=node.outputs)


@rule("STABLEHLO_COMPOSITE", options="StableHLOCompositeOptions")
def composite(node: Node) -> None:
    _inline(node, node.options.decomposition_subgraph_index)


@rule("CALL", options="CallOptions")
def call(node: Node) -> None:
    _inline(node, node.options.subgraph)


def _inline(node: Node, index: int) -> None:
    """The operations of a subgraph take the operator's place."""
    results = node.conversion.inline(index, node.inputs)
    for i, value in enumerate(results[: len(node.outputs)]):
        node.deliver(value, i)
