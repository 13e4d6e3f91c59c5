"""FULLY_CONNECTED and BATCH_MATMUL."""

import math

import numpy as np

from nnapi.codes import OperationCode, PaddingCode
from nnapi.importers.broadcasting import broadcast
from nnapi.importers.graph import QUANT8, Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.block_weights import Packed
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.convolution import bias_of, read_weights, with_type
from nnapi.model.model import DYNAMIC_RANGE
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode


@rule("FULLY_CONNECTED")
def fully_connected(node: TfliteNode) -> None:
    """Lower FULLY_CONNECTED. NNAPI's result has rank 2 and its weights one scale; for others see :func:`pointwise`."""
    o = node.options
    expressible(o.weights_format == 0, "its weights are shuffled for one kind of processor")
    packed = node.scope.read_packed(node.index(1)) if node.tensor(1).blocks else None
    if packed is not None and node.tensor(0).type == "FLOAT32" and node.input(0).shape[-1:] == node.tensor(1).shape[1:]:
        multiply_by_blocks(node, packed)
        return
    x, weights = read_weights(node, 0, 1)
    if weights.rank != 2:
        raise Refused(f"its weights are of rank {weights.rank}")
    units, depth = node.static_shape_of(weights)
    bias = bias_of(node, 2, x, weights, units)
    act = node.activation(o.activation)
    out = node.output
    batch = math.prod(x.shape) // depth if depth else 0
    shape = (*x.shape[:-1], units) if o.keep_dims else (batch, units)
    if weights.type.channel:
        pointwise(node, x, weights, bias, act, shape)
        return
    if x.rank < 2:
        x = node.reshape(x, (batch, depth))
    if len(shape) == 2:
        node.emit(OperationCode.FULLY_CONNECTED, x, weights, bias, act)
    else:
        flat = node.temporary(out.type.with_dimensions((batch, units)), "flat")
        node.emit(OperationCode.FULLY_CONNECTED, x, weights, bias, act, to=flat)
        node.reshape(flat, shape, to=out)


def multiply_by_blocks(node: TfliteNode, weights: Packed) -> None:
    """Lower FULLY_CONNECTED with a scale for each block of weights, which stay packed."""
    in_float = "weights have a scale per block; TFLite quantizes the input as well, nnapi does not"
    node.note(DYNAMIC_RANGE if node.scope.keeps_weights else in_float)
    x, o, units = node.input(0), node.options, len(weights.scales)
    node.graph.reserve(weights.values.nbytes + weights.scales.nbytes)
    values = node.graph.constant(weights.values, OperandType(QUANT8, weights.values.shape, 1.0, 0))
    bias = node.input(2) if node.has(2) else node.graph.no_value()
    if o.activation:
        node.activate_after(o.activation)
    batch = math.prod(node.static_shape_of(x)[:-1])
    shape = (*x.shape[:-1], units) if o.keep_dims else (batch, units)
    flat = node.temporary(node.output.type.with_dimensions((batch, units)), "flat") if len(shape) != 2 else node.output
    arguments = values, node.graph.constant(weights.scales), node.graph.no_value(QUANT8), bias
    numbers = node.i32(weights.bits), node.i32(weights.block_size)
    rows = node.reshape(x, (batch, x.shape[-1])) if x.rank < 2 else x
    node.emit(CompositeCode.BLOCKWISE_FULLY_CONNECTED, rows, *arguments, *numbers, to=flat)
    if flat is not node.output:
        node.reshape(flat, shape, to=node.output)


def pointwise(node: TfliteNode, x: Value, weights: Value, bias: Value, act: Value, shape: tuple[int, ...]) -> None:
    """Lower FULLY_CONNECTED with one scale per unit to a convolution of 1×1 images."""
    units, depth = weights.shape
    filter = with_type(weights, weights.type.with_dimensions((units, 1, 1, depth)))
    batch = math.prod(x.shape) // depth
    pixels = node.reshape(x, (batch, 1, 1, depth))
    out = node.temporary(node.output.type.with_dimensions((batch, 1, 1, units)), "pixels")
    one = node.i32(1)
    scheme = node.i32(PaddingCode.PADDING_VALID)
    node.emit(OperationCode.CONV_2D, pixels, filter, bias, scheme, one, one, act, to=out)
    node.reshape(out, shape, to=node.output)


@rule("BATCH_MATMUL")
def batch_matmul(node: TfliteNode) -> None:
    """Lower BATCH_MATMUL; NNAPI does not broadcast batches."""
    x, y = node.input(0), node.input(1)
    if x.is_float and y.is_quantized:
        expressible(node.tensor(1).type != "UINT8", "LiteRT computes no BATCH_MATMUL of floats with UINT8 weights")
        y = node.graph.real(node.weights(1))
    if x.shape[:-2] != y.shape[:-2]:
        batches = np.broadcast_shapes(node.static_shape_of(x)[:-2], node.static_shape_of(y)[:-2])
        x, y = (broadcast(node, value, (*batches, *value.shape[-2:])) for value in (x, y))
    node.emit(OperationCode.BATCH_MATMUL, x, y, node.flag(node.options.adj_x), node.flag(node.options.adj_y))
