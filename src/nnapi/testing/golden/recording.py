"""Run a model on the reference, and keep each tensor and the arithmetic of each operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import CONTROL_FLOW, FuseCode
from nnapi.compiling import compile
from nnapi.lowering.lower import KnownTypes, normalize_call
from nnapi.model.call import Call
from nnapi.model.graph import OperationCall
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import Array, OperandType
from nnapi.runtime.device import REFERENCE, device
from nnapi.testing.golden.arithmetic import Arithmetic, describe_arithmetic

FILTERS = {
    ("CONV_2D", "filter"): "OHWI",
    ("DEPTHWISE_CONV_2D", "filter"): "1HWO",
    ("GROUPED_CONV_2D", "filter"): "OHWI",
    ("TRANSPOSE_CONV_2D", "filter"): "OHWI",
    ("FULLY_CONNECTED", "weights"): "OI",
}
"""The order of a filter's dimensions: output channels, height, width, input channels."""
RENAMED = {"multiplier": "depth_multiplier"}
"""Settings whose name an integer of all rules has."""
NESTED = Arithmetic("nested", reason="the operations of nested models are not recorded")


@dataclass(frozen=True)
class Tensor:
    """An operand with a value. ``layout`` names the dimensions, from the slowest to the fastest; "" if they have no
    names."""

    index: int
    name: str
    lifetime: Lifetime
    type: OperandType
    array: Array
    layout: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation. ``inputs`` are operand indices by parameter, ``settings`` its other arguments."""

    number: int
    name: str
    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[int, ...]
    settings: Mapping[str, Any]
    activation: str
    arithmetic: Arithmetic


@dataclass(frozen=True)
class Golden:
    model: str
    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def record(
    model: Model, inputs: Sequence[Array | None], progress: Callable[[OperationCall], None] = lambda call: None
) -> Golden:
    """Return the golden values of a run; call ``progress`` before each operation is described."""
    arrays = _run(model, inputs)
    types = KnownTypes(model, {operand.index: None for operand in model.operands})
    for index, array in arrays.items():
        declared = model.operands[index].type
        types[index] = declared.with_dimensions(() if declared.is_scalar else array.shape)
    operations, layouts = [], dict[int, str]()
    for each in model.operations:
        progress(each)
        if each.code in CONTROL_FLOW:
            named = {"inputs": each.inputs}
            operations.append(Operation(each.number, each.name, named, each.outputs, {}, "", NESTED))
            continue
        call = normalize_call(model, each, types, arrays.get)
        operations.append(_describe(each, call, arrays))
        layouts = _name_dimensions(call, types) | layouts
    tensors = [
        Tensor(index, operand.name, operand.lifetime, operand.type, arrays[index], layouts.get(index, ""))
        for index, operand in enumerate(model.operands)
        if index in arrays and not operand.type.is_scalar
    ]
    return Golden(model.name, tuple(tensors), tuple(operations), tuple(model.inputs), tuple(model.outputs))


def _run(model: Model, inputs: Sequence[Array | None]) -> dict[int, Array]:
    """Return the values of all constants, inputs and results, by operand."""
    wanted = [index for call in model.operations for index in call.outputs]
    results = compile(model, device(REFERENCE)).run(*inputs, keep=wanted)[len(model.outputs) :]
    constants = {o.index: o.value for o in model.operands if o.lifetime == Lifetime.CONSTANT}
    given = {index: array for index, array in zip(model.inputs, inputs, strict=True) if array is not None}
    return constants | given | dict(zip(wanted, results, strict=True))


def _describe(each: OperationCall, call: Call, arrays: Mapping[int, Array]) -> Operation:
    with np.errstate(all="ignore"):
        arithmetic = describe_arithmetic(call, arrays, arrays[each.outputs[0]])
    tensors = {
        name: indices
        for name, indices in call.operands.items()
        if isinstance(call.arguments.get(name), OperandType | list) and not _is_scalar(call.arguments[name])
    }
    settings = {
        RENAMED.get(name, name): value
        for name, value in call.arguments.items()
        if name not in tensors and value is not None
    }
    activation = "" if call.activation == FuseCode.FUSED_NONE else call.activation.name
    return Operation(each.number, each.name, tensors, each.outputs, settings, activation, arithmetic)


def _is_scalar(argument: Any) -> bool:
    first = argument[0] if isinstance(argument, list) and argument else argument
    return not isinstance(first, OperandType) or first.is_scalar


def _name_dimensions(call: Call, types: KnownTypes) -> dict[int, str]:
    """Return the layouts of a call's images and filters, by operand."""
    named = [(name, index) for name, indices in call.operands.items() for index in indices]
    named += [(slot.name, index) for slot, index in zip(call.operation.outputs, call.outputs, strict=False)]
    layouts = {}
    for name, index in named:
        if name in call.operation.images and (type := types[index]) and type.rank == 4:
            layouts[index] = "NCHW" if call.nchw else "NHWC"
        elif layout := FILTERS.get((call.operation.name, name)):
            layouts[index] = layout
    return layouts
