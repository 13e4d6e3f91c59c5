"""Convolutions; and input, weights and bias of all operators that sum products."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode, PaddingCode
from nnapi.importers.graph import INT32, Value
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import HIGHEST_RANK, TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.tensors import as_real, has_zero_points
from nnapi.model.model import DYNAMIC_RANGE
from nnapi.model.operand import OperandType

PER_CHANNEL = OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL
READ_UINT8 = ("CONV_2D", "FULLY_CONNECTED")
"""Operators on floats that may have UINT8 weights."""
PADDING = {0: PaddingCode.PADDING_SAME, 1: PaddingCode.PADDING_VALID}


@rule("CONV_2D")
def conv_2d(node: TfliteNode) -> None:
    o = node.options
    x, filter, bias = read_operands(node, channel=0)
    groups = x.shape[3] // filter.shape[3] if filter.shape[3] and x.shape[3] else 1
    window, act = padding_and_strides(node), node.activation(o.activation)
    if groups > 1:
        dilated = (o.dilation_w, o.dilation_h) != (1, 1)
        expressible(not dilated, "NNAPI's GROUPED_CONV_2D has no dilation")
        node.emit(OperationCode.GROUPED_CONV_2D, x, filter, bias, *window, node.i32(groups), act, node.flag(False))
    else:
        node.emit(OperationCode.CONV_2D, x, filter, bias, *window, act, *layout_and_dilations(node))


@rule("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(node: TfliteNode) -> None:
    x, filter, bias = read_operands(node, channel=3)
    multiplier = node.i32(filter.shape[3] // x.shape[3] if x.shape[3] else node.options.multiplier)
    window, act = padding_and_strides(node), node.activation(node.options.activation)
    node.emit(OperationCode.DEPTHWISE_CONV_2D, x, filter, bias, *window, multiplier, act, *layout_and_dilations(node))


@rule("TRANSPOSE_CONV")
def transpose_conv(node: TfliteNode) -> None:
    x, filter = read_weights(node, 2, 1)
    expressible(filter.rank == 4, "its filter is not of rank 4")
    bias = bias_of(node, 3, x, filter, filter.shape[0])
    scheme, *strides = padding_and_strides(node)
    last = (*strides, node.activation(node.options.activation), node.flag(False))
    tails = _find_tails(node, x, filter)
    if any(tails):
        pads = [node.i32(cells) for tail in reversed(tails) for cells in (0, -tail)]
        node.emit(OperationCode.TRANSPOSE_CONV_2D, x, filter, bias, *pads, *last)
    else:
        node.emit(OperationCode.TRANSPOSE_CONV_2D, x, filter, bias, node.input(0), scheme, *last)


def _find_tails(node: TfliteNode, x: Value, filter: Value) -> list[int]:
    """Return how many rows and columns of a VALID result only the bias fills. NNAPI's VALID has none."""
    wanted, image, o = node.input(0), x.shape[1:3], node.options
    is_same = PADDING[o.padding] == PaddingCode.PADDING_SAME
    if is_same and (wanted.array is None or 0 in image):
        return [0, 0]
    expressible(0 not in image, f"{x.name} has dynamic dimensions {list(x.shape)}")
    tails = []
    for axis, stride in ((1, o.stride_h), (2, o.stride_w)):
        given, size, out = x.shape[axis], filter.shape[axis], int(wanted.constant[axis])
        fits = given == (-(-out // stride) if is_same else (out + stride - size) // stride)
        expressible(fits, f"its output shape {wanted.constant.tolist()} does not fit the input {list(x.shape)}")
        tails.append(0 if is_same else out - (given - 1) * stride - size)
    return tails


@rule("CUSTOM:Convolution2DTransposeBias")
def transpose_conv_with_bias(node: TfliteNode) -> None:
    """Lower MediaPipe's Convolution2DTransposeBias. Its parameters are NNAPI's padding code, then the strides."""
    parameters = node.operator.custom_options
    expressible(len(parameters) >= 12, f"its parameters take {len(parameters)} bytes, must be at least 12")
    scheme, across, down = np.frombuffer(parameters, "<i4", 3).tolist()
    expressible(scheme in PADDING.values(), f"its padding scheme is {scheme}, must be 1 (SAME) or 2 (VALID)")
    x, filter, bias = read_operands(node, channel=0)
    batches, height, width, _ = node.static_shape_of(x)
    units, tall, wide, _ = node.static_shape_of(filter)
    if scheme == PaddingCode.PADDING_SAME:
        shape = node.graph.ints([batches, height * down, width * across, units])
        tail = (*map(node.i32, (scheme, across, down, 0)), node.flag(False))
        node.emit(OperationCode.TRANSPOSE_CONV_2D, x, filter, bias, shape, *tail)
    else:  # at least one stride per row and column of the input; the bias fills what no filter reaches
        behind = min(wide - across, 0), min(tall - down, 0)
        tail = (*map(node.i32, (0, behind[0], 0, behind[1], across, down, 0)), node.flag(False))
        node.emit(OperationCode.TRANSPOSE_CONV_2D, x, filter, bias, *tail)


def read_operands(node: TfliteNode, channel: int) -> tuple[Value, Value, Value]:
    """Return input, filter and bias of a convolution; ``channel`` is the axis of the filter's channels."""
    x, filter = read_weights(node, 0, 1)
    expressible(x.rank == 4 and filter.rank == 4, "its input and filter are not of rank 4")
    return x, filter, bias_of(node, 2, x, filter, filter.shape[channel])


def read_weights(node: TfliteNode, i: int, j: int) -> tuple[Value, Value]:
    """Return input ``i`` and weights ``j``; quantized weights of a float input are dequantized.

    Beside a float input, LiteRT ignores zero points per channel. Its integer operators refuse them.
    """
    x = node.input(i)
    weights = node.weights(j) if x.is_float and has_zero_points(node.tensor(j)) else node.input(j)
    if not (x.is_float and weights.is_quantized):
        return x, weights
    is_read = node.tensor(j).type != "UINT8" or node.kind in READ_UINT8
    expressible(is_read, f"LiteRT computes no {node.kind} of floats with UINT8 weights")
    weights = node.weights(j)
    kept = keep_weights(node, weights)
    if kept is not None:
        return x, kept
    node.note("8-bit weights of float operations are dequantized; TFLite quantizes the input as well")
    return x, node.graph.real(weights)


def keep_weights(node: TfliteNode, weights: Value) -> Value | None:
    """Return weights dequantized by an operation at run time; None if the import does not keep weights or cannot."""
    is_possible = weights.array is not None and weights.rank <= HIGHEST_RANK and weights.type.dtype.itemsize == 1
    if not (node.scope.keeps_weights and is_possible):
        return None
    node.note(DYNAMIC_RANGE)
    return node.graph.real_at_run(weights)


def bias_of(node: TfliteNode, i: int, x: Value, weights: Value, channels: int) -> Value:
    """Return bias ``i``, by default zeros; the scale of a quantized bias is that of input times weights."""
    is_quantized = x.is_quantized
    scale = 0.0 if weights.type.channel or not is_quantized else x.type.scale * weights.type.scale
    if not node.has(i):
        type = OperandType(INT32 if is_quantized else x.type.code, (channels,), scale)
        return node.graph.full(type, name=f"{node.output.name}:bias")
    bias = node.input(i)
    if bias.rank > 1 and bias.array is not None and bias.array.size == channels:  # TFLite ignores its rank
        bias = with_type(bias, bias.type.with_dimensions((channels,)))
    if not is_quantized:
        return real_bias(node, i, bias) if x.is_float and bias.type.code == INT32 else bias
    tensor = node.tensor(i)
    if len(tensor.scales) > 1 and tensor.axis >= max(len(tensor.shape), 1):
        node.note("the scales of a bias follow from input and weights: those along an axis that it lacks are ignored")
    expressible(bias.array is not None, "its bias is computed; NNAPI's quantized operation needs a constant bias")
    return with_type(bias, OperandType(bias.type.code, bias.shape, scale))


def with_type(value: Value, type: OperandType) -> Value:
    """Return a constant with another type that is stored in the same way."""
    return Value(type, value.name, value.constant.reshape(type.dimensions), value.in_file)


def real_bias(node: TfliteNode, i: int, bias: Value) -> Value:
    expressible(bias.array is not None and node.tensor(i).scales, "its bias is of integers without a scale")
    return node.graph.constant(as_real(bias.constant, node.tensor(i)).astype(np.float32), name=bias.name)


def padding_and_strides(node: TfliteNode) -> tuple[Value, Value, Value]:
    """Return NNAPI's padding code, then the strides."""
    o = node.options
    expressible(o.padding in PADDING, f"its padding scheme is {o.padding}, must be 0 (SAME) or 1 (VALID)")
    return node.i32(PADDING[o.padding]), node.i32(o.stride_w), node.i32(o.stride_h)


def layout_and_dilations(node: TfliteNode) -> tuple[Value, ...]:
    """Return layout flag and dilations; an empty tuple if the dilations are 1."""
    across, down = node.options.dilation_w, node.options.dilation_h
    return () if (across, down) == (1, 1) else (node.flag(False), node.i32(across), node.i32(down))
