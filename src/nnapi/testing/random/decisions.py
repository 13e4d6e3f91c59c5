"""Find the results of decisions on inexact values that may differ between devices."""

from collections.abc import Container, Mapping, Sequence

import numpy as np

from nnapi.model.call import UNKNOWN, NotYetKnown, normalize
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.ops.quantized_values import dequantize
from nnapi.testing.compare import as_double
from nnapi.testing.example import ExampleGraph, OperandSpec
from nnapi.testing.random.operation_sets import TWO_COMPARED
from nnapi.testing.random.subgraphs import match_call


def find_free_axes(
    graph: ExampleGraph, number: int, values: Mapping[int, Array | None], inexact: Container[int]
) -> dict[int, frozenset[int]]:
    """Return the axes of each result of operation ``number`` whose dimensions only the data determine.

    ``values`` are known, except those of the ``inexact`` operands.
    """
    call, operands = graph.operations[number], graph.operands
    operation = REGISTRY[CODES[call.type]]
    if operation.shape_function is None:
        return {}

    def find_type(index: int) -> OperandType | None:
        value = values[index]
        return None if value is None else operands[index].full_type.with_dimensions(value.shape)

    def find_value(index: int) -> Array | None:
        return None if index in inexact else values[index]

    declared = tuple(operands[index].full_type for index in call.outputs)
    match = match_call(call, operands)
    try:
        results = normalize(
            operation, match, call.inputs, call.outputs, declared, find_type, find_value, empty_tensors=True
        ).stored_results()
    except NotYetKnown:
        return {index: frozenset(range(len(operands[index].dimensions))) for index in call.outputs}
    return {
        index: frozenset(axis for axis, dimension in enumerate(result.dimensions) if dimension == UNKNOWN)
        for index, result in zip(call.outputs, results, strict=True)
    }


def find_ties(
    name: str, operands: Sequence[OperandSpec], values: Sequence[Array], bounds: Sequence[Array | float]
) -> Array:
    """Return the elements that a comparison may find equal or not, as its operands differ by up to ``bounds``.

    A conversion to bool compares its stored operand with 0.
    """
    numbers, off = [], np.zeros(())
    for operand, value, bound in zip(operands, values, bounds, strict=True):
        scale = operand.scale if name in TWO_COMPARED else 0.0
        numbers.append(dequantize(operand.full_type, value).astype(np.float64) if scale else as_double(value))
        off = off + bound * (scale or 1.0)
    other = numbers[-1] if name in TWO_COMPARED else np.zeros(())
    with np.errstate(invalid="ignore"):
        ties: Array = (off > 0) & ~(np.abs(numbers[0] - other) > off)
    return ties


def have_several_quotients(x: Array, y: Array, x_off: Array | float, y_off: Array | float) -> Array:
    """Return the elements whose quotients are different integers, as ``x`` and ``y`` differ by up to these bounds."""
    with np.errstate(all="ignore"):
        sides = [(as_double(x) + a * x_off) / (as_double(y) + b * y_off) for a in (-1, 1) for b in (-1, 1)]
        return np.asarray(np.ptp(np.floor(sides), axis=0) > 0)
