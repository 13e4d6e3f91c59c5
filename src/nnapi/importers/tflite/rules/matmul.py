"""FULLY_CONNECTED and BATCH_MATMUL."""

import math

import numpy as np

from nnapi.codes import OperationCode, PaddingCode
from nnapi.importers.broadcasting import broadcast
from nnapi.importers.graph import Value
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.convolution import bias_of, read_weights, with_type


@rule("FULLY_CONNECTED")
def fully_connected(node: TfliteNode) -> None:
    """Lower FULLY_CONNECTED. NNAPI's result has rank 2 and its weights one scale; for others see :func:`pointwise`."""
    o = node.options
    expressible(o.weights_format == 0, "its weights are shuffled for one kind of processor")
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
