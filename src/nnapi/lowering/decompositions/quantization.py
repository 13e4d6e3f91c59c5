"""CONVERT by CAST, SELECT and comparisons; QUANTIZE_TO_EVEN by rounding before QUANTIZE."""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.lowering.decomposition_builder import FLOAT32, Decomposition, decomposition
from nnapi.lowering.refusal import require
from nnapi.model.builder import Tensor
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode as Composite

INT32, BOOL8 = OperandCode.TENSOR_INT32, OperandCode.TENSOR_BOOL8
UNSIGNED, SIGNED = OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
MAGIC = 1.5 * 2**23
"""A float32 beside which there are only integers: the sum is rounded, halves to even. It then saturates 8 bits."""


@decomposition(Composite.QUANTIZE_TO_EVEN)
def quantize_to_even(b: Decomposition, input: Tensor) -> Tensor:
    """Round x / scale to integers, by adding and subtracting MAGIC. The quotient is not that by 1 / scale."""
    out = b.call.results[0]
    x = input if input.type.code == FLOAT32 else b.cast(input, out=OperandType(FLOAT32))
    rounded = x / out.scale + MAGIC - MAGIC
    return b.quantize(rounded * out.scale, out=out)


@decomposition(Composite.CONVERT)
def convert(b: Decomposition, input: Tensor) -> Tensor:
    source, out = input.type, b.call.results[0]
    if source.code == out.code:
        return b.cast(input, out=out)
    if source.code == BOOL8:
        ones, zeros = (b.constant(np.full(input.shape, number, out.dtype), out) for number in (1, 0))
        return b.select(input, ones, zeros, out=out)
    require(source.channel is None, "each channel has a scale")
    if out.code == BOOL8:
        zero = b.constant(np.zeros(1, source.dtype), source.with_dimensions((1,)))
        return b.not_equal(input, zero)
    is_float = source.dtype.kind == "f"
    if out.code in (UNSIGNED, SIGNED):
        if is_float and out.code == UNSIGNED:
            return b.cast(input, out=out)
        whole = input if source.code == INT32 else b.cast(_as_numbers(b, input), out=OperandType(INT32))
        bytes = _clamp_to_bytes(b, whole) if is_float else _keep_lowest_bits(b, whole, out)
        return bytes if (out.scale, out.zero_point) == (1.0, 0) else b.cast(bytes, out=out)
    numbers = _as_numbers(b, input)
    return numbers if numbers.type.code == out.code else b.cast(numbers, out=out)


def _as_numbers(b: Decomposition, x: Tensor) -> Tensor:
    """Return the stored values of a signed tensor as float32; CAST supports the other types."""
    if not x.type.is_quantized or x.type.code == UNSIGNED:
        return x
    plain = (
        x if (x.type.scale, x.type.zero_point) == (1.0, 0) else b.cast(x, out=x.type.replace(scale=1.0, zero_point=0))
    )
    return b.dequantize(plain, out=OperandType(FLOAT32, x.shape))


def _clamp_to_bytes(b: Decomposition, whole: Tensor) -> Tensor:
    """Return integers as signed bytes; the numbers beyond saturate."""
    return b.quantize(b.cast(whole, out=OperandType(FLOAT32)), out=OperandType(SIGNED, whole.shape, 1.0, 0))


def _keep_lowest_bits(b: Decomposition, whole: Tensor, out: OperandType) -> Tensor:
    """Return the lowest 8 bits of int32 as plain bytes: a product that wraps around moves them to the top."""
    bits = whole * 2**24
    bits = bits + -(2**31) if out.code == UNSIGNED else bits
    real = b.cast(bits, out=OperandType(FLOAT32)) * 2**-24
    return b.quantize(real + 128 if out.code == UNSIGNED else real, out=OperandType(out.code, whole.shape, 1.0, 0))
