"""EMBEDDING_LOOKUP: the rows of a table at the given indices."""

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.ops.types import FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED

EMBEDDING_LOOKUP = Operation(
    OperationCode.EMBEDDING_LOOKUP,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("lookups", INT32, rank=1, late_rank=True),
        Tensor("values", {FLOAT32: 1, FLOAT16: 4, INT32: 3, QUANT8: 3, QUANT8_SIGNED: 4}),
    ),
    outputs=(Tensor("out", like="values", quant="values"),),
    failure=BadDataError,
)


@EMBEDDING_LOOKUP.shape
def infer_shape(lookups: OperandType, values: OperandType) -> Shape:
    need(values.rank >= 2, f"values has rank {values.rank}, must have at least rank 2")
    return (*lookups.shape, *values.shape[1:])


@EMBEDDING_LOOKUP.kernel(kind="raw")
def embedding_lookup(lookups: Array, values: Array) -> Array:
    bad = lookups[(lookups < 0) | (lookups >= len(values))]
    need(not bad.size, f"lookups holds {bad[:1]}, values has rows 0 to {len(values) - 1}")
    return values[lookups]
