"""From the graph of an import to a finished model: what the outputs depend on, described call by call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nnapi.codes import OperationCode
from nnapi.importers.tflite.graph import Graph, Step, Value
from nnapi.model.memory import Memory
from nnapi.model.model import Model


def build(graph: Graph, model: Model, memory: Memory, inputs: Sequence[Value], outputs: Sequence[Value]) -> Model:
    """Describe the steps that the outputs depend on to ``model`` and finish it.

    Constants that the file has are views of ``memory``, in which it lies.
    """
    outputs = _written(graph, inputs, outputs)
    indices = {value: model.add_operand(value.type, value.name) for value in inputs}
    for step in _needed(graph, outputs):
        for value in (*step.inputs, *step.outputs):
            if value not in indices:
                indices[value] = _describe(model, memory, value)
        reads, writes = [indices[value] for value in step.inputs], [indices[value] for value in step.outputs]
        if step.fitted is None:
            model.add_operation(step.code, reads, writes)
        else:
            model.add_fitted_operation(step.fitted, reads, writes)
    model.identify_inputs_and_outputs([indices[value] for value in inputs], [indices[value] for value in outputs])
    model.finish()
    return model


def _written(graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
    """The outputs, each written by an operation of its own: NNAPI has no output that is an input or constant."""
    taken = set(inputs)
    written = []
    for value in outputs:
        if value in taken or value.array is not None:
            copy = Value(value.type, f"{value.name}:copy")
            graph.steps.append(Step(OperationCode.CAST, [value], [copy]))
            value = copy
        taken.add(value)
        written.append(value)
    return written


def _needed(graph: Graph, outputs: Sequence[Value]) -> list[Step]:
    wanted = set(outputs)
    needed = []
    for step in reversed(graph.steps):
        if any(value in wanted for value in step.outputs):
            wanted.update(step.inputs)
            needed.append(step)
    return needed[::-1]


def _describe(model: Model, memory: Memory, value: Value) -> int:
    channel = value.type.channel
    index = model.add_operand(replace(value.type, channel=None) if channel else value.type, value.name)
    if channel:
        model.set_operand_symm_per_channel_quant_params(index, channel.dimension, channel.scales)
    if value.model is not None:
        model.set_operand_value_from_model(index, value.model)
    elif value.omitted:
        model.set_operand_value(index, None)
    elif value.region is not None:
        model.set_operand_value_from_memory(index, memory, *value.region)
    elif value.array is not None:
        model.set_operand_value(index, value.array)
    return index
