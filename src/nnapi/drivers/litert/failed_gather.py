"""The index on which a GATHER of LiteRT failed; LiteRT's message does not tell it."""

import re
from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode
from nnapi.model.model import Model
from nnapi.ops.index_range import BadIndexError

FAILED = re.compile(r"Node number (\d+) \(GATHER\) failed to invoke")
IN_SUBGRAPH = re.compile(r"\((IF|WHILE)\) failed to invoke")
"""The message of a failure in a subgraph, whose operators have numbers of their own."""
PARAMETERS: dict[int, str] = {OperationCode.GATHER: "indices", OperationCode.EMBEDDING_LOOKUP: "lookups"}
"""The parameter that holds the indices of an operation that is lowered to GATHER."""


def find_bad_index(message: str, native: Any, model: Model, origins: Sequence[int | None]) -> BadIndexError | None:
    """Return the error of the operation behind the GATHER that failed with ``message``; None for other failures.

    ``native`` is the interpreter, whose tensors still have the GATHER's indices. ``origins`` has the operation of each
    operator.
    """
    found = FAILED.findall(message) if not IN_SUBGRAPH.search(message) else []
    origin = origins[int(found[-1])] if found and int(found[-1]) < len(origins) else None
    call = next((call for call in model.operations if call.number == origin), None)
    parameter = None if call is None else PARAMETERS.get(call.code)
    if call is None or call.match is None or parameter is None:
        return None
    values, given = (native.tensor(native, int(tensor)) for tensor in native.NodeInputs(int(found[-1])))
    indices = given.copy()
    operand = model.operands[call.inputs[call.match.inputs[parameter][0]]]
    axis = model.operands[call.inputs[1]].value if parameter == "indices" else 0
    if not indices.size or axis is None:
        return None
    error = BadIndexError(parameter, int(indices.min()), int(indices.max()), values.shape[int(axis)])
    return error.of(operand.name).at(str(call))
