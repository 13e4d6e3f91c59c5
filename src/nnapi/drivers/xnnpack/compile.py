"""From a model to the serialised graph that the engine is handed: what a warm compilation does not even import."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.codes import OperandCode
from nnapi.drivers.lowering import may_be_omitted
from nnapi.drivers.xnnpack import rules  # noqa: F401  (registers the lowering rules)
from nnapi.drivers.xnnpack.engine.artifact import Compiled
from nnapi.drivers.xnnpack.engine.profiler.profile import origins
from nnapi.drivers.xnnpack.lowering import Lowered, assumed, lowered
from nnapi.drivers.xnnpack.passes.fuse_mean import of_codes
from nnapi.drivers.xnnpack.passes.io_types import left_unsigned
from nnapi.drivers.xnnpack.passes.lstm_fuse import merged
from nnapi.drivers.xnnpack.passes.lstm_unroll import written_out
from nnapi.drivers.xnnpack.passes.signed_weights.cost_model import products
from nnapi.drivers.xnnpack.passes.signed_weights.rewrite import narrowed
from nnapi.drivers.xnnpack.passes.state_variables import in_place
from nnapi.formats.tflite.graph import Graph
from nnapi.formats.tflite.writer import serialised
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, Shape

__all__ = ["Lowered", "assumed", "compiled", "constants", "is_closed", "lowered"]

LARGE = 1024
"""Bytes from which the value of a constant is not small."""


def is_closed(model: Model) -> bool:
    """Whether one graph is enough for every run."""
    return all(model.operands[index].type.is_known for index in model.inputs) and not may_be_omitted(model)


def compiled(model: Model, graph: Graph, shapes: Sequence[Shape | None], assumed: Sequence[Shape | None]) -> Compiled:
    """The graph that the model was lowered to, rewritten and serialised: for inputs of those ``shapes``, None for one
    that is omitted. ``assumed`` are those that are tried first, where runs may differ."""
    graph = narrowed(in_place(written_out(merged(of_codes(graph)))))
    given = [index for index, shape in zip(model.inputs, shapes, strict=True) if shape is not None]
    ends = [*given, *model.outputs]
    unsigned = [model.operands[index].type.code == OperandCode.TENSOR_QUANT8_ASYMM for index in ends]
    graph = left_unsigned(graph, unsigned)
    tensors = (*graph.inputs, *graph.outputs)
    return Compiled(
        serialised(graph),
        tuple(turned and tensor.type == "i8" for turned, tensor in zip(unsigned, tensors, strict=True)),
        tuple(tensor.shape for tensor in graph.outputs),
        tuple(origins(graph)),
        products(graph),
        None if is_closed(model) else tuple(assumed),
    )


def constants(model: Model) -> list[Array]:
    """The values of a model that are not small."""
    values = [operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT]
    return [value for value in values if value.nbytes >= LARGE]
