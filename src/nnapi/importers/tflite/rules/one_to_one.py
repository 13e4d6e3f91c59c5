"""Operators that one operation of NNAPI computes from the same inputs."""

from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import FAMILIES, rule
from nnapi.model.operation import REGISTRY


@rule(*FAMILIES["one_to_one"])
def one_to_one(node: TfliteNode) -> None:
    count = len(REGISTRY[node.code].overloads[0].inputs)
    node.emit(node.code, *map(node.input, range(count)))
