"""Picking elements: slices, gathers, the largest ones."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import add, subtract, truth
from nnapi.importers.graph import BOOL8, INT32, Value
from nnapi.importers.movement import transpose
from nnapi.importers.onnx.layout import align, broadcast_shape, read_as_stored, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.movement import block, cut
from nnapi.importers.onnx.tensors import BOOL, INT64, OPEN, Tensor
from nnapi.importers.onnx.terms import select
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType, Shape


@rule("Slice")
def slice_axes(node: Node) -> Tensor:
    tensor = node.tensor(0)
    value, places, is_nhwc = read_as_stored(node, 0)
    shape = list(tensor.dims)
    begin, size = [0] * value.rank, [-1] * value.rank
    picked: dict[int, range] = {}
    for axis, part in _parts(node, tensor.rank).items():
        if (part.start, part.stop, part.step) == (0, None, 1):
            continue
        chosen = range(*part.indices(node.static_size(0, axis)))
        expressible(len(chosen), "its result has no elements")
        shape[axis] = len(chosen)
        expressible(
            tensor.rank <= HIGHEST_RANK or value.shape == tensor.dims, f"it slices a tensor of rank {tensor.rank}"
        )
        if chosen.step == 1:
            begin[places[axis]], size[places[axis]] = chosen.start, len(chosen)
        else:
            picked[places[axis]] = chosen
    if any(each != -1 for each in size):
        value = block(node, value, begin, size)
    for place, chosen in picked.items():
        value = slice_with_step(node, value, place, chosen)
    return node.result(value, tuple(shape), elem=tensor.elem, is_nhwc=is_nhwc)


def _parts(node: Node, rank: int) -> dict[int, slice]:
    starts, ends = node.integers(1, "starts") or [], node.integers(2, "ends") or []
    axes = node.integers(3, "axes") or list(range(len(starts)))
    steps = node.integers(4, "steps") or [1] * len(starts)
    need(len(starts) == len(ends) == len(axes) == len(steps), "its bounds are of different lengths", BadDataError)
    parts = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        need(step, "its step is 0", BadDataError)
        whole = start == 0 and end >= 2**31 - 1 and step == 1
        stop = None if whole or (step < 0 and end < -(2**31)) else end
        parts[node.axis(axis, rank)] = slice(start, stop, step)
    return parts


def slice_with_step(node: Node, value: Value, axis: int, chosen: range) -> Value:
    """Every so many elements along an axis."""
    if value.type.code in (INT32, BOOL8) or value.rank > HIGHEST_RANK:
        node.graph.reserve(4 * len(chosen))
        return node.apply(OperationCode.GATHER, value, node.i32(axis), node.graph.ints(list(chosen)))
    others = sum(1 << i for i in range(value.rank) if i != axis)
    last = others | (1 << axis if chosen.stop < 0 else 0)
    bounds = ([0] * value.rank, [0] * value.rank, [1] * value.rank)
    for bound, number in zip(bounds, (chosen.start, max(chosen.stop, 0), chosen.step), strict=True):
        bound[axis] = number
    masks = map(node.i32, (others, last, 0))
    return node.apply(OperationCode.STRIDED_SLICE, value, *(node.graph.ints(bound) for bound in bounds), *masks)


@rule("Gather")
def gather(node: Node) -> Tensor:
    tensor, indices = node.tensor(0), node.tensor(1)
    axis = node.axis(int(node.attribute("axis", 0)), tensor.rank)
    places = normalize_indices(node, 1, tensor.dims[axis])
    shape = (*tensor.dims[:axis], *indices.dims, *tensor.dims[axis + 1 :])
    if tensor.is_nhwc and indices.rank == 1:
        value, axes, _ = read_as_stored(node, 0)
        picked = node.apply(OperationCode.GATHER, value, node.i32(axes[axis]), places)
        return node.result(picked, shape, elem=tensor.elem, is_nhwc=True)
    value = node.codes(0)
    if max(tensor.rank, len(shape)) > HIGHEST_RANK:
        value, axis = view_around(node, value, node.static_shape(0), axis), 1
        places = node.view(places, (math.prod(node.static_shape(1)),))
    return node.result(node.apply(OperationCode.GATHER, value, node.i32(axis), places), shape, elem=tensor.elem)


def normalize_indices(node: Node, i: int, size: int) -> Value:
    """Input ``i``, indices of which negative ones count from the end, as NNAPI counts."""
    tensor = node.tensor(i)
    if tensor.array is not None:
        array = node.array(i)
        need(not array.size or array.min() >= 0 or size != OPEN, "indices count from an open end", BadDataError)
        need(
            not array.size or (array.min() >= -size and (size == OPEN or array.max() < size)),
            f"an index is outside {size}",
            BadDataError,
        )
        return node.constant((array + (array < 0) * size).astype(np.int32))
    value = node.input(i)
    if size == OPEN or not value.type.is_known:
        node.note("computed indices must not be negative")
        return value
    negative = truth(node, OperationCode.LESS, value, node.like(value, 0))
    return select(node, negative, add(node, value, node.like(value, size)), value, value.shape)


@rule("GatherElements")
def gather_elements(node: Node) -> Tensor:
    """Lower GatherElements: gather from the flattened input; along the axis the index replaces the coordinate."""
    tensor, shape, own = node.tensor(0), node.static_shape(1), node.static_shape(0)
    axis = node.axis(int(node.attribute("axis", 0)), tensor.rank)
    picked = node.apply(
        OperationCode.GATHER,
        node.view(node.codes(0), (math.prod(own),)),
        node.i32(0),
        node.view(flat_places(node, 1, own, axis), (math.prod(shape),)),
    )
    return node.result(picked, shape, elem=tensor.elem)


def flat_places(node: Node, i: int, own: Shape, axis: int) -> Value:
    """Return indices along an axis, input ``i``, as offsets in the flattened tensor."""
    shape = node.static_shape(i)
    strides = [math.prod(own[k + 1 :]) for k in range(len(own))]
    node.graph.reserve(8 * math.prod(shape))
    grid = np.indices(shape, np.int32)
    base = sum(grid[k] * strides[k] for k in range(len(own)) if k != axis)
    along = normalize_indices(node, i, own[axis])
    scaled = node.apply(OperationCode.MUL, along, node.like(along, strides[axis]), node.i32(0))
    return add(node, scaled, node.graph.constant(np.broadcast_to(base, shape).astype(np.int32)))


def flat_coordinates(node: Node, i: int, own: Shape) -> Value:
    """Computed coordinates, the last axis of input ``i``, as indices of a tensor of shape ``own`` laid flat."""
    shape = node.static_shape(i)
    count = math.prod(shape[:-1])
    coordinates = node.view(node.input(i), (count, len(own)))
    sizes, strides = ([*own], [math.prod(own[k + 1 :]) for k in range(len(own))])
    node.note("computed indices must lie within their axes")
    negative = truth(node, OperationCode.LESS, coordinates, node.like(coordinates, 0))
    raised = add(node, coordinates, node.graph.ints([sizes]))
    found = None
    counted = select(node, negative, raised, coordinates, (count, len(own)))
    for column, stride in zip(cut(node, counted, 1, [1] * len(own)), strides, strict=True):
        term = column if stride == 1 else node.apply(OperationCode.MUL, column, node.like(column, stride), node.i32(0))
        found = term if found is None else add(node, found, term)
    assert found is not None
    return node.view(found, (count,))


@rule("GatherND")
def gather_nd(node: Node) -> Tensor:
    """Gather rows at coordinates of the axes laid flat."""
    tensor, own = node.tensor(0), node.static_shape(0)
    batch = int(node.attribute("batch_dims", 0))
    if node.tensor(1).array is None and not batch:
        return _gather_computed(node, own)
    indices = node.array(1)
    depth = indices.shape[-1]
    need(0 < depth <= tensor.rank - batch, f"it has {depth} indices for rank {tensor.rank}", BadDataError)
    span = own[batch : batch + depth]
    flat = np.zeros(indices.shape[:-1], np.int64)
    for k, size in enumerate(span):
        column = indices[..., k] + (indices[..., k] < 0) * size
        need(bool(((column >= 0) & (column < size)).all()), "an index is outside", BadDataError)
        flat = flat * size + column
    batches = math.prod(own[:batch])
    flat = flat.reshape(batches, -1) + np.arange(batches)[:, None] * math.prod(span)
    rows = node.view(node.codes(0), (batches * math.prod(span), math.prod(own[batch + depth :])))
    node.graph.reserve(4 * flat.size)
    picked = node.apply(OperationCode.GATHER, rows, node.i32(0), node.graph.ints(flat.reshape(-1)))
    shape = (*indices.shape[:-1], *own[batch + depth :])
    return node.result(picked, shape, elem=tensor.elem)


def _gather_computed(node: Node, own: Shape) -> Tensor:
    *outer, depth = node.static_shape(1)
    need(0 < depth <= len(own), f"it has {depth} indices for rank {len(own)}", BadDataError)
    rows = node.view(node.codes(0), (math.prod(own[:depth]), math.prod(own[depth:])))
    picked = node.apply(OperationCode.GATHER, rows, node.i32(0), flat_coordinates(node, 1, own[:depth]))
    return node.result(picked, (*outer, *own[depth:]), elem=node.tensor(0).elem)


@rule("ArgMax", "ArgMin")
def arg(node: Node) -> Tensor:
    """The last of equal ones is the first of those reversed."""
    code = OperationCode.ARGMAX if node.kind == "ArgMax" else OperationCode.ARGMIN
    shape = node.shape(0)
    axis = node.axis(int(node.attribute("axis", 0)), len(shape))
    x = node.input(0)
    last = bool(node.attribute("select_last_index", 0))
    if last:
        x = node.apply(OperationCode.REVERSE, x, node.graph.ints([axis]))
    found = node.apply(code, x, node.i32(axis), type=OperandType(INT32))
    if last:
        found = subtract(node, node.like(found, node.static_size(0, axis) - 1), found)
    keep = bool(node.attribute("keepdims", 1))
    return node.result(found, (*shape[:axis], *(1,) * keep, *shape[axis + 1 :]), elem=INT64)


@rule("TopK")
def top_k(node: Node) -> list[Tensor]:
    """The smallest are the largest of what is negated."""
    tensor, shape = node.tensor(0), node.shape(0)
    axis = node.axis(int(node.attribute("axis", -1)), len(shape))
    k = (
        int(node.array(1).reshape(()) if node.array(1).size == 1 else 0)
        if node.since >= 10
        else int(node.attribute("k"))
    )
    expressible(k > 0, f"its k is {k}")
    x = node.input(0)
    largest = bool(node.attribute("largest", 1))
    x = x if largest else node.apply(OperationCode.NEG, x)
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    x = x if order == sorted(order) else transpose(node, x, order)
    types = [x.type.with_dimensions(()), OperandType(INT32)]
    values, places = node.several(OperationCode.TOPK_V2, [x, node.i32(k)], types)
    values = values if largest else node.apply(OperationCode.NEG, values)
    if order != sorted(order):
        back = np.argsort(order).tolist()
        values, places = transpose(node, values, back), transpose(node, places, back)
    result = (*shape[:axis], k, *shape[axis + 1 :])
    return [node.result(values, result, elem=tensor.elem), node.result(places, result, elem=INT64)]


@rule("OneHot")
def one_hot(node: Node) -> Tensor:
    """Lower OneHot: compare indices with positions along the new axis. Negative ones count from the end; indices out of
    range match nothing."""
    shape, depth = node.shape(0), int(node.array(1).reshape(()) if node.array(1).ndim == 0 else node.array(1)[0])
    expressible(depth > 0, f"its depth is {depth}")
    axis = node.axis(int(node.attribute("axis", -1)), len(shape) + 1)
    node.graph.reserve(4 * depth)
    indices = node.cast(node.input(0), INT32)
    negative = truth(node, OperationCode.LESS, indices, node.like(indices, 0))
    indices = select(
        node, negative, add(node, indices, node.like(indices, depth)), indices, node.static_shape_of(indices)
    )
    result = (*shape[:axis], depth, *shape[axis:])
    spread = node.view(indices, (*shape[:axis], 1, *shape[axis:]))
    places = np.arange(depth, dtype=np.int32).reshape([-1 if i == axis else 1 for i in range(len(result))])
    hot = truth(node, OperationCode.EQUAL, spread, node.graph.constant(places))
    values = node.array(2)
    off, on = (node.constant(values[i : i + 1]) for i in (0, 1))
    return node.result(select(node, hot, on, off, result), result, elem=node.tensor(2).elem)


@rule("Where")
def where(node: Node) -> Tensor:
    """NNAPI's three inputs have one shape, and are not booleans."""
    (condition, x, y), layout = align(node, 0, 1, 2)
    shape, elem = broadcast_shape([value.shape for value in (condition, x, y)]), node.tensor(1).elem
    if elem != BOOL:
        return layout.result(node, select(node, condition, x, y, shape), elem)
    chosen = select(node, condition, node.graph.bytes(x), node.graph.bytes(y), shape)
    return layout.result(node, node.cast(chosen, BOOL8), elem)
