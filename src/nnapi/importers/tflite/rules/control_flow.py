"""IF, WHILE and CALL: operators that refer to subgraphs of the file."""

from nnapi.codes import OperandCode, OperationCode
from nnapi.formats.tflite.reader import list_subgraphs
from nnapi.importers.graph import Value
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType


@rule("IF")
def if_(node: TfliteNode) -> None:
    condition, *values = node.inputs
    _refer(node, OperationCode.IF, [condition], values)


@rule("WHILE")
def while_(node: TfliteNode) -> None:
    _refer(node, OperationCode.WHILE, [], node.inputs)


def _refer(node: TfliteNode, code: OperationCode, first: list[Value], values: list[Value]) -> None:
    models = [node.scope.model(index) for index in list_subgraphs(node.operator)]
    references = [
        Value(OperandType(OperandCode.MODEL), model.name, model=model) for model in models if model is not None
    ]
    if len(references) == 2:
        node.emit(code, *first, *references, *values, to=node.outputs)


@rule("CALL")
def inline(node: TfliteNode) -> None:
    (index,) = list_subgraphs(node.operator)
    results = node.scope.inline(index, node.inputs)
    for i, value in enumerate(results[: len(node.outputs)]):
        node.deliver(value, i)
