"""Partitions of a random graph: one operation, to judge it alone (``part_of``), and a subset, to shrink a failure
(``keep``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from nnapi.model.operand import Array
from nnapi.testing.example import Example, Graph, OperandSpec, Source

CONSTANTS = (Source.CONSTANT_COPY, Source.CONSTANT_REFERENCE)
GIVEN = (*CONSTANTS, Source.SUBGRAPH_INPUT)


@dataclass(frozen=True)
class Part:
    """One operation as an example; ``inputs`` and ``outputs`` are its operands' indices in the whole graph."""

    example: Example
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def part_of(example: Example, number: int) -> Part:
    """Return one operation as an example. Float constants become inputs, so that the judge can perturb them."""
    operation = example.main.operations[number]
    order = tuple(dict.fromkeys((*operation.inputs, *operation.outputs)))
    place = {old: new for new, old in enumerate(order)}
    operands = [_in_part(example.main.operands[old], old in operation.outputs) for old in order]
    inputs = tuple(old for old, o in zip(order, operands, strict=True) if o.lifetime == Source.SUBGRAPH_INPUT)
    call = replace(
        operation,
        inputs=tuple(place[i] for i in operation.inputs),
        outputs=tuple(place[i] for i in operation.outputs),
    )
    graph = Graph(tuple(operands), (call,), tuple(place[i] for i in inputs), call.outputs)
    return Part(replace(example, main=graph, inputs={}, outputs={}), inputs, operation.outputs)


def _in_part(operand: OperandSpec, is_result: bool) -> OperandSpec:
    if is_result:
        return replace(operand, lifetime=Source.SUBGRAPH_OUTPUT)
    is_constant = operand.lifetime in CONSTANTS and not operand.type.startswith("TENSOR_FLOAT")
    if is_constant or operand.lifetime in (Source.NO_VALUE, Source.SUBGRAPH):
        return operand
    return replace(operand, lifetime=Source.SUBGRAPH_INPUT, data=None)


def keep(example: Example, numbers: Collection[int], values: Mapping[int, Array | None]) -> Example:
    """Return the example with only those operations; results of the others become inputs, known from ``values``.

    Unread results become outputs; unused operands are removed.
    """
    main = example.main
    operations = [main.operations[number] for number in sorted(numbers)]
    written = {i for operation in operations for i in operation.outputs}
    read = {i for operation in operations for i in operation.inputs}
    order = [i for i in range(len(main.operands)) if i in written | read]
    place = {old: new for new, old in enumerate(order)}
    operands = []
    for old in order:
        operand = main.operands[old]
        if old in written:
            is_output = old in main.outputs or old not in read
            lifetime = Source.SUBGRAPH_OUTPUT if is_output else Source.TEMPORARY_VARIABLE
            operand = replace(operand, lifetime=lifetime)
        elif operand.lifetime in (Source.TEMPORARY_VARIABLE, Source.SUBGRAPH_OUTPUT, Source.SUBGRAPH_INPUT):
            value = values[old]
            dimensions = operand.dimensions
            if value is not None and operand.lifetime != Source.SUBGRAPH_INPUT:
                dimensions = value.shape
            operand = replace(operand, lifetime=Source.SUBGRAPH_INPUT, dimensions=dimensions)
        operands.append(operand)
    calls = tuple(
        replace(
            operation,
            inputs=tuple(place[i] for i in operation.inputs),
            outputs=tuple(place[i] for i in operation.outputs),
        )
        for operation in operations
    )
    inputs = tuple(i for i, o in enumerate(operands) if o.lifetime == Source.SUBGRAPH_INPUT)
    outputs = tuple(i for i, o in enumerate(operands) if o.lifetime == Source.SUBGRAPH_OUTPUT)
    given = {i: values[order[i]] for i in inputs}
    return replace(example, main=Graph(tuple(operands), calls, inputs, outputs), inputs=given, outputs={})
