"""ScatterElements and ScatterND."""

import math

from nnapi.importers.graph import Value
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.indexing import flatten_elements, read_coordinates, read_lines, view_coordinates
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.operation_codes import CompositeCode
from nnapi.ops.coordinates import Reduction

REDUCTIONS = {each.name.lower(): each for each in Reduction}


@rule("ScatterElements", "Scatter")
def scatter_elements(node: OnnxNode) -> OnnxTensor:
    own, axis = node.shape(0), node.axis(int(node.attribute("axis", 0)), node.tensor(0).rank)
    if 0 in node.shape(1) and node.tensor(1).array is not None:
        return node.result(node.stored(0), own, elem=node.tensor(0).elem)
    lines = read_lines(node, 1, own, axis)
    if lines is None:
        at, count = flatten_elements(node, 1, own, axis), math.prod(node.static_shape(1))
        data, updates = node.view(node.stored(0), (math.prod(own),)), node.view(node.stored(2), (count,))
        return _scatter_nd(node, data, (at, node.flag(False)), updates)
    shape, along, indices, is_from_end = lines
    data, updates = node.view(node.stored(0), shape), node.stored(2)
    if len(own) > HIGHEST_RANK:
        updates = node.view(updates, indices.shape)
    arguments = data, node.i32(along), indices, updates, _reduction(node), is_from_end
    written = node.apply(CompositeCode.SCATTER_ELEMENTS, *arguments, shape=shape)
    return node.result(written, own, elem=node.tensor(0).elem)


@rule("ScatterND")
def scatter_nd(node: OnnxNode) -> OnnxTensor:
    own, (*outer, depth) = node.shape(0), node.shape(1)
    expressible(0 < depth <= len(own), f"it has {depth} indices for rank {len(own)}")
    count = math.prod(outer)
    shape, at = view_coordinates(own, depth), read_coordinates(node, 1, own[:depth], (count, depth))
    return _scatter_nd(node, node.view(node.stored(0), shape), at, node.view(node.stored(2), (count, *shape[depth:])))


def _scatter_nd(node: OnnxNode, data: Value, at: tuple[Value, Value], updates: Value) -> OnnxTensor:
    """Append SCATTER_ND; ``at`` are the indices and whether they count from the end."""
    arguments = data, at[0], updates, _reduction(node), at[1]
    written = node.apply(CompositeCode.SCATTER_ND, *arguments, shape=data.shape)
    return node.result(written, node.shape(0), elem=node.tensor(0).elem)


def _reduction(node: OnnxNode) -> Value:
    way = str(node.attribute("reduction", "none"))
    expressible(way in REDUCTIONS, f"its reduction is {way}, must be {', '.join(REDUCTIONS)}")
    return node.i32(REDUCTIONS[way])
