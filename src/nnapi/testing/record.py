"""Record examples from models and executions."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.model.model import Lifetime, Model, Operand
from nnapi.model.nesting import list_nested
from nnapi.model.operand import Array
from nnapi.operation_codes import NAMES
from nnapi.testing.example import ChannelSpec, Example, ExampleGraph, Harness, OperandSource, OperandSpec, OperationSpec

NOTHING = Harness(generated=False)
"""The harness of examples that cannot be repeated, because the model never ran or the run failed."""

SOURCES = {
    Lifetime.TEMPORARY: OperandSource.TEMPORARY_VARIABLE,
    Lifetime.INPUT: OperandSource.SUBGRAPH_INPUT,
    Lifetime.OUTPUT: OperandSource.SUBGRAPH_OUTPUT,
    Lifetime.CONSTANT: OperandSource.CONSTANT_COPY,
    Lifetime.NO_VALUE: OperandSource.NO_VALUE,
    Lifetime.SUBGRAPH: OperandSource.SUBGRAPH,
}


def example_of(
    model: Model,
    name: str,
    inputs: Mapping[int, Array | None] | None = None,
    outputs: Mapping[int, Array] | None = None,
    spec: str = "",
) -> Example:
    """Return a model, finished or not, as an example; without ``outputs`` its results cannot be checked."""
    models = list_nested(model)[::-1]
    positions = {id(each): number for number, each in enumerate(models, -1)}  # the main model comes first, as number -1
    main, *others = (_graph(each, positions) for each in models)
    return Example(
        name=name,
        main=main,
        inputs=inputs or dict.fromkeys(model.inputs),
        outputs=outputs or {index: np.empty(0, model.operands[index].type.dtype) for index in model.outputs},
        referenced=tuple(others),
        spec=spec,
        relaxed=model.relaxed,
        high_ranks=model.high_ranks,
        harness=NOTHING if outputs is None else Harness(),
    )


def _graph(model: Model, positions: Mapping[int, int]) -> ExampleGraph:
    return ExampleGraph(
        tuple(_operand(operand, positions) for operand in model.operands),
        tuple(OperationSpec(_operation(call.code), call.inputs, call.outputs) for call in model.operations),
        model.inputs,
        model.outputs,
        model.name,
        model.empty_tensors,
    )


def _operation(code: int) -> str:
    return NAMES.get(code, str(code))


def _operand(operand: Operand, positions: Mapping[int, int]) -> OperandSpec:
    type = operand.type
    source = SOURCES[operand.lifetime]
    if source == OperandSource.CONSTANT_COPY and operand.in_memory:
        source = OperandSource.CONSTANT_REFERENCE
    is_reference = type.code == OperandCode.MODEL
    return OperandSpec(
        "SUBGRAPH" if is_reference else type.name,
        type.dimensions,
        type.scale,
        type.zero_point,
        source,
        data=_data(operand) if operand.lifetime == Lifetime.CONSTANT else None,
        subgraph=positions[id(operand.value)] if source == OperandSource.SUBGRAPH else None,
        channel_quant=ChannelSpec(type.channel.dimension, type.channel.scales) if type.channel else None,
        name=operand.name,
    )


def _data(operand: Operand) -> Array | None:
    """Return a constant's value as an array; None if it cannot be read."""
    value: Any = operand.value
    with suppress(NnapiError, ValueError):
        if isinstance(value, tuple):
            value = value[0].view(*value[1:])
        return np.array(value.reshape(-1).view(operand.type.dtype).reshape(operand.type.dimensions))
    return None
