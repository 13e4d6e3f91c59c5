"""Indexing: slices, gathers, arg max, top k."""

import math
from collections.abc import Mapping

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.broadcasting import broadcast_shape
from nnapi.importers.graph import BOOL8, INT32, Value
from nnapi.importers.movement import need_inside
from nnapi.importers.onnx.computed_sizes import read_size
from nnapi.importers.onnx.layout import align, read_as_stored, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.symbolic_folding import clamp
from nnapi.importers.onnx.tensors import BOOL, DYNAMIC, INT64, OnnxTensor
from nnapi.importers.refusals import expressible, need_elements
from nnapi.importers.terms import Term, choose, select
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import Code, CompositeCode
from nnapi.shapes.array import as_integers, has_sizes, is_whole
from nnapi.shapes.size import Positions, count_positions, make_positions

ENDLESS = 2**31 - 1


@rule("Slice")
def slice_axes(node: OnnxNode) -> OnnxTensor:
    tensor = node.tensor(0)
    if not all(each is None or each.array is not None for each in node.tensors[1:]):
        return _slice_at_run(node)
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    shape = list(tensor.dims)
    chosen: dict[int, range | Positions] = {}
    for axis, part in _parts(node, tensor.rank).items():
        if (part.start, part.stop, part.step) == (0, None, 1):
            continue
        if tensor.dims[axis] == DYNAMIC and node.conversion.state.sizes_depend_on_data:
            return _slice_at_run(node)
        chosen[axis] = _choose(part, node.static_size(0, axis))
        length = count_positions(chosen[axis])
        if not length and not tensor.is_known and node.conversion.state.sizes_depend_on_data:
            found = _slice_at_run(node)
            found.is_empty = True
            return found
        need_elements(length)
        shape[axis] = length
    if tensor.rank > HIGHEST_RANK and value.shape != tensor.dims and not is_nhwc:
        sizes = list(node.static_shape(0))
        for axis, each in chosen.items():
            value = _slice_along(node, view_around(node, value, tuple(sizes), axis), {1: each})
            sizes[axis] = count_positions(each)
    else:
        value = _slice_along(node, value, {axis_of[axis]: each for axis, each in chosen.items()})
    return node.result(value, tuple(shape), elem=tensor.elem, is_nhwc=is_nhwc)


def _choose(part: slice, size: int) -> range | Positions:
    """Return the elements that a slice takes of an axis."""
    if part.step != 1 or not has_sizes([part.start, part.stop, size]):
        return range(*part.indices(size))
    return make_positions(clamp(part.start, size), size if part.stop is None else clamp(part.stop, size), 1)


def _slice_at_run(node: OnnxNode) -> OnnxTensor:
    """Slice between computed bounds, or of dimensions that depend on data: by the indices from each start to its end.

    A bound beyond an end is this end, as in Python.
    """
    tensor = node.tensor(0)
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    (count,) = node.static_shape(1)
    axes = node.integers(3, "axes") or list(range(count))
    steps = node.integers(4, "steps") or [1] * count
    shape = list(tensor.dims)
    for k, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        expressible(step, "its step is 0")
        axis = node.axis(axis, tensor.rank)
        size = read_size(node, 0, axis)
        bounds = [_clamp_bound(node, i, k, Term(node, size), step).value for i in (1, 2)]
        type = OperandType(INT32, (DYNAMIC,))
        delta = node.graph.ints([step])
        indices = node.apply(CompositeCode.RANGE, *bounds, delta, shape=type.dimensions, type=type)
        value = node.apply(OperationCode.GATHER, value, node.i32(axis_of[axis]), indices)
        shape[axis] = DYNAMIC
    return node.result(value, tuple(shape), elem=tensor.elem, is_nhwc=is_nhwc)


def _clamp_bound(node: OnnxNode, i: int, k: int, size: Term, step: int) -> Term:
    """Return bound ``k`` of input ``i``; a negative one counts from the end."""
    low, high = (0, size) if step > 0 else (-1 if i == 2 else 0, size - 1)
    given = node.tensor(i)
    if given.array is not None:
        bound = int(given.array.reshape(-1)[k])
        if bound >= 0:
            return high.apply(OperationCode.MINIMUM, min(bound, ENDLESS))
        return (size + max(bound, -ENDLESS)).apply(OperationCode.MAXIMUM, low)
    bounds = node.cast(node.input(i), INT32)
    computed = Term(node, node.apply(OperationCode.GATHER, bounds, node.i32(0), node.graph.ints([k])))
    positive = choose(computed < 0, computed + size, computed)
    return positive.apply(OperationCode.MAXIMUM, low).apply(OperationCode.MINIMUM, high)


