"""Element-wise functions.

LOGISTIC: 1 / (1 + exp(-x)) of each element.
RELU: max(x, 0) of each element.
RELU1: each element clamped to -1 to 1.
RELU6: each element clamped to 0 to 6.
TANH: the hyperbolic tangent of each element.
ELU: x above 0, alpha · (exp(x) - 1) below.
HARD_SWISH: x · min(max(x + 3, 0), 6) / 6.
"""

from collections.abc import Callable

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.model.parameter import Levels, Quantization, Ranks, Scalar, Slot, Tensor, upto
from nnapi.ops.shapes import same_shape
from nnapi.ops.types import FLOAT_SCALAR, SIGNED_UNIT, UNIT_INTERVAL, floats, reals


def _function(
    code: OperationCode,
    facts: Facts,
    function: Callable[..., Array],
    types: Levels,
    *scalars: Slot,
    quant: Quantization = None,
    rank: Ranks = None,
    zero_sized: bool = True,
) -> Operation:
    """Declare an operation by a function of ``input`` and the ``scalars``."""
    operation = Operation(
        code,
        facts=facts,
        inputs=(Tensor("input", types, rank=rank), *scalars),
        outputs=(Tensor("out", like="input", quant=quant),),
        zero_sized=zero_sized,
    )
    operation.shape(same_shape)
    operation.kernel(kind="pointwise")(function)
    return operation


def _cut(code: OperationCode, low: float, high: float) -> Operation:
    facts = Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.REQUANTIZES)
    return _function(code, facts, lambda input: np.clip(input, low, high), reals(), quant="input", rank=upto(4))


def _elu(input: Array, alpha: float) -> Array:
    return np.maximum(input, 0) + np.minimum(np.float32(alpha) * np.expm1(input), 0)


CURVED = Facts(Kind.TRANSCENDENTAL, Trait.PAIRS)
ALPHA = Scalar("alpha", like="input", via=FLOAT_SCALAR)

RELU = _cut(OperationCode.RELU, 0, np.inf)
RELU1 = _cut(OperationCode.RELU1, -1, 1)
RELU6 = _cut(OperationCode.RELU6, 0, 6)
TANH = _function(
    OperationCode.TANH, CURVED, lambda input: np.tanh(input), reals(quant8=3), quant=SIGNED_UNIT, rank=upto(4)
)
LOGISTIC = _function(
    OperationCode.LOGISTIC, CURVED, lambda input: 1 / (1 + np.exp(-input)), reals(), quant=UNIT_INTERVAL, rank=upto(4)
)
ELU = _function(OperationCode.ELU, CURVED, _elu, floats(4), ALPHA, zero_sized=False)
HARD_SWISH = _function(
    OperationCode.HARD_SWISH,
    CURVED,
    lambda input: input * (np.clip(input + 3, 0, 6) / 6),  # in this order nothing finite becomes infinite
    reals(4),
)
