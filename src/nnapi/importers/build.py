"""Build a model from the graph of an import."""

import math
from collections.abc import Mapping, Sequence

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError
from nnapi.importers.graph import Graph, Step, Value
from nnapi.importers.recognition import recognize
from nnapi.importers.symbolic_model import InputSymbols
from nnapi.model.described_operand import describe
from nnapi.model.graph import StatePair
from nnapi.model.matching import KnownMatch
from nnapi.model.memory import LARGE
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType
from nnapi.operation_codes import CompositeCode
from nnapi.rewriting.dataflow import select_needed
from nnapi.shapes.array import has_sizes, is_symbolic


def build(
    graph: Graph,
    model: Model,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    states: Sequence[tuple[Value, Value]] = (),
    *,
    symbols: InputSymbols | None = None,
) -> Model:
    """Return the model of a graph. ``states`` are the values before and after a run of what lasts between runs.
    ``symbols`` record the operands that depend on sizes; without them, such sizes are fixed."""
    model.permit_high_ranks(graph.high_ranks)
    before = [state for state, _ in states]
    changed = [pair for pair in states if pair[1] is not pair[0]]
    model.permit_empty_tensors(True)
    written = _write_outputs(graph, [*inputs, *before], [*outputs, *(after for _, after in changed)])
    recognize(graph, written)
    indices = {value: _describe(model, symbols, value) for value in [*inputs, *before]}
    for step in select_needed(graph.steps, written):
        for value in (*step.inputs, *step.outputs):
            if value not in indices:
                indices[value] = _describe(model, symbols, value)
        reads, writes = [indices[value] for value in step.inputs], [indices[value] for value in step.outputs]
        known = step.known if symbols is None or step.known is None else _make_static(step, step.known, model, indices)
        if known is None:
            model.add_operation(step.code, reads, writes)
        else:
            model.add_matched_operation(known, reads, writes)
    results = [indices[value] for value in written]
    roles = [indices[value] for value in inputs], results[: len(outputs)]
    (model.identify_inputs_and_outputs if inputs else model.assign_roles)(*roles)  # C models have inputs, files may not
    after = dict(zip((state for state, _ in changed), results[len(outputs) :], strict=True))
    model.states = tuple(StatePair(indices[state], after.get(state)) for state in before)
    model.finish()
    return model


def _write_outputs(graph: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> list[Value]:
    """Copy outputs that are inputs, constants or repeated: NNAPI requires an operation that writes each output. An
    output that is a dynamic shape is computed."""
    taken = set(inputs)
    written = []
    for value in outputs:
        if value.is_dynamic_shape:
            if value.shape_of is None:
                raise BadDataError(f"the output {value.name} depends on dimensions that only a run knows")
            computed = Value(value.type, f"{value.name}:computed")
            graph.steps.append(Step(CompositeCode.SHAPE, [value.shape_of], [computed]))
            value = computed
        if value in taken or value.array is not None:
            copy = Value(value.type, f"{value.name}:copy")
            graph.steps.append(Step(OperationCode.CAST, [value], [copy]))
            value = copy
        taken.add(value)
        written.append(value)
    return written


def _make_static(step: Step, known: KnownMatch, model: Model, indices: Mapping[Value, int]) -> KnownMatch | None:
    """Return the match for the types in the model, whose dimensions are numbers; None if the values' types changed."""
    types = [value.type for value in step.inputs], [value.type for value in step.outputs]
    if not known.holds(step.code, *types, [value.model for value in step.inputs]):
        return None
    inputs, outputs = ([model.operands[indices[value]].type for value in side] for side in (step.inputs, step.outputs))
    return known._replace(inputs=inputs, outputs=outputs)


def _describe(model: Model, symbols: InputSymbols | None, value: Value) -> int:
    type, array = value.type, value.initial if value.array is None else value.array
    if has_sizes(type.dimensions) or is_symbolic(array):
        type, array = _fix(type, array) if symbols is None else symbols.record(len(model.operands), type, array)
    if array is not None and not array.flags.aligned and array.nbytes < LARGE:  # a large one stays a view of the file
        array = array.copy()
    elif value.in_file and array is not None and array.size and _is_plain(type):
        return model.add_constant(type, array, value.name)
    return describe(model, type, value.name, array if value.model is None else value.model, omitted=value.omitted)


def _fix(type: OperandType, array: Array | None) -> tuple[OperandType, Array | None]:
    return type.replace(dimensions=tuple(map(int, type.dimensions))), array.fix() if is_symbolic(array) else array


def _is_plain(type: OperandType) -> bool:
    channel = type.channel
    return channel is None or (
        type.dimensions[channel.dimension : channel.dimension + 1] == (len(channel.scales),)
        and min(channel.scales) > 0
        and math.isfinite(sum(channel.scales))
    )
