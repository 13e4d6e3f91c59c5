"""Shrink a failing example: fewer operations, smaller dimensions, plainer values, as long as it still fails."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from nnapi.errors import NnapiError
from nnapi.model.operand import Array
from nnapi.testing.example import Example, OperandSpec
from nnapi.testing.random.deviation import Computation
from nnapi.testing.random.subgraphs import CONSTANTS, find_given, keep_operations

Fails = Callable[[Example], Example | None]
"""Returns the part of an example that ran, if it fails; None if it does not fail."""
Ways = Callable[[Example], Iterator[Example]]
Place: TypeAlias = tuple[int, int]
"""An operand's index and one of its axes."""
LIMIT = 15.0


def shrink(example: Example, fails: Fails, limit: float = LIMIT) -> tuple[Example, str]:
    """Return the smallest example found within ``limit`` seconds that still fails, and the errors of the search."""
    end = time.monotonic() + limit
    before, errors = None, dict[str, None]()
    while example is not before:
        before = example
        for ways in (_set_known_dimensions, _fewer_operations, _smaller_dimensions, _plainer_values):
            try:
                while (smaller := _find_smaller(example, ways, fails, end)) is not None:
                    example = smaller
            except Exception as error:  # a bug of the search must not lose the example
                errors[f"{type(error).__name__}: {error}"] = None
    return example, "; ".join(errors)


def _find_smaller(example: Example, ways: Ways, fails: Fails, end: float) -> Example | None:
    for candidate in ways(example):
        if time.monotonic() > end:
            return None
        still = fails(candidate)
        if still is not None:
            return still
    return None


def _fewer_operations(example: Example) -> Iterator[Example]:
    """Yield examples with the last operation only, with either half, and without each single operation."""
    count = len(example.main.operations)
    if count < 2 or example.referenced:
        return
    computation = Computation(example)
    try:
        for number in range(count):
            computation.run(number)
    except NnapiError:
        return
    numbers = list(range(count))
    for kept in (numbers[-1:], numbers[count // 2 :], numbers[: count // 2]):
        yield keep_operations(example, kept, computation.values)
    for gone in numbers:
        yield keep_operations(example, [number for number in numbers if number != gone], computation.values)


def _set_known_dimensions(example: Example) -> Iterator[Example]:
    """Yield the example with all dimensions specified, if any was unspecified."""
    given = {index: array.shape for index, array in example.inputs.items() if array is not None}
    if any(example.main.operands[index].dimensions != shape for index, shape in given.items()):
        yield example.with_dimensions(given)


def _smaller_dimensions(example: Example) -> Iterator[Example]:
    """Yield examples with a smaller dimension: everywhere it occurs, or in one operand only."""
    if example.referenced:
        return
    by_dimension: defaultdict[int, list[Place]] = defaultdict(list)
    for index, operand in enumerate(example.main.operands):
        if index in example.main.inputs or operand.lifetime in CONSTANTS:
            for axis, dimension in enumerate(operand.dimensions):
                by_dimension[dimension].append((index, axis))
    for dimension in sorted((dimension for dimension in by_dimension if dimension > 1), reverse=True):
        same = by_dimension[dimension]
        for new in dict.fromkeys((1, dimension // 2, dimension - 1)):
            yield resize(example, dict.fromkeys(same, new))
            if len(same) > 1:
                for one in same:
                    yield resize(example, {one: new})


def resize(example: Example, dimensions: Mapping[Place, int]) -> Example:
    """Return the example with these dimensions. Data is cut to them; dimensions of results become unspecified."""
    operands, inputs = [], dict(example.inputs)
    written = {i for operation in example.main.operations for i in operation.outputs}
    for index, operand in enumerate(example.main.operands):
        if index in written:
            operands.append(replace(operand, dimensions=(0,) * len(operand.dimensions)))
            continue
        wanted = tuple(dimensions.get((index, axis), dimension) for axis, dimension in enumerate(operand.dimensions))
        operands.append(_cut(operand, wanted))
        array = inputs.get(index)
        if array is not None:
            inputs[index] = _corner(array, tuple(new or old for new, old in zip(wanted, array.shape, strict=True)))
    return replace(example, main=replace(example.main, operands=tuple(operands)), inputs=inputs, outputs={})


def _cut(operand: OperandSpec, dimensions: tuple[int, ...]) -> OperandSpec:
    quant = operand.channel_quant
    if quant:
        quant = replace(quant, scales=quant.scales[: dimensions[quant.channel_dim]])
    data = None if operand.data is None else _corner(operand.data, dimensions)
    return replace(operand, dimensions=dimensions, data=data, channel_quant=quant)


def _corner(array: Array, dimensions: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(array[tuple(slice(dimension) for dimension in dimensions)]).reshape(dimensions)


def _plainer_values(example: Example) -> Iterator[Example]:
    for index, operand in enumerate(example.main.operands):
        array = find_given(example, index)
        if array is None or not array.size or not operand.type.startswith("TENSOR"):
            continue
        for plain in _plainer(array, operand):
            yield with_value(example, index, plain)


def with_value(example: Example, index: int, array: Array) -> Example:
    if index in example.inputs:
        return replace(example, inputs={**example.inputs, index: array})
    return example.with_operands({index: replace(example.main.operands[index], data=array)})


def _plainer(array: Array, operand: OperandSpec) -> Iterator[Array]:
    """Yield plainer data: zeros, ones, the first element everywhere, integers."""
    if operand.type == "TENSOR_INT32" and not operand.scale:
        return  # indices and dimensions: other values may be illegal
    zero, same = (np.full_like(array, value) for value in (operand.zero_point, array.flat[0]))
    is_float = array.dtype.kind == "f"
    rounded = np.where(np.isfinite(array), np.round(array), array).astype(array.dtype)
    for choice in (zero, np.ones_like(array), same, rounded) if is_float else (zero, same):
        if np.array_equal(array, choice, equal_nan=is_float):
            return
        yield choice
