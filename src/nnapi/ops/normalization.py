"""Normalize elements by their neighborhood.

L2_NORMALIZATION: the tensor divided by its Euclidean norm along an axis.
LOCAL_RESPONSE_NORMALIZATION: x / (bias + alpha · sum of squares within the radius)^beta, along an axis.
INSTANCE_NORMALIZATION: each channel of each image normalized to mean 0 and variance 1, times gamma, plus beta.
"""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import REQUIRED, Layout, Scalar, Tensor, not_negative, upto
from nnapi.ops.shapes import axis_of, same_shape
from nnapi.ops.signature_types import FLOAT_SCALAR, SIGNED_UNIT, floats, reals
from nnapi.ops.windows import reduce_windows

RANKS = {1: (4,), 3: upto(4)}
AXIS = Scalar("axis", OperandCode.INT32, since=3, default=-1)


L2_NORMALIZATION = Operation(
    OperationCode.L2_NORMALIZATION,
    facts=Facts(Kind.REDUCTION),
    inputs=(Tensor("input", reals(1, quant8=3), rank=RANKS), AXIS),
    outputs=(Tensor("out", like="input", quant=SIGNED_UNIT),),
)

LOCAL_RESPONSE_NORMALIZATION = Operation(
    OperationCode.LOCAL_RESPONSE_NORMALIZATION,
    inputs=(
        Tensor("input", floats(), rank=RANKS),
        Scalar("radius", OperandCode.INT32, check=not_negative),
        Scalar("bias", like="input", via=FLOAT_SCALAR),
        Scalar("alpha", like="input", via=FLOAT_SCALAR),
        Scalar("beta", like="input", via=FLOAT_SCALAR),
        AXIS,
    ),
    outputs=(Tensor("out", like="input"),),
)

INSTANCE_NORMALIZATION = Operation(
    OperationCode.INSTANCE_NORMALIZATION,
    inputs=(
        Tensor("input", floats(3), rank=4, late_rank=True, image=True),
        *(Scalar(name, like="input", via=FLOAT_SCALAR, since=3) for name in ("gamma", "beta", "epsilon")),
        Layout(default=REQUIRED),
    ),
    outputs=(Tensor("out", like="input", image=True),),
)


INSTANCE_NORMALIZATION.shape(same_shape)


@L2_NORMALIZATION.shape
@LOCAL_RESPONSE_NORMALIZATION.shape
def infer_shape(input: OperandType, axis: int, **others: float) -> Shape:
    axis_of(axis, input.rank)
    return input.shape


@L2_NORMALIZATION.kernel
def l2_normalization(input: Array, axis: int) -> Array:
    length = np.sqrt(np.square(input).sum(axis, keepdims=True))
    return input / np.maximum(length, np.float32(1e-6))  # a slice of zeros stays zero


@LOCAL_RESPONSE_NORMALIZATION.kernel
def local_response_normalization(input: Array, radius: int, bias: float, alpha: float, beta: float, axis: int) -> Array:
    dimension = input.shape[axis]
    squares = reduce_windows(np.add, np.square(input), axis, 2 * radius + 1, 1, radius, dimension, 0)
    return input * (np.float32(bias) + np.float32(alpha) * squares) ** np.float32(-beta)


@INSTANCE_NORMALIZATION.kernel
def instance_normalization(input: Array, gamma: float, beta: float, epsilon: float) -> Array:
    centered = input - input.mean((1, 2), keepdims=True)
    variance = np.square(centered).mean((1, 2), keepdims=True)
    return centered * (np.float32(gamma) / np.sqrt(variance + np.float32(epsilon))) + np.float32(beta)
