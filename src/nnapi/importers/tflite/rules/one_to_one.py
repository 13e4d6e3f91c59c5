"""Operators that one operation of NNAPI computes from the same inputs, and with the same fused activation."""

from nnapi.importers.graph import Value
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import MODULES, rule
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import ActivationParameter


@rule(*(kind for kind, module in MODULES.items() if module == "one_to_one"))
def one_to_one(node: TfliteNode) -> None:
    slots = REGISTRY[node.code].overloads[0].inputs
    node.emit(node.code, *(_read(node, i, isinstance(slot, ActivationParameter)) for i, slot in enumerate(slots)))


def _read(node: TfliteNode, i: int, is_activation: bool) -> Value:
    return node.activation(getattr(node.options, "activation", 0)) if is_activation else node.input(i)
