"""PACK: tensors joined along a new axis."""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Several, Tensor, not_negative
from nnapi.ops.quantization import same_quantization
from nnapi.ops.types import numbers

PACK = Operation(
    OperationCode.PACK,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Scalar("axis", OperandCode.INT32, since=6, check=not_negative),
        Several(Tensor("inputs", numbers(6, int32=6))),
    ),
    outputs=(Tensor("out", like="inputs", quant="inputs", since=6),),
)


@PACK.check
def alike(inputs: Sequence[OperandType], out: OperandType) -> None:
    rank = next((type.rank for type in inputs if type.rank), out.rank - 1)
    need(not out.rank or out.rank == rank + 1, f"out has rank {out.rank}, must have rank {rank + 1}", BadDataError)
    for position, type in enumerate(inputs):
        need(
            same_quantization(type, out),
            f"inputs {position} is {type}, must have the scale and zero point of out, {out}",
            BadDataError,
        )
        need(type.rank in (0, rank), f"inputs {position} has rank {type.rank}, must have rank {rank}", BadDataError)


@PACK.shape
def infer_shape(axis: int, inputs: Sequence[OperandType]) -> Shape:
    first = inputs[0].shape
    need(axis <= len(first), f"axis is {axis}, must be in [0, {len(first)}]")
    for position, type in enumerate(inputs):
        need(type.shape == first, f"inputs {position} has shape {list(type.shape)}, must be {list(first)}")
    return (*first[:axis], len(inputs), *first[axis:])


@PACK.kernel(kind="raw")
def pack(axis: int, inputs: Sequence[Array]) -> Array:
    return np.stack(inputs, axis)