def _slice_along(node: OnnxNode, value: Value, chosen: Mapping[int, range | Positions]) -> Value:
    """Slice a value along the axes in ``chosen``."""
    begin, size = [0] * value.rank, [-1] * value.rank
    for axis, each in chosen.items():
        if each.step == 1:
            begin[axis], size[axis] = each.start, count_positions(each)
    if any(each != -1 for each in size):
        value = node.slice(value, begin, size)
    for axis, each in chosen.items():
        if isinstance(each, range) and each.step != 1:
            value = slice_with_step(node, value, axis, each)
    return value


def _parts(node: OnnxNode, rank: int) -> dict[int, slice]:
    starts, ends = node.integers(1, "starts") or [], node.integers(2, "ends") or []
    axes = node.integers(3, "axes") or list(range(len(starts)))
    steps = node.integers(4, "steps") or [1] * len(starts)
    expressible(len(starts) == len(ends) == len(axes) == len(steps), "its bounds are of different lengths")
    parts = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        expressible(step, "its step is 0")
        is_to_end = end >= 2**31 - 1 and step > 0
        parts[node.axis(axis, rank)] = slice(start, None if is_to_end else end, step)
    return parts


def slice_with_step(node: OnnxNode, value: Value, axis: int, chosen: range) -> Value:
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
def gather(node: OnnxNode) -> OnnxTensor:
    tensor, indices = node.tensor(0), node.tensor(1)
    axis = node.axis(node.attribute("axis"), tensor.rank)
    shape = (*tensor.dims[:axis], *indices.dims, *tensor.dims[axis + 1 :])
    if indices.array is not None and is_whole(indices.array, tensor.dims[axis]):  # as transformers index masks
        rest = shape if len(shape) <= HIGHEST_RANK else node.stored(0).shape
        return node.result(node.view(node.stored(0), rest), shape, elem=tensor.elem)
    code, positions = _read_positions(node, 1, tensor.dims[axis])
    is_nhwc = tensor.is_nhwc and indices.rank == 1
    if is_nhwc:
        value, axes, _ = read_as_stored(node, 0)
        axis = axes[axis]
    else:
        value = node.stored(0)
        if max(tensor.rank, len(shape)) > HIGHEST_RANK:
            value, axis = view_around(node, value, node.static_shape(0), axis), 1
            positions = node.view(positions, (math.prod(node.static_shape(1)),))
    found = node.apply(code, value, node.i32(axis), positions)
    return node.result(found, shape, elem=tensor.elem, is_nhwc=is_nhwc)


def _read_positions(node: OnnxNode, i: int, size: int) -> tuple[Code, Value]:
    """Return the operation that takes slices at the indices in input ``i``, and the indices."""
    if node.tensor(i).array is not None:
        array = node.array(i)
        expressible(not array.size or array.min() >= 0 or size != DYNAMIC, "indices count from a dynamic end")
        return OperationCode.GATHER, node.constant(
            (array if size == DYNAMIC else count_from_start(array, size)).astype(np.int32)
        )
    value = node.input(i)
    if size == DYNAMIC or not value.type.is_known:
        node.note("computed indices must not be negative")
        return OperationCode.GATHER, value
    return CompositeCode.TAKE, value


def count_from_start(indices: Array, sizes: int | Array) -> Array:
    """Make negative constant indices, which count from the end, positive; raise Refused for any out of range."""
    found: Array = indices + (indices < 0) * sizes
    if found.dtype == object:  # of symbolic sizes
        found = as_integers(found.reshape(-1).tolist(), indices.dtype).reshape(indices.shape)
    need_inside(found, sizes)
    return found


