"""Reductions along axes.

MEAN: the mean along axes.
REDUCE_ALL: whether all elements along axes are true.
REDUCE_ANY: whether any element along axes is true.
REDUCE_MAX: the largest element along axes.
REDUCE_MIN: the smallest element along axes.
REDUCE_PROD: the product along axes.
REDUCE_SUM: the sum along axes.
MEAN_V2: the mean along axes; a quantized result has its own scale and zero point, and is rounded to nearest.
REDUCE_SUM_V2: the sum along axes; a quantized result has its own scale and zero point.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.facts import EXPONENTS, Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Levels, Quantization, Scalar, Tensor, Unless, Values, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import Code, CompositeCode
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import BOOL8, QUANT8, QUANT8_SIGNED, floats, reals

MEANS = (OperationCode.MEAN, CompositeCode.MEAN_V2)


def _reduction(
    code: Code,
    facts: Facts,
    function: Callable[..., Any],
    types: Levels,
    *,
    kind: str = "real",
    quant: Quantization = "input",
    **more: Any,
) -> Operation:
    """Declare a reduction by a NumPy function with the arguments ``axis`` and ``keepdims``; axes may repeat."""
    level = min(types.values())
    operation = Operation(
        code,
        facts=facts,
        inputs=(
            Tensor("input", types, rank=upto(4), high=HIGH),
            Values("axes", since=level),
            Scalar("keep_dims", OperandCode.INT32 if code in MEANS else OperandCode.BOOL, since=level),
        ),
        outputs=(Tensor("out", like="input", quant=quant),),
        **more,
    )

    @operation.shape
    def infer_shape(input: OperandType, axes: Array, keep_dims: int) -> Shape:
        drop = reduced_axes(input.rank, axes)
        if keep_dims > 0:
            return tuple(1 if axis in drop else dimension for axis, dimension in enumerate(input.shape))
        return tuple(dimension for axis, dimension in enumerate(input.shape) if axis not in drop) or (1,)

    operation.kernel(kind=kind)(_along_axes(function))
    return operation


def _along_axes(function: Callable[..., Any]) -> Callable[..., Array]:
    def reduce(input: Array, axes: Array, keep_dims: int) -> Array:
        out = function(input, axis=reduced_axes(input.ndim, axes), keepdims=keep_dims > 0)
        return out.reshape(out.shape or (1,))

    return reduce


def reduced_axes(rank: int, axes: Array) -> tuple[int, ...]:
    return tuple(sorted({axis_of(int(axis), rank, "axes") for axis in axes}))


def _mean(input: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return the mean; NaN without elements."""
    if input.size:
        return np.mean(input, axis, keepdims=keepdims)
    return np.full_like(input.sum(axis, keepdims=keepdims), np.nan)


def _extreme(function: Callable[..., Array], sign: int, input: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return the largest or smallest element; without elements, the value that leaves all others as they are."""
    if input.size:
        return function(input, axis, keepdims=keepdims)
    limits = np.iinfo(input.dtype) if input.dtype.kind in "iu" else None
    least = -sign * np.inf if limits is None else limits.min if sign > 0 else limits.max
    return function(input, axis, keepdims=keepdims, initial=least)


def _mean_quantized(input: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return the mean rounded down, as in the conformance examples."""
    count = math.prod(input.shape[i] for i in axis)
    means = (input.sum(axis, np.int64, keepdims=True) // count).astype(input.dtype)
    return means if keepdims else means.squeeze(axis)


CHOOSING = Facts(Kind.REDUCTION, Trait.CHOOSES)

MEAN = _reduction(OperationCode.MEAN, Facts(Kind.REDUCTION, rounded_first=1.0), _mean, reals(2), failure=BadDataError)
MEAN.kernel(kind="raw", types=(QUANT8, QUANT8_SIGNED))(_along_axes(_mean_quantized))
REDUCE_ALL = _reduction(OperationCode.REDUCE_ALL, CHOOSING, np.all, {BOOL8: 3})
REDUCE_ANY = _reduction(OperationCode.REDUCE_ANY, CHOOSING, np.any, {BOOL8: 3})
EXTREME = Facts(Kind.REDUCTION, Trait.FOLDS | Trait.CHOOSES)
REDUCE_MAX = _reduction(OperationCode.REDUCE_MAX, EXTREME, partial(_extreme, np.max, 1), reals(3), kind="raw")
REDUCE_MIN = _reduction(OperationCode.REDUCE_MIN, EXTREME, partial(_extreme, np.min, -1), reals(3), kind="raw")
REDUCE_PROD = _reduction(OperationCode.REDUCE_PROD, Facts(Kind.REDUCTION, Trait.FOLDS), np.prod, floats(3))
REDUCE_SUM = _reduction(OperationCode.REDUCE_SUM, Facts(Kind.REDUCTION, Trait.FOLDS), np.sum, floats(3))
MEAN_V2 = _reduction(CompositeCode.MEAN_V2, Facts(Kind.REDUCTION), _mean, reals(3), quant=Unless("input"))
REDUCE_SUM_V2 = _reduction(CompositeCode.REDUCE_SUM_V2, Facts(Kind.REDUCTION), np.sum, reals(3), quant=Unless("input"))


@REDUCE_ALL.proposal
@REDUCE_ANY.proposal
@REDUCE_MAX.proposal
@REDUCE_MIN.proposal
@REDUCE_PROD.proposal
@REDUCE_SUM.proposal
@MEAN.proposal
@MEAN_V2.proposal
@REDUCE_SUM_V2.proposal
def propose_reduction(draw: Draw) -> Proposal:
    shape = draw.shape()
    axes = draw.rng.permutation(len(shape))[: 1 + draw.upto(len(shape) - 1)]
    signed = [axis - len(shape) if draw.chance(0.3) else axis for axis in axes.tolist()]
    return Proposal({"input": shape}, {"keep_dims": draw.upto(1)}, {"axes": signed})


@REDUCE_PROD.loss
def lose_by_products(inputs: Sequence[Any], outputs: Sequence[Any], precision: str) -> list[Array]:
    return [by_products(inputs[0], inputs[1], outputs[0], EXPONENTS[precision])]


def by_products(factors: Array, axes: Array, result: Array, exponents: float) -> Array:
    """Return the loss: infinite where the factors above 1 alone, or below 1 alone, exceed the exponents."""
    rank = factors.ndim
    along = tuple({int(axis) % rank for axis in np.asarray(axes).reshape(-1)})
    with np.errstate(all="ignore"):
        powers = np.where(factors == 0, 0.0, np.log2(np.abs(factors.astype(np.float64))))
    up, down = (np.where(sign * powers > 0, sign * powers, 0).sum(along) for sign in (1, -1))
    return np.where((up > exponents) | (down > exponents), np.inf, 0.0).reshape(result.shape)
