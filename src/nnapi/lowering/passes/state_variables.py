"""Convert the states of recurrent operators from inputs and outputs to the engine's variables.

In each run, variables must be set before the operator and read after it. Data dependencies must enforce this order,
because the engine reorders independent operators.
"""

from collections.abc import Sequence
from dataclasses import replace

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.operators import row_of


def make_state_variables(graph: Graph) -> Graph:
    read = {tensor for operator in graph.operators for tensor in operator.inputs}
    result = replace(graph, operators=[], outputs=list(graph.outputs))
    for operator in graph.operators:
        if row_of(operator.kind).states:
            _unfold(operator, result, read)
        else:
            result.operators.append(operator)
    return result


def _unfold(operator: Operator, graph: Graph, read: set[Tensor | None]) -> None:
    row, inputs = row_of(operator.kind), list(operator.inputs)
    variables = {}
    for position in row.states:
        state = operator.input(position)
        variables[position] = inputs[position] = state.like(is_variable=True)
        begin = constant([0] * len(state.shape))
        graph.operators.append(Operator("SLICE", [state, begin, constant(state.shape)], [variables[position]]))
    graph.operators.append(operator.like(inputs, outputs=operator.outputs[:1]))
    for position, after in zip(row.states_out, operator.outputs[1:], strict=True):
        if after in read:
            graph.operators += _read(variables[position], operator.output, after)
        elif after in graph.outputs:
            graph.outputs = [variables[position] if tensor is after else tensor for tensor in graph.outputs]


def _read(variable: Tensor, output: Tensor, after: Tensor) -> Sequence[Operator]:
    """Return operators that copy a variable and depend on ``output``, so that they run after its operator."""
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
