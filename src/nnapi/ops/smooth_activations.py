"""Smooth functions of each element.

ERF: the error function of each element.
GELU: x · (1 + erf(x / √2)) / 2, or its approximation by tanh.
MISH: x · tanh(softplus(x)).
SOFTPLUS: log(1 + exp(x)), which stays finite.
"""

import math

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.operand import Array
from nnapi.model.parameter import Scalar
from nnapi.operation_codes import CompositeCode
from nnapi.ops.elementwise import CURVED_AND_FOLDED, declare_function
from nnapi.ops.signature_types import floats

ERROR_FUNCTION = (4.51351881, 6.5769906, -0.188809052, -10.2517853, 23.5175648, -25.1055794, 10.6673126)
"""Coefficients of u, u³, u⁵, …: erf(4u) is tanh of the polynomial within 1.5e-7, for u from -1 to 1."""
SCALE = 4.0
"""The argument of erf divided by u, the polynomial's variable."""
CUBIC = 0.044715
"""The factor of x³ in the approximation of GELU."""


def _error_function(input: Array) -> Array:
    u = np.clip(input / np.float32(SCALE), -1, 1)
    square = u * u
    total = np.zeros_like(u)
    for factor in reversed(ERROR_FUNCTION):
        total = total * square + np.float32(factor)
    return np.where(np.abs(u) < 1, np.tanh(u * total), np.sign(u))  # from 4 on, erf is 1 in float32


def _gelu(input: Array, approximate: bool) -> Array:
    if approximate:
        spread = np.tanh(np.float32(math.sqrt(2 / math.pi)) * (input + np.float32(CUBIC) * input * input * input))
    else:
        spread = _error_function(input * np.float32(math.sqrt(0.5)))
    return input * np.float32(0.5) * (spread + 1)


def _softplus(input: Array) -> Array:
    return np.maximum(input, 0) + np.log1p(np.exp(-np.abs(input)))


def _mish(input: Array) -> Array:
    return input * np.tanh(_softplus(input))


ERF = declare_function(CompositeCode.ERF, CURVED_AND_FOLDED, _error_function, floats(3))
GELU = declare_function(
    CompositeCode.GELU, CURVED_AND_FOLDED, _gelu, floats(3), Scalar("approximate", OperandCode.BOOL, since=3)
)
MISH = declare_function(CompositeCode.MISH, CURVED_AND_FOLDED, _mish, floats(3))
SOFTPLUS = declare_function(CompositeCode.SOFTPLUS, CURVED_AND_FOLDED, _softplus, floats(3))
