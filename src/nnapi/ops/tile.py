"""TILE: the tensor repeated along each axis."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor, Values
from nnapi.ops.types import numbers

TILE = Operation(
    OperationCode.TILE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", numbers(3, int32=3)), Values("multiples", since=3)),
    outputs=(Tensor("out", like="input", quant="input"),),
    failure=BadDataError,
)


@TILE.shape
def infer_shape(input: OperandType, multiples: Array) -> Shape:
    need(len(multiples) == input.rank, f"multiples holds {len(multiples)} values, must hold {input.rank}")
    need(bool((multiples >= 0).all()), f"multiples {multiples.tolist()} must not be negative")
    return tuple(dimension * int(times) for dimension, times in zip(input.shape, multiples, strict=True))


@TILE.kernel(kind="raw")
def tile(input: Array, multiples: Array) -> Array:
    return np.tile(input, multiples)
