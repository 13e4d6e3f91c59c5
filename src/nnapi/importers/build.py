"""Build a model from the graph of an import."""

import math
from collections.abc import Sequence

from nnapi.codes import OperationCode
from nnapi.importers.graph import Graph, Step, Value
from nnapi.importers.recognition import recognize
from nnapi.model.graph import StatePair
from nnapi.model.model import Model
from nnapi.model.operand import OperandType


def build(
    graph: Graph,
    model: Model,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    states: Sequence[tuple[Value, Value]] = (),
) -> Model:
    """Return the model of a graph. ``states`` are the values before and after a run of what lasts between runs."""
    before = [state for state, _ in states]
    changed = [pair for pair in states if pair[1] is not pair[0]]
    written = _write_outputs(graph, [*inputs, *before], [*outputs, *(after for _, after in changed)])
    recognize(graph, written)
    indices = {value: model.add_operand(value.type, value.name) for value in inputs}
    for value in before:
        indices[value] = _describe(model, value)
    for step in _select_needed(graph, written):
        for value in (*step.inputs, *step.outputs):
            if value not in indices:
                indices[value] = _describe(model, value)
        reads, writes = [indices[value] for value in step.inputs], [indices[value] for value in step.outputs]
        if step.known is None:
            model.add_operation(step.code, reads, writes)
        else:
            model.add_matched_operation(step.known, reads, writes)
    results = [indices[value] for value in written]
    model.identify_inputs_and_outputs([indices[value] for value in inputs], results[: len(outputs)])
    after = dict(zip((state for state, _ in changed), results[len(outputs) :], strict=True))
    model.states = tuple(StatePair(indices[state], after.get(state)) for state in before)
    model.finish()
    return model


def _write_outputs(graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
    """Copy outputs that are inputs, constants or repeated: NNAPI requires an operation that writes each output."""
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


def _select_needed(graph: Graph, outputs: Sequence[Value]) -> list[Step]:
    wanted = set(outputs)
    needed = []
    for step in reversed(graph.steps):
        if not wanted.isdisjoint(step.outputs):
            wanted.update(step.inputs)
            needed.append(step)
    return needed[::-1]


def _describe(model: Model, value: Value) -> int:
    type, array = value.type, value.initial if value.array is None else value.array
    if value.in_file and array is not None and array.size and _is_plain(type):
        return model.add_constant(type, array, value.name)
    channel = type.channel
    index = model.add_operand(type.replace(channel=None) if channel else type, value.name)
    if channel:
        model.set_operand_symm_per_channel_quant_params(index, channel.dimension, channel.scales)
    if value.model is not None:
        model.set_operand_value_from_model(index, value.model)
    elif value.omitted:
        model.set_operand_value(index, None)
    elif array is not None:
        model.set_operand_value(index, array)
    return index


def _is_plain(type: OperandType) -> bool:
    channel = type.channel
    return channel is None or (
        type.dimensions[channel.dimension : channel.dimension + 1] == (len(channel.scales),)
        and min(channel.scales) > 0
        and math.isfinite(sum(channel.scales))
    )
