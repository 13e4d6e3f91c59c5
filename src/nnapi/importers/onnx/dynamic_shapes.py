"""Infer the dimensions of results from inputs with dynamic ones: computed for two sizes, dynamic where those differ."""

from collections.abc import Sequence

from nnapi.codes import OperationCode
from nnapi.errors import NnapiError
from nnapi.importers.graph import Value
from nnapi.importers.onnx.tensors import DYNAMIC
from nnapi.model.call import UNKNOWN, NotYetKnown, normalize
from nnapi.model.operand import OperandType, Shape
from nnapi.model.operation import REGISTRY

SIZES = (720, 1680)
"""Sizes tried for a dynamic dimension; both have many divisors, which reshapes need."""


def shapes_of(code: OperationCode, inputs: Sequence[Value], outputs: Sequence[OperandType]) -> list[Shape]:
    """Return the dimensions of an operation's results, () where they cannot be inferred."""
    tried = [_with_size(code, inputs, outputs, size) for size in SIZES]
    if None in tried:
        return [()] * len(outputs)
    found = []
    for first, second in zip(*(each or [] for each in tried), strict=True):
        same = len(first) == len(second)
        found.append(
            tuple(a if a == b != UNKNOWN else DYNAMIC for a, b in zip(first, second, strict=True)) if same else ()
        )
    return found


def _with_size(
    code: OperationCode, inputs: Sequence[Value], outputs: Sequence[OperandType], size: int
) -> list[Shape] | None:
    operation, count = REGISTRY[code], len(inputs)
    types: list[OperandType | None] = []
    for value in inputs:
        shape = tuple(dimension or size for dimension in value.shape)
        types.append(None if value.omitted else value.type.with_dimensions(shape))
        if not shape and not value.type.is_scalar and not value.omitted:
            return None
    try:
        match = operation.match([value.type for value in inputs], list(outputs), [value.model for value in inputs])
        ends = tuple(range(count)), tuple(range(count, count + len(outputs)))
        call = normalize(operation, match, *ends, tuple(outputs), types.__getitem__, lambda index: inputs[index].array)
    except (NnapiError, NotYetKnown):
        return None
    return [type.dimensions for type in call.stored_results()]