@rule("GatherElements")
def gather_elements(node: OnnxNode) -> OnnxTensor:
    tensor, own, shape = node.tensor(0), node.shape(0), node.shape(1)
    axis, value = node.axis(int(node.attribute("axis", 0)), tensor.rank), node.stored(0)
    if len(own) > HIGHEST_RANK and len(shape) == len(own):
        for k, (size, count) in enumerate(zip(own, shape, strict=True)):
            if k != axis and count < size:
                value = _slice_along(node, view_around(node, value, own, k), {1: range(count)})
                own = (*own[:k], count, *own[k + 1 :])
    lines = read_lines(node, 1, own, axis)
    assert lines is not None
    laid, along, indices, is_from_end = lines
    arguments = node.view(value, laid), node.i32(along), indices, is_from_end
    gathered = node.apply(CompositeCode.GATHER_ELEMENTS, *arguments, shape=indices.shape)
    return node.result(gathered, shape, elem=tensor.elem)


def read_lines(node: OnnxNode, i: int, own: Shape, axis: int) -> tuple[Shape, int, Value, Value] | None:
    """Return the shape of the data and the axis in it, then the indices in input ``i`` along this axis of ``own``, and
    whether they count from the end.

    Beyond NNAPI's rank, axes are merged. Return None if that is not possible, because constant indices do not cover the
    other axes; raise Refused if they are computed.
    """
    shape = node.static_shape(i) if len(own) > HIGHEST_RANK else node.shape(i)
    fits = len(shape) == len(own) and all(
        here <= there or there == DYNAMIC for k, (here, there) in enumerate(zip(shape, own, strict=True)) if k != axis
    )
    expressible(fits, f"indices of {list(shape)} for {list(own)}")
    along = axis
    if len(own) > HIGHEST_RANK:
        own = node.static_shape(0)
        if shape[:axis] != own[:axis] or shape[axis + 1 :] != own[axis + 1 :]:
            is_constant = node.tensor(i).array is not None
            expressible(is_constant, f"its computed indices {list(shape)} do not cover {list(own)}")
            return None
        own, shape = ((math.prod(each[:axis]), each[axis], math.prod(each[axis + 1 :])) for each in (own, shape))
        along = 1
    return own, along, *read_coordinates(node, i, (own[along],), shape)


def read_coordinates(node: OnnxNode, i: int, sizes: Shape, shape: Shape) -> tuple[Value, Value]:
    """Return the indices in input ``i``, in a shape, and whether they count from the end. Constants never do; they are
    checked against ``sizes``, one for each column or one for all."""
    if node.tensor(i).array is None:
        indices = node.view(node.input(i), shape)
        indices.name = node.tensor(i).name
        return indices, node.flag(True)
    array = node.array(i)
    expressible(DYNAMIC not in sizes or not array.size or array.min() >= 0, "indices count from a dynamic end")
    found = count_from_start(array.reshape(shape), np.array([size or ENDLESS for size in sizes]))
    return node.constant(found.astype(np.int32)), node.flag(False)


def flatten_elements(node: OnnxNode, i: int, own: Shape, axis: int) -> Value:
    """Return, as rows of one coordinate, the flat positions in shape ``own`` of constant indices along an axis."""
    indices = node.array(i)
    node.graph.reserve(8 * (indices.ndim + 1) * indices.size)
    grid = np.indices(indices.shape)
    grid[axis] = count_from_start(indices, np.array(own[axis]))
    return node.constant(np.ravel_multi_index(tuple(grid), own).reshape(-1, 1).astype(np.int32))


def view_coordinates(own: Shape, depth: int) -> Shape:
    """Return a shape of at most NNAPI's rank, in which ``depth`` coordinates select the same slices."""
    expressible(len(own) <= HIGHEST_RANK or DYNAMIC not in own, f"rank {len(own)} with dynamic dimensions")
    merged = own if len(own) <= HIGHEST_RANK else (*own[:depth], math.prod(own[depth:]))
    expressible(len(merged) <= WIDEST_RANK, f"it has {depth} indices for rank {len(own)}")
    return merged


