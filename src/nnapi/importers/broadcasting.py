"""Broadcast values, which some operations of NNAPI do not do."""

from collections.abc import Sequence

from nnapi.codes import OperationCode
from nnapi.importers.graph import Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Shape
from nnapi.shapes.array import broadcast_to
from nnapi.shapes.size import drop_ones, is_same


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that all shapes broadcast to; 0 is a dynamic dimension."""
    rank = max(len(shape) for shape in shapes)
    found = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        wide = drop_ones(sizes)
        closed = [size for size in wide if size != 0]
        is_same = all(size == closed[0] for size in closed[1:])
        expressible(is_same, f"shapes {[list(shape) for shape in shapes]} do not stretch to each other")
        found.append(closed[0] if closed else 0 if wide else 1)
    return tuple(found)


def broadcast(emitter: GraphEmitter, value: Value, shape: Shape) -> Value:
    if is_same(value.shape, shape):
        return value
    expressible(0 not in shape, f"{value.name or 'a constant'} is repeated along dynamic dimensions")
    own = (1,) * (len(shape) - value.rank) + emitter.static_shape_of(value)
    type = value.type.with_dimensions(shape)
    if value.array is not None and emitter.graph.allowance.grants(type.nbytes):
        return Value(type, value.name, broadcast_to(value.array.reshape(own), shape))
    counts = [want // have for want, have in zip(shape, own, strict=True)]
    return emitter.apply(OperationCode.TILE, emitter.reshape(value, own), emitter.graph.ints(counts), shape=shape)
