"""The work of an operation. Pixels and taps count besides MACs: with few channels, the start of each sum dominates."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from nnapi.codes import OperationCode
from nnapi.contract.timings import ELEMENTS, Element
from nnapi.model.facts import Facts, Kind
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY
from nnapi.shapes.size import number_of

UNKNOWN_DIMENSION = 8
"""Assumed size of a dynamic dimension. The first of several dimensions, mostly the batch, is assumed to be 1."""


class Work(NamedTuple):
    """The work of an operation: multiply-accumulates (``macs``), bytes read and written, and others.

    ``steps`` is the number of time steps, 1 if not recurrent. ``pixels`` are those of a convolution's result, or rows
    of a matrix product. ``taps`` are filter taps of all pixels.
    """

    kind: Kind
    element: Element
    macs: int
    nbytes: int
    steps: int = 1
    pixels: int = 0
    taps: int = 0


def find_work(model: Model, call: OperationCall) -> Work:
    """Return the work of an operation; dynamic dimensions have assumed sizes."""
    operands = model.operands
    facts = REGISTRY[call.code].facts if call.code in REGISTRY else Facts()  # extensions declare no facts
    kind, summed = facts.kind, facts.summed
    x = operands[call.inputs[0]].type
    element = ELEMENTS.get(x.code, Element.OTHER)
    outputs = [operands[index].type for index in call.outputs]
    nbytes = _count_bytes([*(operands[index].type for index in call.inputs), *outputs])
    if kind is Kind.RECURRENT:
        return _measure_recurrent(model, call, element, nbytes)
    if call.code == OperationCode.DEQUANTIZE and operands[call.inputs[0]].lifetime is Lifetime.CONSTANT:
        nbytes = 0  # engines dequantize constants before a run
    if kind is Kind.MOVEMENT:
        nbytes = min(nbytes, 2 * _count_bytes(outputs))  # a lookup reads only the rows of its result
    if summed is None:
        return Work(kind, element, 0, nbytes)
    filter, made = operands[call.inputs[1]].type, _count_elements(outputs[0])
    if call.code == OperationCode.BATCH_MATMUL and operands[call.inputs[3]].value:
        summed = slice(-1, None)  # the filter is transposed
    if kind is Kind.DEPTHWISE and x.dimensions[-1:] == (1,):
        kind = Kind.CONVOLUTION  # with one input channel, engines compute a convolution
    sizes = tuple(map(number_of, filter.dimensions))
    each = math.prod(d or UNKNOWN_DIMENSION for d in sizes[summed] or (0,))
    pixels = made * each // _count_elements(filter) or 1
    taps = pixels * math.prod(d or UNKNOWN_DIMENSION for d in sizes[1:-1])
    return Work(kind, element, made * each, nbytes, 1, pixels, taps)


def _count_bytes(types: Iterable[OperandType]) -> int:
    """Return the bytes of all tensors, without scalars."""
    return sum(_count_elements(type) * type.dtype.itemsize for type in types if not type.is_scalar)


def _count_elements(type: OperandType) -> int:
    dimensions = tuple(map(number_of, type.dimensions))  # work is an estimate, for which sizes record no guards
    if not dimensions:
        return UNKNOWN_DIMENSION
    count = math.prod(dimensions)
    return count or (dimensions[0] or 1) * math.prod(dimension or UNKNOWN_DIMENSION for dimension in dimensions[1:])


def _measure_recurrent(model: Model, call: OperationCall, element: Element, nbytes: int) -> Work:
    """Count each weight once per row of the input; each row of a sequence is a step."""
    x, *others = (model.operands[index] for index in call.inputs)
    weights = sum(_count_elements(o.type) for o in others if o.lifetime == Lifetime.CONSTANT and o.type.rank == 2)
    last = x.type.dimensions[-1] if x.type.dimensions else 0
    rows = _count_elements(x.type) // (last or UNKNOWN_DIMENSION)
    return Work(Kind.RECURRENT, element, rows * weights, nbytes, rows if x.type.rank == 3 else 1)
