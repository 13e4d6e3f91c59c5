"""HASHTABLE_LOOKUP: the rows of a table at the given keys, and which keys were found."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.ops.types import FLOAT32, INT32, QUANT8

HASHTABLE_LOOKUP = Operation(
    OperationCode.HASHTABLE_LOOKUP,
    facts=Facts(traits=Trait.MOVES),
    inputs=(
        Tensor("lookups", INT32, rank=1, late_rank=True),
        Tensor("keys", INT32, rank=1, late_rank=True),
        Tensor("values", {FLOAT32: 1, INT32: 1, QUANT8: 1}),
    ),
    outputs=(
        Tensor("out", like="values", quant="values"),
        Tensor("hits", QUANT8, quant={QUANT8: (1.0, 0)}),
    ),
    failure=BadDataError,
)


@HASHTABLE_LOOKUP.shape
def infer_shapes(lookups: OperandType, keys: OperandType, values: OperandType) -> list[Shape]:
    need(
        keys.shape[0] == values.shape[0],
        f"keys has {keys.shape[0]} elements, values has {values.shape[0]} rows, must be as many",
    )
    return [(*lookups.shape, *values.shape[1:]), lookups.shape]


@HASHTABLE_LOOKUP.kernel(kind="raw")
def hashtable_lookup(lookups: Array, keys: Array, values: Array) -> list[Array]:
    rows = np.minimum(np.searchsorted(keys, lookups), len(keys) - 1)
    hits = keys[rows] == lookups
    found = hits.reshape(-1, *[1] * (values.ndim - 1))
    # A miss is a row of zero bytes, whatever the zero point.
    return [np.where(found, values[rows], values.dtype.type(0)), hits.view(np.uint8)]
