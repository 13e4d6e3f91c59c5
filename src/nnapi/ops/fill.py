"""FILL: a tensor of the given shape with one value."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Scalar, Tensor, Values
from nnapi.ops.types import FLOAT16, FLOAT32, INT32

FILLED: dict[int, int | Levels] = {OperandCode.FLOAT32: FLOAT32, OperandCode.FLOAT16: FLOAT16, OperandCode.INT32: INT32}

FILL = Operation(
    OperationCode.FILL,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Values("dims", since=4), Scalar("value", dict.fromkeys(FILLED, 4))),
    outputs=(Tensor("out", like="value", via=FILLED, since=4),),
)


@FILL.shape
def infer_shape(dims: Array, value: float) -> Shape:
    need(bool((dims >= 0).all()), f"dims {dims.tolist()} must not be negative")
    return tuple(dims.tolist())


@FILL.kernel(kind="exact")
def fill(call: Call, dims: Array, value: float) -> Array:
    return np.full(dims, value, call.results[0].dtype)
