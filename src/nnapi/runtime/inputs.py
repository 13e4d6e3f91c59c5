"""The inputs of a run: checked arrays, or zeros."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from nnapi.errors import BadDataError, need, wrap_error
from nnapi.model.model import Model, Operand
from nnapi.model.operand import DTYPES, Array, Shape, combine, stores
from nnapi.printable import pluralize
from nnapi.runtime.by_name import order_inputs

ASSUMED_DIMENSION = 1
"""The size assumed for a dynamic dimension, which mostly is the batch. Drivers assume the same."""


def check_inputs(model: Model, inputs: Sequence[Any]) -> list[Array | None]:
    """Return inputs, in order or one mapping by name, as arrays of the storage types. BadDataError names one that does
    not fit."""
    if len(inputs) == 1 and isinstance(inputs[0], Mapping):
        inputs = order_inputs(model, inputs[0])
    if len(inputs) != len(model.inputs):
        raise BadDataError(f"{model.name} takes {pluralize(len(model.inputs), 'input')}, got {len(inputs)}")
    operands = model.operands
    try:
        return [_check_input(operands[index], value, model) for index, value in zip(model.inputs, inputs, strict=True)]
    except MemoryError as error:
        raise wrap_error(error, f"the inputs of {model.name}") from error


def _check_input(operand: Operand, value: Any, model: Model) -> Array | None:
    type = operand.type
    is_plain = isinstance(value, np.ndarray) and value.dtype == DTYPES.get(type.code) and value.shape == type.dimensions
    if is_plain and type.dimensions and 0 not in type.dimensions:
        return cast(Array, value)  # the common case
    if value is None:
        return None
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value, type.dtype)
    except (TypeError, ValueError) as error:
        raise BadDataError(f"{_describe(operand)} cannot take {value!r}: {error}") from None
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if not stores(type, array.dtype):
        is_real = type.is_quantized and array.dtype.kind == "f"
        remedy = ": nnapi.quantize(type, array) converts it" if is_real else ""
        raise BadDataError(f"{operand.label} stores {type.dtype}, got an array of {array.dtype}{remedy}")
    if array.dtype != type.dtype:
        array = np.ascontiguousarray(array).view(type.dtype)
    if type.is_scalar:
        need(array.size == 1, f"{operand.label} is a scalar, got {list(array.shape)}", BadDataError)
        return array.reshape(())
    fits = array.ndim and combine(type.dimensions, array.shape) == array.shape
    if not fits or not (array.size or model.empty_tensors) or (array.size and operand.index in model.empty_inputs):
        raise BadDataError(f"{_describe(operand)} cannot take an array of shape {list(array.shape)}")
    return array


def _describe(operand: Operand) -> str:
    shape = ", ".join(str(dimension or "?") for dimension in operand.type.dimensions)
    return f"{operand.label}, of {f'shape [{shape}]' if shape else 'any shape'},"


def has_known_ranks(model: Model) -> bool:
    """Return whether :func:`make_zeros` can make every input: all ranks are known."""
    types = [model.operands[index].type for index in model.inputs]
    return all(type.is_scalar or type.rank for type in types)


def make_zeros(model: Model, shapes: Sequence[Shape] | None = None) -> list[Array]:
    """Return zeros for each input, of ``shapes`` or the declared shapes."""
    types = [model.operands[index].type for index in model.inputs]
    if shapes is None:
        shapes = [
            tuple(
                dimension or (0 if index in model.empty_inputs else ASSUMED_DIMENSION) for dimension in type.dimensions
            )
            for index, type in zip(model.inputs, types, strict=True)
        ]
    count = len(types)
    need(len(shapes) == count, f"{model.name} takes {pluralize(count, 'input')}, got {len(shapes)}", BadDataError)
    return [np.zeros(shape, type.dtype) for shape, type in zip(shapes, types, strict=True)]
