"""Recurrent operators: from states that come in and go out to the engine's states, which change in place.

Rules emit them as functions: the states are inputs, and the new ones outputs behind the one that the engine knows. The
engine keeps states in variables instead, which each run must begin with the states given and whose last value must be
read after the operator, although nothing but the order in which both are listed says so; and the engine reorders what
does not depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant


class Recurrence(NamedTuple):
    """Which inputs are states, and for which of those an output follows the engine's only one."""

    states: tuple[int, ...]
    given: tuple[int, ...]


RECURRENT = {
    "LSTM": Recurrence((18, 19), (19,)),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Recurrence((18, 19), (19,)),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Recurrence((4,), ()),
}
"""Operators with states, by kind. A state that is the last output is not given again."""


def in_place(graph: Graph) -> Graph:
    """The same graph with states as variables, less the operators whose results nobody reads."""
    if not any(operator.kind in RECURRENT for operator in graph.operators):
        return graph
    graph = needed(graph)
    read = {tensor for operator in graph.operators for tensor in operator.inputs}
    result = Graph([], graph.inputs, list(graph.outputs))
    for operator in graph.operators:
        if operator.kind in RECURRENT:
            _unfold(operator, result, read)
        else:
            result.operators.append(operator)
    return result


def needed(graph: Graph) -> Graph:
    """Without the operators whose results nobody reads."""
    read: set[Tensor | None] = set(graph.outputs)
    kept = []
    for operator in reversed(graph.operators):
        if not read.isdisjoint(operator.outputs):
            read.update(operator.inputs)
            kept.append(operator)
    return Graph(kept[::-1], graph.inputs, graph.outputs)


def _unfold(operator: Operator, graph: Graph, read: set[Tensor | None]) -> None:
    states, given = RECURRENT[operator.kind]
    inputs = list(operator.inputs)
    variables = {}
    for position in states:
        state = inputs[position]
        assert state is not None
        variables[position] = inputs[position] = state.like(is_variable=True)
        begin = constant([0] * len(state.shape))
        graph.operators.append(Operator("SLICE", [state, begin, constant(state.shape)], [variables[position]]))
    outputs = operator.outputs[:1]
    graph.operators.append(Operator(operator.kind, inputs, outputs, operator.options, operator.intermediates))
    for position, after in zip(given, operator.outputs[1:], strict=True):
        if after in read:
            graph.operators += _reading(variables[position], outputs[0], after)
        elif after in graph.outputs:
            graph.outputs = [variables[position] if tensor is after else tensor for tensor in graph.outputs]


def _reading(variable: Tensor, output: Tensor, after: Tensor) -> Sequence[Operator]:
    """Copy a variable, by a way that depends on the output of the operator that changes it."""
    rank = len(output.shape)
    corner = output.like(shape=(1,) * rank)
    flat = output.like(shape=(1,) * len(variable.shape))
    either = Tensor("bool", flat.shape)
    return (
        Operator("SLICE", [output, constant([0] * rank), constant([1] * rank)], [corner]),
        Operator("RESHAPE", [corner, constant(flat.shape)], [flat]),
        Operator("EQUAL", [flat, flat], [either]),
        Operator("SELECT_V2", [either, variable, variable], [after]),
    )
