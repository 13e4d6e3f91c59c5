"""Conformance examples with their parameters as constants: what decides a result's dimensions must not be computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nnapi.model.model import Lifetime, Model
from nnapi.model.parameter import ScalarParameter, Several, ValuesParameter
from nnapi.testing.build import build
from nnapi.testing.example import Example, OperandSource, OperandSpec


def fix_parameters(example: Example) -> Example:
    """Return an example whose inputs are constants where operations read parameters, and omitted where runs omit
    them."""
    parameters = find_parameters(build(example))
    operands, kept = list(example.main.operands), []
    for index in example.main.inputs:
        data = example.inputs[index]
        if data is None:
            operands[index] = replace(operands[index], lifetime=OperandSource.NO_VALUE)
        elif index in parameters:
            operands[index] = replace(operands[index], lifetime=OperandSource.CONSTANT_COPY, data=data)
        else:
            kept.append(index)
    inputs = {index: example.inputs[index] for index in kept}
    if not inputs:  # a model needs one
        inputs = {len(operands): np.zeros(1, np.float32)}
        operands.append(OperandSpec("TENSOR_FLOAT32", (1,), lifetime=OperandSource.SUBGRAPH_INPUT))
    main = replace(example.main, operands=tuple(operands), inputs=tuple(inputs))
    return replace(example, main=main, inputs=inputs)


def computes_parameters(example: Example) -> bool:
    """Whether operations of an example compute parameters of others, which no constant can replace."""
    model = build(example)
    return any(model.operands[index].lifetime is Lifetime.TEMPORARY for index in find_parameters(model))


def find_parameters(model: Model) -> set[int]:
    """Return the operands that operations read as parameters: scalars, and tensors whose values decide dimensions."""
    found: set[int] = set()
    for call in model.operations:
        if call.match is None:
            continue
        for slot in call.match.overload.inputs:
            if not isinstance(slot, Several) and isinstance(slot, ScalarParameter | ValuesParameter):
                found.update(call.inputs[place] for place in call.match.inputs.get(slot.name, ()))
    return found
