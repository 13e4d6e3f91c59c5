"""Moves of StableHLO; its arithmetic stands beside TFLite's own."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import broadcast
from nnapi.importers.movement import concatenate, transpose
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.indexing import Along, write_slice


@rule("STABLEHLO_CONCATENATE")
def stablehlo_concatenate(node: TfliteNode) -> None:
    concatenate(node, node.inputs, node.axis(node.options.dimension, node.input(0).rank), to=node.output)


@rule("STABLEHLO_RESHAPE")
def stablehlo_reshape(node: TfliteNode) -> None:
    node.reshape(node.input(0), node.output.shape, to=node.output)


@rule("STABLEHLO_TRANSPOSE")
def stablehlo_transpose(node: TfliteNode) -> None:
    x, order = node.input(0), list(node.options.permutation)
    expressible(sorted(order) == list(range(x.rank)), f"{order} is not an order of {x.rank} axes")
    transpose(node, x, order, to=node.output)


@rule("STABLEHLO_SLICE")
def stablehlo_slice(node: TfliteNode) -> None:
    o = node.options
    bounds = zip(o.start_indices, o.limit_indices, o.strides, strict=True)
    along = [Along(begin, end, stride, False) for begin, end, stride in bounds]
    write_slice(node, node.input(0), along, [])


@rule("STABLEHLO_BROADCAST_IN_DIM")
def stablehlo_broadcast(node: TfliteNode) -> None:
    x, shape = node.input(0), node.static_shape_of(node.output)
    own = [1] * len(shape)
    for axis, dimension in zip(node.options.broadcast_dimensions, node.static_shape_of(x), strict=False):
        own[node.axis(axis, len(shape))] = dimension
    node.deliver(broadcast(node, node.reshape(x, own), shape))


@rule("STABLEHLO_IOTA")
def stablehlo_iota(node: TfliteNode) -> None:
    out = node.output
    shape, axis = node.static_shape_of(out), node.axis(node.options.iota_dimension, out.rank)
    node.graph.reserve(8 * shape[axis])
    line = np.arange(shape[axis]).astype(out.type.dtype).reshape([-1 if i == axis else 1 for i in range(out.rank)])
    node.deliver(broadcast(node, node.graph.constant(line), shape))


@rule("STABLEHLO_PAD")
def stablehlo_pad(node: TfliteNode) -> None:
    o, x, value = node.options, node.input(0), node.input(1)
    pads = list(zip(o.edge_padding_low, o.edge_padding_high, strict=True))
    cuts = any(cells < 0 for pair in pads for cells in pair)
    expressible(not (any(o.interior_padding) or cuts), "it pads between elements or cuts off")
    expressible(x.is_float, "its type is not float")
    filler = node.real(value.constant.reshape(-1)[0].item(), x)
    node.emit(OperationCode.PAD_V2, x, node.graph.ints(pads), filler)
