"""Lower a model to operators that the accelerator is known to compute correctly, and write its file."""

from collections.abc import Sequence

import numpy as np

from nnapi.drivers.litert.lowering import TfliteLowering
from nnapi.drivers.webgpu.adapt_operators import adapt_operators
from nnapi.drivers.webgpu.patterns import describe_pattern, proven_patterns
from nnapi.drivers.webgpu.rules import RULES
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant, remove_dead_operators
from nnapi.formats.tflite.names import write_named_tensors
from nnapi.formats.tflite.writer import serialize
from nnapi.lowering.refusal import Unsupported
from nnapi.model.model import Model
from nnapi.model.operand import Shape

PADS = ("PAD", "PADV2")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
INDEXED = {"GATHER": 1, "GATHER_ND": 1, "SCATTER_ND": 0}
"""The input with the indices of operators that have some."""


class WebGpuLowering(TfliteLowering):
    """The lowering for the accelerator: LiteRT's, except that patterns that are not proven are refused."""

    rules = RULES

    def __init__(self, model: Model, shapes: Sequence[Shape | None]) -> None:
        super().__init__(model, shapes)
        self._padded: set[Tensor] = set()

    def is_proven(self, pattern: str) -> bool:
        return pattern in proven_patterns()

    def check_operator(self, operator: Operator) -> None:
        super().check_operator(operator)
        if operator.kind in INDEXED and not operator.input(INDEXED[operator.kind]).is_constant:
            raise Unsupported("the accelerator does not test computed indices")
        if _is_padded(operator, self._padded):
            self._padded.add(operator.output)
        elif operator.kind in POOLS and operator.inputs[0] in self._padded and operator.output.type != "f32":
            raise Unsupported(f"the accelerator takes PAD before {operator.kind} for padding that does not count")
        for adapted in adapt_operators([operator]):
            pattern = describe_pattern(adapted)
            if not self.is_proven(pattern):
                raise Unsupported(f"the accelerator is not known to compute {pattern}")


def write_graph(graph: Graph, tail: bytes = b"") -> bytes:
    """Write the file for the accelerator, without XNNPACK's passes. It finds inputs and outputs by name."""
    graph = adapt_graph(separate_padding(_separate_outputs(graph)))
    for letter, tensors in (("t", graph.tensors()), ("i", graph.inputs), ("o", graph.outputs)):
        for number, tensor in enumerate(tensors):
            tensor.name = f"{letter}{number}"
    return serialize(graph, write_named_tensors, tail=tail)


def adapt_graph(graph: Graph) -> Graph:
    return remove_dead_operators(graph.with_operators(adapt_operators(graph.operators)))


def separate_padding(graph: Graph) -> Graph:
    """Multiply by 1 between PAD and pooling: the accelerator would fuse the padding and not count its elements."""
    operators: list[Operator] = []
    padded: set[Tensor] = set()
    for operator in graph.operators:
        if _is_padded(operator, padded):
            padded.add(operator.output)
        elif operator.kind in POOLS and operator.inputs[0] in padded:
            source = operator.input(0)
            product = source.like()
            operators.append(Operator("MUL", [source, constant([1], "f32")], [product], {"activation": 0}))
            operator = operator.like([product])
        operators.append(operator)
    return graph.with_operators(operators)


def _is_padded(operator: Operator, padded: set[Tensor]) -> bool:
    """Return whether the accelerator treats an operator's result as padded."""
    return operator.kind in PADS or (operator.kind == "RESHAPE" and operator.inputs[0] in padded)


def _separate_outputs(graph: Graph) -> Graph:
    """Return the graph with a separate tensor for each output, which is neither an input nor a constant."""
    taken = set(graph.inputs)
    outputs, copies = [], []
    for tensor in graph.outputs:
        if tensor in taken or tensor.is_constant:
            source, tensor = tensor, tensor.like()
            copies.append(Operator("RESHAPE", [source, constant(np.array(tensor.shape))], [tensor]))
        taken.add(tensor)
        outputs.append(tensor)
    return Graph([*graph.operators, *copies], graph.inputs, outputs, graph.flipped, graph.name)
