"""Subgraphs of a random graph: one operation to judge, or several to shrink a failure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from nnapi.model.matching import Match
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperandSpec, OperationSpec, find_operands

CONSTANTS = (OperandSource.CONSTANT_COPY, OperandSource.CONSTANT_REFERENCE)


def find_given(example: Example, index: int) -> Array | None:
    """Return the value of a constant or input; None for an omitted operand and for other kinds."""
    operand = example.main.operands[index]
    return operand.data if operand.lifetime in CONSTANTS else example.inputs.get(index)


@dataclass(frozen=True)
class OperationExample:
    """One operation as an example. ``inputs`` and ``outputs`` are its operands' indices in the whole graph."""

    example: Example
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def part_of(example: Example, number: int) -> OperationExample:
    """Return operation ``number`` as an example. Float constants become inputs, so that they can be perturbed."""
    operation = example.main.operations[number]
    order = tuple(dict.fromkeys((*operation.inputs, *operation.outputs)))
    positions = {old: new for new, old in enumerate(order)}
    operands = [_in_part(example.main.operands[old], old in operation.outputs) for old in order]
    inputs = tuple(old for old, o in zip(order, operands, strict=True) if o.lifetime == OperandSource.SUBGRAPH_INPUT)
    call = renumber(operation, positions)
    taken, may_be_empty = tuple(positions[i] for i in inputs), example.main.empty_tensors
    graph = ExampleGraph(tuple(operands), (call,), taken, call.outputs, empty_tensors=may_be_empty)
    return OperationExample(replace(example, main=graph, inputs={}, outputs={}), inputs, operation.outputs)


def _in_part(operand: OperandSpec, is_result: bool) -> OperandSpec:
    if is_result:
        return replace(operand, lifetime=OperandSource.SUBGRAPH_OUTPUT)
    is_constant = operand.lifetime in CONSTANTS and not operand.type.startswith("TENSOR_FLOAT")
    if is_constant or operand.lifetime in (OperandSource.NO_VALUE, OperandSource.SUBGRAPH):
        return operand
    return replace(operand, lifetime=OperandSource.SUBGRAPH_INPUT, data=None)


def renumber(operation: OperationSpec, positions: Mapping[int, int]) -> OperationSpec:
    inputs, outputs = (tuple(positions[i] for i in indices) for indices in (operation.inputs, operation.outputs))
    return replace(operation, inputs=inputs, outputs=outputs)


def match_call(operation: OperationSpec, operands: Sequence[OperandSpec]) -> Match:
    """Return the match of a call; raise like :meth:`Operation.match`."""
    given, made = ([operands[i].full_type for i in indices] for indices in (operation.inputs, operation.outputs))
    return REGISTRY[CODES[operation.type]].match(given, made)


def keep_operations(example: Example, numbers: Collection[int], values: Mapping[int, Array | None]) -> Example:
    """Return the example with these operations only; results of other operations become inputs from ``values``."""
    main = example.main
    operations = [main.operations[number] for number in sorted(numbers)]
    written = {i for operation in operations for i in operation.outputs}
    read = {i for operation in operations for i in operation.inputs}
    order = [i for i in range(len(main.operands)) if i in written | read]
    positions = {old: new for new, old in enumerate(order)}
    operands = []
    for old in order:
        operand = main.operands[old]
        if old in written:
            is_output = old in main.outputs or old not in read
            lifetime = OperandSource.SUBGRAPH_OUTPUT if is_output else OperandSource.TEMPORARY_VARIABLE
            operand = replace(operand, lifetime=lifetime)
        elif operand.lifetime in (
            OperandSource.TEMPORARY_VARIABLE,
            OperandSource.SUBGRAPH_OUTPUT,
            OperandSource.SUBGRAPH_INPUT,
        ):
            value = values[old]
            if value is not None and operand.lifetime != OperandSource.SUBGRAPH_INPUT:
                operand = replace(operand, dimensions=value.shape)
            operand = replace(operand, lifetime=OperandSource.SUBGRAPH_INPUT)
        operands.append(operand)
    calls = tuple(renumber(operation, positions) for operation in operations)
    inputs, outputs = (
        find_operands(operands, each) for each in (OperandSource.SUBGRAPH_INPUT, OperandSource.SUBGRAPH_OUTPUT)
    )
    given = {i: values[order[i]] for i in inputs}
    kept = ExampleGraph(tuple(operands), calls, inputs, outputs, empty_tensors=main.empty_tensors)
    return replace(example, main=kept, inputs=given, outputs={})
