"""The index on which an operator of LiteRT failed; LiteRT's message does not tell it."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import Array
from nnapi.operation_codes import COMPOSITE_CODES, CompositeCode
from nnapi.ops.index_checks import BadIndexError

FAILED = re.compile(r"Node number (\d+) \((GATHER|GATHER_ND|SCATTER_ND)\) failed to invoke")
IN_SUBGRAPH = re.compile(r"\((IF|WHILE)\) failed to invoke")
"""The message of a failure in a subgraph, whose operators have numbers of their own."""
PARAMETERS: dict[int, str] = {
    OperationCode.GATHER: "indices",
    OperationCode.EMBEDDING_LOOKUP: "lookups",
    CompositeCode.TAKE: "indices",
    CompositeCode.GATHER_ELEMENTS: "indices",
    CompositeCode.SCATTER_ELEMENTS: "indices",
    CompositeCode.GATHER_ND: "indices",
    CompositeCode.SCATTER_ND: "indices",
}
"""The parameter that holds the indices of an operation that is lowered to operators with indices."""
BY_COORDINATES = (CompositeCode.GATHER_ND, CompositeCode.SCATTER_ND)


def find_bad_index(message: str, native: Any, model: Model, origins: Sequence[int | None]) -> BadIndexError | None:
    """Return the error of the operation behind the operator that failed with ``message``; None for other failures.

    ``native`` is the interpreter, whose tensors still have the operator's indices. ``origins`` has the operation of
    each operator.
    """
    found = FAILED.findall(message) if not IN_SUBGRAPH.search(message) else []
    number, kind = (int(found[-1][0]), found[-1][1]) if found else (0, "")
    origin = origins[number] if found and number < len(origins) else None
    call = next((call for call in model.operations if call.number == origin), None)
    parameter = None if call is None else PARAMETERS.get(call.code)
    if call is None or call.match is None or parameter is None:
        return None
    given = [native.tensor(native, int(tensor)) for tensor in native.NodeInputs(number)]
    indices = given[0 if kind == "SCATTER_ND" else 1].copy()
    if not indices.size:
        return None
    if kind == "GATHER":
        limit = given[0].shape[_find_axis(model, call, given[0].ndim)]
        column = _find_column(model, call, given[0]) if call.code in BY_COORDINATES else None
    else:
        sizes = given[2] if kind == "SCATTER_ND" else given[0].shape
        outside = ((indices < 0) | (indices >= sizes[: indices.shape[-1]])).any(tuple(range(indices.ndim - 1)))
        column = int(outside.argmax())
        limit, column, indices = int(sizes[column]), column if indices.shape[-1] > 1 else None, indices[..., column]
    operand = model.operands[call.inputs[call.match.inputs[parameter][0]]]
    return _describe(model, call, parameter, indices, limit, column).of(operand.name).at(str(call))


def _find_axis(model: Model, call: OperationCall, rank: int) -> int:
    """Return the axis of a GATHER. Of a composite, it looks products up, or gathers from each line."""
    if call.code in (OperationCode.GATHER, CompositeCode.TAKE):
        return _read(model, call, "axis")
    return rank - 1 if call.code == CompositeCode.GATHER_ELEMENTS else 0


def _find_column(model: Model, call: OperationCall, products: Array) -> int | None:
    """Return the coordinate whose products with its stride were looked up; None if there is only one."""
    first = _read(model, call, "batch_dims") if call.code == CompositeCode.GATHER_ND else 0
    assert call.match is not None
    (indices,) = call.match.inputs["indices"]
    depth = model.operands[call.inputs[indices]].type.dimensions[-1]
    sizes = model.operands[call.inputs[0]].type.dimensions[first : first + depth]
    strides = [math.prod(sizes[k + 1 :]) for k in range(depth)]
    tables = (np.arange(size) * stride for size, stride in zip(sizes, strides, strict=True))
    return next((k for k, table in enumerate(tables) if depth > 1 and np.array_equal(table, products)), None)


def _describe(
    model: Model, call: OperationCall, parameter: str, indices: Array, limit: int, column: int | None
) -> BadIndexError:
    """Return the error of indices; if negative ones count from the end, ``limit`` has been added to those."""
    low, high, least = int(indices.min()), int(indices.max()), 0
    is_from_end = call.code == CompositeCode.TAKE or (call.code in COMPOSITE_CODES and _read(model, call, "from_end"))
    if is_from_end:
        low, least = low - limit if low < 0 else low, -limit
    return BadIndexError(parameter, low, high, limit, least, column=column)


def _read(model: Model, call: OperationCall, name: str) -> int:
    assert call.match is not None
    value = model.operands[call.inputs[call.match.inputs[name][0]]].value
    return int(value.item())
