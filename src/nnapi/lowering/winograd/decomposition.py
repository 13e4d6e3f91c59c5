"""Decompose CONV_2D into convolutions of transformed images, which need fewer multiplications.

Each dimension is transformed on its own: depthwise convolutions transform the image, one convolution follows for each
product, and sums of these are interleaved. For both dimensions, the convolutions are decomposed in turn. Quantized
values become integers in float32, and the sums quantized values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnapi.codes import FuseCode, OperationCode
from nnapi.lowering.decomposition_builder import FLOAT32, Decomposition
from nnapi.lowering.decompositions.convolution import convolve
from nnapi.lowering.winograd.integers import BYTES, find_multipliers, read_integers
from nnapi.lowering.winograd.transforms import MINUS_ONE, ONE, Transform, Transforms, find_transforms, transform_filter
from nnapi.model.builder import Tensor
from nnapi.model.call import Call
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.ops.shapes import Padding, Pair

NONE = FuseCode.FUSED_NONE


def decompose(
    call: Call, types: Mapping[int, OperandType | None], values: Mapping[int, Array], tile: Pair
) -> Decomposition:
    """Return the decomposition of a layer (:func:`nnapi.lowering.tile_choice.list_layers`)."""
    b = Decomposition(call, types, values)
    given = b.arguments()
    filter = values[call.operands["filter"][0]]
    transforms = find_transforms(tile, filter.shape[1:3])
    x, bias, activation = given["input"], given["bias"], call.activation
    if is_quantized := x.type.code in BYTES:
        integers = read_integers(call, types, values)
        filter, bias, activation = integers.filter(), b.constant(integers.bias.astype(np.float32)), NONE
        x = b.dequantize(_rescale(b, x, x.type.replace(scale=1.0)), out=OperandType(FLOAT32, x.shape))
    filters = transform_filter(filter, transforms)
    padding, dilation = given["padding"], given["dilation"]
    if dilation == (1, 1):
        made = _filter(b, x, filters, bias, padding, transforms, activation)
    else:
        phases, padding = _split(b, x, filter.shape[1:3], padding, dilation)
        made = _filter(b, phases, filters, bias, padding, transforms, activation)
        made = _join(b, made, b.call.results[0].dimensions, dilation)
    if is_quantized:
        made = _requantize(b, made, find_multipliers(call, types))
    b.is_clamped = True
    b.complete(made)
    return b


def _requantize(b: Decomposition, sums: Tensor, multipliers: Array) -> Tensor:
    """Quantize integer sums as kernels do: with one rounded multiplication, and one rounding to a stored value."""
    result = b.call.results[0]
    made = b.quantize(sums * b.constant(multipliers), out=result.replace(scale=1.0))
    return _rescale(b, made, result, b.call.activation)


def _rescale(b: Decomposition, x: Tensor, to: OperandType, activation: FuseCode = NONE) -> Tensor:
    """Return a tensor with the same stored values, but with another scale. MUL demands a result's scale above that of
    products, so it multiplies by a little less than 1; stored values are too small for that to matter."""
    scale = np.float32(to.scale) / np.float32(x.type.scale) * np.float32(1 - 2**-20)
    one = b.constant(np.ones(1, x.type.dtype), OperandType(x.type.code, (1,), float(scale)))
    return b.append(OperationCode.MUL, [x, one, activation], [to])[0]


def _split(b: Decomposition, x: Tensor, taps: Pair, padding: Padding, dilation: Pair) -> tuple[Tensor, Padding]:
    """Return the phases of an image as a batch, and the padding of each phase."""
    n, height, width, depth = x.shape
    rows, columns = (-(-size // step) for size, step in zip((height, width), dilation, strict=True))
    beyond = rows * dilation[0] - height, columns * dilation[1] - width
    if any(beyond):
        x = b.pad(x, [[0, 0], *([0, pixels] for pixels in beyond), [0, 0]])
    x = b.reshape(x, (n, rows, dilation[0], columns, dilation[1], depth))
    x = b.reshape(b.transpose(x, (0, 2, 4, 1, 3, 5)), (n * dilation[0] * dilation[1], rows, columns, depth))
    around = []
    ends = zip((height, width), (rows, columns), padding, taps, dilation, strict=True)
    for size, pixels, (before, after), k, step in ends:
        results = -(-(size + before + after - step * (k - 1)) // step)
        around.append((before // step, max(0, results + k - 1 - pixels - before // step)))
    return x, (around[0], around[1])


def _join(b: Decomposition, phases: Tensor, result: Shape, dilation: Pair) -> Tensor:
    """Return the image of these phases, cut to the result's size."""
    _, rows, columns, depth = phases.shape
    x = b.reshape(phases, (result[0], *dilation, rows, columns, depth))
    x = b.reshape(b.transpose(x, (0, 3, 1, 4, 2, 5)), (result[0], rows * dilation[0], columns * dilation[1], depth))
    return b.block(b.block(x, 1, 0, result[1]), 2, 0, result[2])