@rule("GatherND")
def gather_nd(node: OnnxNode) -> OnnxTensor:
    own, outer = node.shape(0), node.shape(1)[:-1]
    depth = node.static_size(1, -1) if node.tensor(1).array is None else node.shape(1)[-1]
    batch = int(node.attribute("batch_dims", 0))
    expressible(0 < depth <= len(own) - batch, f"it has {depth} indices for rank {len(own)}")
    expressible(outer[:batch] == own[:batch], f"its batches {outer[:batch]} are not {list(own[:batch])}")
    batches = own[:batch] and (math.prod(own[:batch]),)
    rows = (*batches, math.prod(outer[batch:]), depth)
    indices, is_from_end = read_coordinates(node, 1, own[batch : batch + depth], rows)
    shape = view_coordinates((*batches, *own[batch:]), len(batches) + depth)
    arguments = node.view(node.stored(0), shape), indices, node.i32(len(batches)), is_from_end
    gathered = node.apply(CompositeCode.GATHER_ND, *arguments)
    return node.result(gathered, (*outer, *own[batch + depth :]), elem=node.tensor(0).elem)


@rule("ArgMax", "ArgMin")
def arg(node: OnnxNode) -> OnnxTensor:
    code = OperationCode[node.kind.upper()]
    shape = node.shape(0)
    axis = node.axis(node.attribute("axis"), len(shape))
    x, is_last = node.input(0), bool(node.attribute("select_last_index", 0))
    if is_last:
        x = node.apply(OperationCode.REVERSE, x, node.graph.ints([axis]))
    found = node.apply(code, x, node.i32(axis), type=OperandType(INT32))
    if is_last:
        found = (node.static_size(0, axis) - 1 - Term(node, found)).value
    return node.result(found, (*shape[:axis], *(1,) * bool(node.attribute("keepdims")), *shape[axis + 1 :]), elem=INT64)


@rule("TopK")
def top_k(node: OnnxNode) -> list[OnnxTensor]:
    tensor, shape = node.tensor(0), node.shape(0)
    axis = node.axis(node.attribute("axis"), len(shape))
    k, size = _read_k(node)
    x, result = node.input(0), (*shape[:axis], size, *shape[axis + 1 :])
    types = x.type.with_dimensions(result), OperandType(INT32, result)
    arguments = [x, node.i32(axis), k, node.flag(node.attribute("largest", 1))]
    values, positions = node.append(CompositeCode.TOP_K, arguments, types)
    return [node.result(values, result, elem=tensor.elem), node.result(positions, result, elem=INT64)]


def _read_k(node: OnnxNode) -> tuple[Value, int]:
    """Return the operand k of TOP_K, and the dimension of its results."""
    if node.since >= 10 and node.tensor(1).array is None:
        return node.view(node.cast(node.input(1), INT32), (1,)), DYNAMIC
    given = node.array(1) if node.since >= 10 else np.array(node.attribute("k"))
    k = int(given.reshape(())) if given.size == 1 else 0
    expressible(k > 0, f"k is {k}, must be at least 1")
    return node.i32(k), k


@rule("OneHot")
def one_hot(node: OnnxNode) -> OnnxTensor:
    shape, depth = node.shape(0), int(node.array(1).reshape(-1)[0])
    expressible(depth > 0, f"depth is {depth}, must be at least 1")
    axis = node.axis(int(node.attribute("axis", -1)), len(shape) + 1)
    node.graph.reserve(4 * depth)
    given = Term(node, node.cast(node.input(0), INT32))
    node.static_shape_of(given.value)
    indices = choose(given < 0, given + depth, given)
    spread = Term(node, node.view(indices.value, (*shape[:axis], 1, *shape[axis:])))
    positions = np.arange(depth, dtype=np.int32).reshape(-1, *(1,) * (len(shape) - axis))
    hot = spread.compare(OperationCode.EQUAL, Term(node, node.graph.constant(positions)))
    off, on = (Term(node, node.constant(node.array(2)[i : i + 1])) for i in (0, 1))
    result = (*shape[:axis], depth, *shape[axis:])
    return node.result(choose(hot, on, off).value, result, elem=node.tensor(2).elem)


@rule("Where")
def where(node: OnnxNode) -> OnnxTensor:
    """Lower Where. NNAPI's SELECT needs three inputs of one shape, and no booleans as values."""
    (condition, x, y), layout = align(node, 0, 1, 2)
    shape, elem = broadcast_shape([value.shape for value in (condition, x, y)]), node.tensor(1).elem
    if elem != BOOL:
        return layout.result(node, select(node, condition, x, y, shape), elem)
    chosen = select(node, condition, node.graph.bytes(x), node.graph.bytes(y), shape)
    return layout.result(node, node.cast(chosen, BOOL8), elem)
