"""Dynamic dimensions in files: a graph lowered with size 1 for each dimension must also hold for other sizes.

Dimensions are dynamic in inputs, and in results of composites whose size depends on the data.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from nnapi.errors import BadDataError
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.model.operand import Array, Shape
from nnapi.operation_codes import COMPOSITE_CODES

OTHER = 2
REST = -1
"""The value by which RESHAPE infers a dimension and SLICE extends to the end."""


class Written(Protocol):
    kind: str
    inputs: list[Any]

    @property
    def options(self) -> Mapping[str, Any]: ...


def is_dynamic(model: Model) -> bool:
    composites = (
        index
        for each in list_nested(model)
        for call in each.operations
        if call.code in COMPOSITE_CODES
        for index in call.outputs
        if not each.operands[index].type.is_known
    )
    return next(composites, None) is not None or not all(model.operands[i].type.is_known for i in model.inputs)


def list_other_shapes(model: Model) -> list[Shape]:
    return [tuple(size or OTHER for size in model.operands[index].type.dimensions) for index in model.inputs]


def generalize(first: Sequence[Written], second: Sequence[Written], format: str) -> None:
    """Replace constants of ``first`` by values that are right for both lowerings; BadDataError if there are none."""
    if len(first) != len(second):
        raise BadDataError(f"it cannot be written as {format}: its operations depend on dynamic dimensions")
    for a, b in zip(first, second, strict=True):
        if a.kind != b.kind or a.options != b.options:
            raise _refusal(a, format)
        for index, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=True)):
            if x is None or x.data is None or x.data is y.data or np.array_equal(x.data, y.data):
                continue
            data = _common(a.kind, index, x.data, y.data)
            if data is None:
                raise _refusal(a, format)
            a.inputs[index] = x.like(data=data)


def _common(kind: str, index: int, ones: Array, others: Array) -> Array | None:
    if ones.shape != others.shape or ones.ndim != 1:
        return None
    differing = ones != others
    is_rest = (kind.upper() == "RESHAPE" and index == 1 and differing.sum() == 1) or (kind == "SLICE" and index == 2)
    return np.where(differing, ones.dtype.type(REST), ones) if is_rest else None


def _refusal(operator: Written, format: str) -> BadDataError:
    return BadDataError(
        f"it cannot be written as {format}: a constant of {operator.kind} depends on dynamic dimensions; load or "
        "build the model with shapes that are known"
    )
