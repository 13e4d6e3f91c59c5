"""How much an operation has to do: its kind, its elements' type, multiply-accumulates (MACs), bytes to touch."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from nnapi.codes import OperandCode
from nnapi.model.facts import Facts, Kind
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY

__all__ = ["ELEMENTS", "Element", "Kind", "Work", "find_work"]

UNKNOWN_DIMENSION = 8
"""What a dimension that is not known before the run counts as; the first of several, mostly a batch, counts as 1."""


class Element(StrEnum):
    """Types that cost alike; the first input's counts."""

    FLOAT32 = "float32"
    UNSIGNED = "quant8"
    SIGNED = "quant8 signed"
    OTHER = "other types"


class Work(NamedTuple):
    """What an operation has to do. ``steps`` are those through a sequence, 1 for all that is not recurrent."""

    kind: Kind
    element: Element
    macs: int
    nbytes: int
    steps: int = 1


ELEMENTS = {
    OperandCode.FLOAT32: Element.FLOAT32,
    OperandCode.TENSOR_FLOAT32: Element.FLOAT32,
    OperandCode.TENSOR_QUANT8_ASYMM: Element.UNSIGNED,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: Element.SIGNED,
}


def find_work(model: Model, call: OperationCall) -> Work:
    """What one operation of a model has to do, as far as its dimensions are known."""
    operands = model.operands
    kind, _, summed = REGISTRY[call.code].facts if call.code in REGISTRY else Facts()  # extensions say nothing
    element = ELEMENTS.get(operands[call.inputs[0]].type.code, Element.OTHER)  # type: ignore[call-overload]
    nbytes = 0
    for index in (*call.inputs, *call.outputs):
        type = operands[index].type
        if not type.is_scalar:
            nbytes += _count_elements(type) * type.dtype.itemsize
    if kind is Kind.RECURRENT:
        return _measure_recurrent(model, call, element, nbytes)
    macs = 0
    if summed is not None:
        dimensions = operands[call.inputs[1]].type.dimensions[summed] or (0,)
        macs = _count_elements(operands[call.outputs[0]].type) * math.prod(d or UNKNOWN_DIMENSION for d in dimensions)
    return Work(kind, element, macs, nbytes)


def _count_elements(type: OperandType) -> int:
    dimensions = type.dimensions
    if not dimensions:
        return UNKNOWN_DIMENSION
    count = math.prod(dimensions)
    return count or (dimensions[0] or 1) * math.prod(dimension or UNKNOWN_DIMENSION for dimension in dimensions[1:])


def _measure_recurrent(model: Model, call: OperationCall, element: Element, nbytes: int) -> Work:
    """Every weight counts once for each row of the input, and each row of a sequence as a step."""
    x, *others = (model.operands[index] for index in call.inputs)
    weights = sum(_count_elements(o.type) for o in others if o.lifetime == Lifetime.CONSTANT and o.type.rank == 2)
    last = x.type.dimensions[-1] if x.type.dimensions else 0
    rows = _count_elements(x.type) // (last or UNKNOWN_DIMENSION)
    return Work(Kind.RECURRENT, element, rows * weights, nbytes, rows if x.type.rank == 3 else 1)
