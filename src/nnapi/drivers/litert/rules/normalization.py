"""Normalizations that XNNPACK's kernels do not compute exactly."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.drivers.litert.rules.binary import power
from nnapi.formats.tflite.graph import Tensor
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import normalization as canonical

SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: LitertContext, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    """Decompose: in the engine's running sum, rounding errors or NaN of large values spread along the row."""

    def normalize(x: Tensor) -> Tensor:
        reach = min(radius, x.shape[-1] - 1)
        squares = context.combine("MUL", x, x)
        around = context.pad(squares, [*[(0, 0)] * (len(x.shape) - 1), (reach, reach)])
        sums = _in_windows(context, around, 2 * reach + 1)
        sums = context.combine("MUL", sums, context.fill(x, alpha))
        sums = context.combine("ADD", sums, context.fill(x, bias))
        factors = power(context, sums, context.fill(x, -beta), x.like())
        return context.combine("MUL", x, factors)

    require(alpha >= 0, f"alpha is {alpha}: the engine loses precision where sums come near 0")
    require(len(input.shape) <= 4, f"input has rank {len(input.shape)}, the engine takes at most 4")
    return canonical.along_last(context, input, axis, normalize)


def _in_windows(context: LitertContext, x: Tensor, width: int) -> Tensor:
    """Return sums of ``width`` adjacent values along the last axis; each sum is made of two of half the width."""
    if width == 1:
        return x
    half, count = width // 2, x.shape[-1] - width + 1
    halves = _in_windows(context, x, half)
    first, second = (_part(context, halves, begin, count) for begin in (0, half))
    sums = context.combine("ADD", first, second)
    return context.combine("ADD", sums, _part(context, x, width - 1, count)) if width % 2 else sums


def _part(context: LitertContext, x: Tensor, begin: int, count: int) -> Tensor:
    return context.cut(x, [*[0] * (len(x.shape) - 1), begin], (*x.shape[:-1], count))


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: LitertContext, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    require(
        epsilon >= SMALLEST_NORMAL,
        f"epsilon is {epsilon}: the engine divides by 0 where a variance is below {SMALLEST_NORMAL:.2g}",
    )
    return canonical.instance_normalization(context, input, gamma, beta, epsilon)