def _filter(
    b: Decomposition,
    x: Tensor,
    filters: Array,
    bias: Tensor,
    padding: Padding,
    transforms: Transforms,
    activation: FuseCode,
) -> Tensor:
    """Filter an image by :func:`transform_filter`'s filters."""
    axis = next((axis for axis in (0, 1) if transforms[axis]), None)
    transform = None if axis is None else transforms[axis]
    units, *taps, _ = filters.shape[2:]
    if axis is None or transform is None:
        shape = [e + sum(pair) - k + 1 for e, pair, k in zip(x.shape[1:3], padding, taps, strict=True)]
        out = x.type.with_dimensions((x.shape[0], *shape, units))
        return convolve(b, x, b.constant(filters[0, 0]), bias, out, padding=padding)
    results = len(transform.output)
    size = x.shape[1 + axis] + sum(padding[axis]) - transform.filter.shape[1] + 1
    tiles = -(-size // results)
    before, after = padding[axis]
    around = before, after + tiles * results - size
    rest, left = _replace(padding, axis, (0, 0)), _replace(transforms, axis, None)
    zeros = b.zeros(units)
    products = [
        _filter(b, _transform(b, x, row, axis, around, results), each, bias if i == ONE else zeros, rest, left, NONE)
        for i, (row, each) in enumerate(
            zip(transform.input, np.split(filters, len(transform.input), axis), strict=True)
        )
    ]
    joined = b.concatenate(_combine(b, products, transform, activation), 2 + axis)
    shape = list(products[0].shape)
    shape[1 + axis] *= results
    return b.block(b.reshape(joined, shape), 1 + axis, 0, size)


def _replace(pair: tuple[Any, Any], axis: int, value: Any) -> Any:
    return (pair[0], value) if axis else (value, pair[1])


def _transform(b: Decomposition, x: Tensor, row: Array, axis: int, padding: Pair, step: int) -> Tensor:
    """Return one element of each transformed tile along an axis. Tiles begin ``step`` pixels apart."""
    depth = x.shape[3]
    taps = row.astype(np.float32).reshape((1, 1, -1, 1) if axis else (1, -1, 1, 1))
    filter = b.constant(np.repeat(taps, depth, 3))
    (left, right), (top, bottom) = (padding, (0, 0)) if axis else ((0, 0), padding)
    steps = (step, 1) if axis else (1, step)
    return b.depthwise_conv_2d(x, filter, b.zeros(depth), left, right, top, bottom, *steps, 1, NONE)


def _combine(b: Decomposition, products: Sequence[Tensor], transform: Transform, activation: FuseCode) -> list[Tensor]:
    """Return the results of each tile. The products at 1 and -1 come in as their sum and their difference."""
    both = products[ONE] + products[MINUS_ONE], products[ONE] - products[MINUS_ONE]
    found = []
    for number, row in enumerate(transform.output):
        terms = [(products[0], row[0]), (both[number % 2], 1.0)]
        terms += zip(products[MINUS_ONE + 1 :], row[MINUS_ONE + 1 :], strict=True)
        (total, _), *others = [(term, factor) for term, factor in terms if factor]
        for term, factor in others:
            scaled = term if abs(factor) == 1 else term * abs(factor)
            is_last = term is others[-1][0]
            total = (b.add if factor > 0 else b.sub)(total, scaled, activation if is_last else NONE)
        found.append(total)
    return found
