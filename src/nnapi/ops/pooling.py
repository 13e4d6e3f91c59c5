"""Pooling: one element per window of an image; padding does not count.

AVERAGE_POOL_2D: the mean of each window of an image.
L2_POOL_2D: the root of the mean square of each window of an image.
MAX_POOL_2D: the largest element of each window of an image.
"""

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Arguments, Operation, Overload
from nnapi.model.parameter import Activation, Layout, Levels, Scalar, Tensor, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.convolution_parameters import explicit_padding, implicit_padding, strides
from nnapi.ops.shapes import Padding, Pair, count_windows, count_windows_of_image, need_image, normalize_windows
from nnapi.ops.signature_types import QUANT8, QUANT8_SIGNED, floats, reals
from nnapi.ops.windows import reduce_windows

FILTER = tuple(Scalar(name, OperandCode.INT32, check=positive) for name in ("filter_w", "filter_h"))


def _pool(code: OperationCode, facts: Facts, types: Levels) -> Operation:
    image = Tensor("input", types, rank=4, late_rank=True, image=True)
    tail = (*strides(), *FILTER, Activation(), Layout())
    operation = Operation(
        code,
        facts=facts,
        overloads=(
            Overload("explicit_padding", (image, *explicit_padding(), *tail), _normal),
            Overload("implicit_padding", (image, *implicit_padding(), *tail), _normal),
        ),
        outputs=(Tensor("out", like="input", image=True, quant="input"),),
        zero_sized=True,
    )

    @operation.shape
    def infer_shape(input: OperandType, padding: Padding, stride: Pair, size: Pair) -> Shape:
        n, h, w, depth = need_image("input", input)
        return (n, *count_windows_of_image((h, w), size, stride, padding), depth)

    return operation


def _normal(arguments: Arguments) -> Arguments:
    arguments = dict(arguments)
    size = (arguments.pop("filter_h"), arguments.pop("filter_w"))
    return normalize_windows(arguments, arguments["input"], size) | {"size": size}


AVERAGE_POOL_2D = _pool(OperationCode.AVERAGE_POOL_2D, Facts(Kind.REDUCTION, rounded_first=0.5), reals())
MAX_POOL_2D = _pool(OperationCode.MAX_POOL_2D, Facts(Kind.REDUCTION, Trait.CHOOSES), reals())
L2_POOL_2D = _pool(OperationCode.L2_POOL_2D, Facts(Kind.REDUCTION), floats())


@AVERAGE_POOL_2D.kernel
def average_pool(input: Array, padding: Padding, stride: Pair, size: Pair) -> Array:
    counts = count_cells(input.shape[1:-1], padding, stride, size).astype(input.dtype)
    return _reduce(np.add, input, padding, stride, size, 0) / counts


@AVERAGE_POOL_2D.kernel(kind="raw", types=(QUANT8, QUANT8_SIGNED))
def average_pool_quantized(input: Array, padding: Padding, stride: Pair, size: Pair) -> Array:
    """Return the mean as the nearest quantized value, halves away from 0."""
    sums = sum_windows(input, padding, stride, size)
    counts = count_cells(input.shape[1:3], padding, stride, size)
    nearest = (np.abs(sums) + counts // 2) // counts
    return np.copysign(nearest, sums).astype(input.dtype)


def sum_windows(input: Array, padding: Padding, stride: Pair, size: Pair) -> Array:
    """Return the sum of the quantized values in each window, in int32."""
    return _reduce(np.add, input.astype(np.int32), padding, stride, size, 0)


@L2_POOL_2D.kernel
def l2_pool(input: Array, padding: Padding, stride: Pair, size: Pair) -> Array:
    return np.sqrt(average_pool(np.square(input), padding, stride, size))


@MAX_POOL_2D.kernel(kind="raw", types=(QUANT8, QUANT8_SIGNED))
@MAX_POOL_2D.kernel
def max_pool(input: Array, padding: Padding, stride: Pair, size: Pair) -> Array:
    lowest = -np.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
    return _reduce(np.maximum, input, padding, stride, size, lowest)


def count_cells(image: Sequence[int], padding: Padding, stride: Pair, size: Pair) -> Array:
    """Return the number of image cells in each window, [1, rows, columns, 1] in int32; ``image`` is [height, width].
    Volumes have one dimension more."""
    return _reduce(np.add, np.ones((1, *image, 1), np.int32), padding, stride, size, 0)


def _reduce(ufunc: np.ufunc, x: Array, padding: Padding, stride: Pair, size: Pair, initial: float) -> Array:
    """Combine each window of an NHWC image or volume by ``ufunc``, along one axis after the other."""
    for axis, (pads, step, window) in enumerate(zip(padding, stride, size, strict=True), 1):
        out = count_windows(x.shape[axis], window, step, pads)
        x = reduce_windows(ufunc, x, axis, window, step, pads[0], out, initial)
    return x


@AVERAGE_POOL_2D.proposal
@MAX_POOL_2D.proposal
@L2_POOL_2D.proposal
def propose_pooling(draw: Draw) -> Proposal:
    from nnapi.ops.window_proposals import draw_windows  # only random tests need it

    windows = draw_windows(draw, draw.pick(1, draw.dimension(64)))
    draw.proposal.scalars |= {"filter_h": windows.rows.size, "filter_w": windows.columns.size}
    return draw.proposal
