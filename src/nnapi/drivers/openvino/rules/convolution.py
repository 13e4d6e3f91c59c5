"""Convolutions.

Quantized convolutions are lowered to float ones with FakeQuantize, which the engine recognizes to compute on quantized
values. It requires signed weights without a zero point. So the zero point of unsigned weights is subtracted. If that
leaves the range of signed bytes, they become float32, which is as exact.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino import byte_sums
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.sizes import integers
from nnapi.drivers.openvino.value import Node, Value, constant, decode_exactly, node_of, number
from nnapi.lowering.refusal import require
from nnapi.lowering.windows import explain_too_wide, limit_steps
from nnapi.model.operand import Array, Shape
from nnapi.ops.shapes import Padding, Pair
from nnapi.ops.signature_types import INT32


@lower(Op.CONV_2D, Op.DEPTHWISE_CONV_2D, Op.GROUPED_CONV_2D)
def convolve(
    context: OpenvinoContext,
    input: Value,
    filter: Value,
    bias: Value,
    multiplier: int = 1,
    num_groups: int = 0,
    **window: Any,
) -> Value:
    first, rows, columns, last = shape = filter.type.dimensions
    input, filter, scales = make_exact(context, input, filter, filter.type.size // bias.type.size)
    if context.code == Op.CONV_2D:
        weights = make_weights(filter, shape, (0, 3, 1, 2), (-1, 1, 1, 1), scales is None)
    elif context.code == Op.DEPTHWISE_CONV_2D:
        shape = rows, columns, last // multiplier, multiplier, 1
        is_stored = scales is None and _is_exact(groups=shape[2], inputs=1, outputs=multiplier)
        weights = make_weights(filter, shape, (2, 3, 4, 0, 1), (-1, multiplier, 1, 1, 1), is_stored)
    else:
        shape = num_groups, first // num_groups, rows, columns, last
        is_stored = scales is None and _is_exact(num_groups, inputs=last, outputs=shape[1])
        weights = make_weights(filter, shape, (0, 1, 4, 2, 3), (num_groups, -1, 1, 1, 1), is_stored)
    x, *windows = _windows(context, input, filter, weights, **window)
    compute = op.convolution if context.code == Op.CONV_2D else op.group_convolution
    y = op.add(compute(x, weights, *windows), make_bias(input, filter, bias, (1, bias.type.size, 1, 1)))
    return context.result(rescale(y, scales, (1, -1, 1, 1)), first=True)


def _is_exact(groups: int, inputs: int, outputs: int) -> bool:
    """Return whether the engine's sums with quantized weights are right. On an AMD Zen 4, sums of groups with one input
    channel and several output channels are wrong by up to half of the range."""
    return groups == 1 or inputs > 1 or outputs == 1


@lower(Op.TRANSPOSE_CONV_2D)
def transpose_conv_2d(
    context: OpenvinoContext, input: Value, filter: Value, bias: Value, padding: Padding, stride: Pair
) -> Value:
    """Lower with float32 weights: some of the engine's sums with quantized weights are wrong."""
    input, filter, scales = make_exact(context, input, filter, filter.type.size // bias.type.size)
    weights = make_weights(filter, filter.type.dimensions, (3, 0, 1, 2), (1, -1, 1, 1), is_stored=False)
    require(not explain_too_wide(padding), explain_too_wide(padding))
    missing = [max(0, -after) for _, after in padding]
    require(
        all(dimension < step for dimension, step in zip(missing, stride, strict=True)),
        f"padding {padding} adds {missing} rows and columns that no filter reaches, must be below the stride {stride}",
    )
    begin, end = [before for before, _ in padding], [max(0, after) for _, after in padding]
    dimensions = input.type.dimensions[1:3]  # with one row or column, a large stride makes the engine hang
    steps = [step if cells > 1 else more + 1 for step, cells, more in zip(stride, dimensions, missing, strict=True)]
    x = separate_padding(input.real(first=True)) if max(steps) > 1 else input.real(first=True)
    y = op.convolution_backprop_data(x, weights, steps, None, begin, end, [1, 1], None, missing)
    y = rescale(op.add(y, make_bias(input, filter, bias, (1, bias.type.size, 1, 1))), scales, (1, -1, 1, 1))
    return context.clamped_result(y, first=True)  # the engine drops clamps of floats that are sums of quantized values


def _windows(
    context: OpenvinoContext, input: Value, filter: Value, weights: Node, padding: Padding, stride: Pair, dilation: Pair
) -> tuple[Node, list[int], list[int], list[int], list[int]]:
    """Return the image, strides, padding before and after, and dilations for the engine.

    If an axis has one window, its stride becomes 1 and the image ends with it: larger strides are wrong for images of
    one channel. With float weights, the input is not marked as quantized.
    """
    dimensions, size = input.type.dimensions[1:3], filter.type.dimensions[1:3]
    require(not explain_too_wide(padding), explain_too_wide(padding))
    if context.is_quantized:
        starts = np.arange(context.type().dimensions[1]) * stride[0] - padding[0][0]
        rows = starts[:, None] + np.arange(size[0]) * dilation[0]
        is_reached = ((rows >= 0) & (rows < dimensions[0])).any(1).all()
        require(is_reached, "a window lies above or below the image: the engine crashes")
    stride, dilation = limit_steps((dimensions[0], dimensions[1]), (size[0], size[1]), stride, padding, dilation)
    steps, behind, kept = list(stride), [after for _, after in padding], list(dimensions)
    for axis, (before, _) in enumerate(padding):
        if context.type().dimensions[1 + axis] == 1 and stride[axis] > 1:
            beyond = (size[axis] - 1) * dilation[axis] + 1 - before - dimensions[axis]
            steps[axis], behind[axis], kept[axis] = 1, max(0, beyond), dimensions[axis] + min(0, beyond)
    are_numbers = weights.get_type_name() == "Constant"
    x = input.real_unrounded(first=True) if are_numbers else input.real(first=True)
    strides = [1, 1]
    if _is_padding_wide(x, padding, size, dilation):
        x = separate_padding(x)
    if size == (1, 1) and _loses_strides(context, x, weights):
        strides, steps = steps, strides
    if kept != list(dimensions) or strides != [1, 1]:
        if input.kind == "stored" and input.type.scale == 1:
            x = input.exact(first=True)  # the engine drops the scale 1, but cannot compile the slice without a scale
        x = op.slice(x, integers([0, 0]), integers(kept), integers(strides), integers([2, 3]))
    return x, steps, [before for before, _ in padding], behind, list(dilation)


def _is_padding_wide(x: Node, padding: Padding, size: Shape, dilation: Pair) -> bool:
    """Return whether a window may lie in the padding of a PAD before, as windows of one pixel do."""
    node = node_of(x)
    if node.get_type_name() != "Pad":
        return False
    lengths = [(cells - 1) * step + 1 for cells, step in zip(size, dilation, strict=True)]
    sides = [node.input_value(side).get_node() for side in (1, 2)]
    if size == (1, 1) or any(side.get_type_name() != "Constant" for side in sides):
        return True
    begin, end = (side.data[2:] for side in sides)
    return any(
        first + before >= length or last + after >= length
        for first, last, (before, after), length in zip(begin, end, padding, lengths, strict=True)
    )


def separate_padding(x: Node) -> Node:
    """Keep PAD out of a convolution, with which the engine would fuse it and compute other dimensions, or crash.

    In a transposed convolution it ignores that a padded column moves the result by a stride. From one with 1×1 windows
    it moves strides, its own or those of later ones, to operators before, and ignores the padding.
    """
    return op.maximum(x, x) if node_of(x).get_type_name() == "Pad" else x


def _loses_strides(context: OpenvinoContext, x: Node, weights: Node) -> bool:
    """Return whether the engine may lose strides of 1×1 windows. It moves them to operators before, and turns products
    with floats and quantized weights into matrix products."""
    is_product = weights.get_type_name() == "Multiply" and node_of(x).get_type_name() != "FakeQuantize"
    return is_product or (context.is_quantized and not byte_sums.are_byte_sums_exact())


def make_weights(filter: Value, shape: Shape, order: Sequence[int], channels: Shape, is_stored: bool = True) -> Node:
    """Return a filter, reshaped and transposed, as floats; with ``is_stored``, as quantized values times scales.

    ``channels`` is the shape of the scales for broadcasting: the size along the axes of output channels, else 1.
    Computed filters are dequantized exactly: the engine fails to compile some that it finds to be quantized.
    """
    if filter.array is None:
        is_exact = not filter.type.is_quantized or filter.kind == "real"
        node = op.reshape(filter.real() if is_exact else filter.exact(), integers(shape), False)
        return node if sorted(order) == list(order) else op.transpose(node, integers(order))
    type = filter.type
    quantized = filter.array.reshape(shape).transpose(order)
    if not type.is_quantized:
        key = tuple(shape), tuple(order)
        if key not in filter.weights:
            filter.weights[key] = constant(quantized.astype(np.float32, copy=False))
        return filter.weights[key]
    scale = np.array(type.channel.scales if type.channel else type.scale, np.float32)
    scale = scale.reshape(channels if type.channel else [1] * len(order))
    if not is_stored:
        return constant((quantized.astype(np.float32) - np.float32(type.zero_point)) * scale)
    if quantized.dtype == np.uint8 or type.zero_point:
        if int(quantized.max()) - type.zero_point > 127 or int(quantized.min()) - type.zero_point < -128:
            return constant((quantized.astype(np.float32) - np.float32(type.zero_point)) * scale)
        quantized = quantized - quantized.dtype.type(type.zero_point)  # may wrap around to a signed value
    return op.multiply(op.convert(constant(quantized.view(np.int8)), "f32"), constant(scale))


def make_bias(input: Value, filter: Value, bias: Value, shape: Shape) -> Node:
    """Return the bias as floats. A quantized bias is in units of (input scale · filter scale)."""
    if bias.type.code != INT32:
        if bias.array is not None:
            return constant(bias.array.astype(np.float32, copy=False).reshape(shape))
        return op.reshape(bias.real(), integers(shape), False)
    scales = np.array(filter.type.channel.scales if filter.type.channel else filter.type.scale, np.float64)
    unit = scales * input.type.scale
    if bias.array is not None:
        return constant((bias.array * unit).astype(np.float32).reshape(shape))
    real = op.reshape(op.convert(bias.node("stored"), "f32"), integers(shape), False)
    unit = unit.astype(np.float32)
    return op.multiply(real, constant(unit.reshape(shape)) if unit.ndim else number(float(unit)))


def make_exact(context: OpenvinoContext, input: Value, filter: Value, terms: int) -> tuple[Value, Value, Array | None]:
    """Return the input and filter of sums of ``terms`` products, and the scales of these, or None if applied before.

    If the result has finer steps than the products, float32 is too coarse for scaled products that cancel each other.
    Their input and filter get scale 1: integers, whose sums are exact up to 2**24.
    """
    if not input.type.is_quantized:
        return input, filter, None
    scales = np.array(filter.type.channel.scales if filter.type.channel else [filter.type.scale]) * input.type.scale
    step = context.type().scale / scales.max()
    if step >= 1 or terms * 2.0**15 <= 2.0**22 * step:
        return input, filter, None
    return _without_scale(input), _without_scale(filter), scales


def _without_scale(value: Value) -> Value:
    """Return a quantized value with scale 1."""
    type, first = value.type.replace(scale=1.0), value.is_channels_first
    if value.type.channel:
        ones = (1.0,) * len(value.type.channel.scales)
        type = value.type.replace(channel=value.type.channel._replace(scales=ones))
    if value.array is not None:
        return Value(type, value.name, value.array)
    return Value.of(decode_exactly(value.node("stored", first), type), type, "real", first=first, name=value.name)


def rescale(sums: Node, scales: Array | None, shape: Shape) -> Node:
    """Return sums times the scales of :func:`make_exact`; ``shape`` is that of the scales for broadcasting.

    The maximum keeps the engine from multiplying the weights and the bias by the scales.
    """
    if scales is None:
        return sums
    return op.multiply(op.maximum(sums, sums), constant(scales.astype(np.float32).reshape(shape)))
