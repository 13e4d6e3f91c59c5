"""Convert between float and quantized values, and between types.

DEQUANTIZE: the float values of a quantized tensor.
QUANTIZE: the quantized values of a float tensor.
CAST: the elements converted to another type, without their quantization.
QUANTIZE_TO_EVEN: the quantized values of a float tensor, where halves between two are rounded to the even one.
CONVERT: the elements converted to another type, as files cast.

In CONVERT, integers keep their lowest bits; floats are rounded towards zero, and clamped; booleans become 0 or 1, and
all numbers but 0 become true.
"""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Levels, Tensor, upto
from nnapi.model.proposal import propose_equal_shapes
from nnapi.operation_codes import CompositeCode
from nnapi.ops.quantized_values import quantized_range
from nnapi.ops.shapes import same_shape
from nnapi.ops.signature_types import (
    BOOL8,
    FLOAT16,
    FLOAT32,
    INT32,
    PER_CHANNEL,
    QUANT8,
    QUANT8_SIGNED,
    QUANT8_SYMM,
    QUANT16,
    QUANT16_SYMM,
    floats,
)

DEQUANTIZE = Operation(
    OperationCode.DEQUANTIZE,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.RESTATES | Trait.CHOOSES),
    inputs=(Tensor("input", {QUANT8: 1, QUANT8_SYMM: 3, PER_CHANNEL: 3, QUANT8_SIGNED: 4}, rank=upto(4), high=HIGH),),
    outputs=(Tensor("out", floats()),),
    zero_sized=True,
)

QUANTIZE = Operation(
    OperationCode.QUANTIZE,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.RESTATES | Trait.REQUANTIZES | Trait.STEPS),
    inputs=(Tensor("input", floats(3)),),
    outputs=(Tensor("out", {QUANT8: 3, QUANT8_SIGNED: 4}),),
    zero_sized=True,
)

QUANTIZE_TO_EVEN = Operation(
    CompositeCode.QUANTIZE_TO_EVEN,
    facts=QUANTIZE.facts,
    inputs=(Tensor("input", floats(3)),),
    outputs=(Tensor("out", {QUANT8: 3, QUANT8_SIGNED: 4}),),
    zero_sized=True,
)

DEQUANTIZE.shape(same_shape)
QUANTIZE.shape(same_shape)
QUANTIZE_TO_EVEN.shape(same_shape)


@DEQUANTIZE.kernel
def dequantize(input: Array) -> Array:
    return input


@QUANTIZE.kernel(kind="exact")
def quantize(call: Call, input: Array) -> Array:
    quotient = _divide(input, call.results[0])
    return _saturate(np.trunc(quotient + np.copysign(0.5, quotient)), call.results[0])


@QUANTIZE_TO_EVEN.kernel(kind="exact")
def quantize_to_even(call: Call, input: Array) -> Array:
    return _saturate(np.rint(_divide(input, call.results[0])), call.results[0])


def _divide(input: Array, out: OperandType) -> Array:
    quotient: Array = (input.astype(np.float32) / np.float32(out.scale)).astype(np.float64)
    return quotient


def _saturate(rounded: Array, out: OperandType) -> Array:
    low, high = quantized_range(out)
    saturated: Array = np.fmax(np.fmin(rounded + out.zero_point, high), low)  # NaN becomes the highest value
    return saturated.astype(out.dtype)


CONVERTED: Levels = dict.fromkeys((FLOAT16, FLOAT32, INT32, QUANT8), 3)
COPIED: Levels = dict.fromkeys((BOOL8, QUANT16, QUANT16_SYMM, QUANT8_SIGNED, QUANT8_SYMM), 4)

CAST = Operation(
    OperationCode.CAST,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.RESTATES | Trait.CHOOSES | Trait.STEPS),
    inputs=(Tensor("input", {**CONVERTED, **COPIED}),),
    outputs=(
        Tensor(
            "out",
            like="input",
            via={**dict.fromkeys(CONVERTED, CONVERTED), **{code: {code: level} for code, level in COPIED.items()}},
        ),
    ),
    failure=BadDataError,
)


CAST.shape(same_shape)


@CAST.check
def fits_input(input: OperandType, out: OperandType) -> None:
    need(
        not (input.is_known and out.is_known) or input.shape == out.shape,
        f"out has shape {list(out.shape)}, must have that of input, {list(input.shape)}",
        BadDataError,
    )


@CAST.kernel(kind="exact")
def cast(call: Call, input: Array) -> Array:
    dtype = call.results[0].dtype
    if input.dtype == dtype or dtype.kind == "f":
        return input.astype(dtype)
    return _clamp(input, dtype)  # out of range: undefined in C for int32, else saturated


def _clamp(input: Array, dtype: np.dtype[Any]) -> Array:
    """Return the integers of numbers, rounded towards zero; NaN becomes 0."""
    limits = np.iinfo(dtype)
    clamped: Array = np.clip(np.nan_to_num(input.astype(np.float64)), limits.min, limits.max)
    return clamped.astype(dtype)


NUMBERS: Levels = dict.fromkeys((FLOAT16, FLOAT32, INT32, QUANT8, QUANT8_SIGNED, BOOL8), 3)

CONVERT = Operation(
    CompositeCode.CONVERT,
    facts=CAST.facts,
    inputs=(Tensor("input", {**NUMBERS, QUANT8_SYMM: 3, PER_CHANNEL: 3}),),
    outputs=(Tensor("out", NUMBERS),),
)

CONVERT.shape(same_shape)


@CONVERT.kernel(kind="exact")
def convert(call: Call, input: Array) -> Array:
    target = call.results[0]
    if BOOL8 in (target.code, call.arguments["input"].code):
        return (input != 0).astype(target.dtype)
    if input.dtype.kind == "f" and target.dtype.kind != "f":
        return _clamp(input, target.dtype)
    return input.astype(target.dtype)


for _operation in (DEQUANTIZE, QUANTIZE, CAST, QUANTIZE_TO_EVEN, CONVERT):
    _operation.proposal(propose_equal_shapes)
