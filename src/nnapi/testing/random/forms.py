"""Variants of a call that must not change its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nnapi.model.operand import Array
from nnapi.testing.example import Example, OperandSpec, Source, dynamic, find_operands, with_unknown_dimensions
from nnapi.testing.random.parts import CONSTANTS
from nnapi.testing.random.rephrasing import with_other_layouts, with_own_activations, with_padding_in_numbers

OTHER_WORDS = {
    "with activations of their own": with_own_activations,
    "with padding in numbers": with_padding_in_numbers,
    "in the other layout": with_other_layouts,
}


def other_forms(example: Example) -> Iterator[tuple[str, Example]]:
    """Yield each equivalent variant of an example, with a description of the difference. Outputs keep their order."""
    yield "with outputs of unspecified dimensions", dynamic(example)
    if not example.referenced:
        yield "with inputs of unspecified dimensions", with_unknown_dimensions(example)
        for what, rephrase in OTHER_WORDS.items():
            other = rephrase(example)
            if other is not None:
                yield what, other
    yield "with tensors as inputs", with_inputs(example)
    yield "with tensors as constants", with_constants(example)


def with_inputs(example: Example) -> Example:
    """Return the example with every constant tensor as a model input."""
    operands, inputs = list(example.main.operands), dict(example.inputs)
    for index, operand in enumerate(operands):
        if operand.lifetime in CONSTANTS and operand.type.startswith("TENSOR"):
            inputs[index] = operand.data
            operands[index] = replace(operand, lifetime=Source.SUBGRAPH_INPUT, data=None)
    return _with_given(example, operands, inputs)


def with_constants(example: Example) -> Example:
    """Return the example with every input but the first as a constant."""
    operands, inputs = list(example.main.operands), dict(example.inputs)
    for index in example.main.inputs[1:]:
        data = inputs[index]
        if data is not None:
            operands[index] = replace(
                operands[index], lifetime=Source.CONSTANT_COPY, data=inputs.pop(index), dimensions=data.shape
            )
    return _with_given(example, operands, inputs)


def _with_given(example: Example, operands: list[OperandSpec], inputs: Mapping[int, Array | None]) -> Example:
    order = find_operands(operands, Source.SUBGRAPH_INPUT)
    return replace(example, main=replace(example.main, operands=tuple(operands), inputs=order), inputs=inputs)
