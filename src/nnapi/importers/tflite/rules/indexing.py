"""Slices, gathers, scatters, look-ups, selections, arg max and top k."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.broadcasting import broadcast
from nnapi.importers.graph import BOOL8, INT32, QUANT8, Value
from nnapi.importers.graph_emitter import LIMIT
from nnapi.importers.movement import check_indices, need_inside, without_axis
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import CompositeCode
from nnapi.ops.coordinates import Reduction


@rule("SLICE")
def slice_block(node: TfliteNode) -> None:
    """Lower SLICE. NNAPI does not slice a state's type; a variable's initial state is passed through."""
    if node.scope.subgraph.tensors[node.operator.outputs[0]].is_variable and node.input(0).shape == node.output.shape:
        node.bind(0, node.input(0))
        return
    node.emit(OperationCode.SLICE, node.input(0), node.input(1), node.input(2))


@dataclass(frozen=True)
class Along:
    """The range of a strided slice along one axis; None means the end of the axis."""

    begin: int | None
    end: int | None
    stride: int
    shrink: bool


FULL = Along(None, None, 1, False)


@rule("STRIDED_SLICE")
def strided_slice(node: TfliteNode) -> None:
    """Lower STRIDED_SLICE. NNAPI's has no ellipsis and no new axes, and does not accept int32 or booleans."""
    o, x = node.options, node.input(0)
    computed = any(node.input(i).array is None for i in (1, 2, 3))
    if computed:
        expressible(not (o.ellipsis_mask or o.new_axis_mask or o.offset), "its computed bounds have masks")
        masks = map(node.i32, (o.begin_mask, o.end_mask, o.shrink_axis_mask))
        node.emit(OperationCode.STRIDED_SLICE, x, *(node.input(i) for i in (1, 2, 3)), *masks)
        return
    write_slice(node, x, *plan_slice(node, x.rank))


@rule("STABLEHLO_SLICE")
def stablehlo_slice(node: TfliteNode) -> None:
    o = node.options
    bounds = zip(o.start_indices, o.limit_indices, o.strides, strict=True)
    along = [Along(begin, end, stride, False) for begin, end, stride in bounds]
    write_slice(node, node.input(0), along, [])


def write_slice(node: TfliteNode, x: Value, along: Sequence[Along], new_axes: Sequence[int]) -> None:
    if x.type.code in (INT32, BOOL8):
        taken = _by_blocks(node, x, along)
        shape = [dimension for dimension, part in zip(taken.shape, along, strict=True) if not part.shrink]
    elif new_axes:
        taken = _by_strides(node, x, along, None)
        shape = list(taken.shape)
    else:
        _by_strides(node, x, along, node.output)
        return
    if all(part.shrink for part in along):
        shape = []
    for axis in new_axes:
        shape.insert(axis, 1)
    if tuple(shape or [1]) == taken.shape:
        node.deliver(taken)
    else:
        node.reshape(taken, shape or [1], to=node.output)


def plan_slice(node: TfliteNode, rank: int) -> tuple[list[Along], list[int]]:
    """Return the range along each axis of the input, and the positions of new axes in the result."""
    o = node.options
    begin, end, strides = (node.numbers(i) for i in (1, 2, 3))
    expressible(len(begin) == len(end) == len(strides), "its bounds are of different lengths")
    along: list[Along] = []
    new_axes: list[int] = []
    position = 0
    for i, stride in enumerate(strides):
        bit = 1 << i
        if o.ellipsis_mask & bit:
            later = sum(not o.new_axis_mask & (1 << j) for j in range(i + 1, len(begin)))
            width = max(rank - len(along) - later, 0)
            along += [FULL] * width
            position += width
        elif o.new_axis_mask & bit:
            new_axes.append(position)
            position += 1
        else:
            shrink = bool(o.shrink_axis_mask & bit)
            low = None if o.begin_mask & bit and not shrink else begin[i]
            high = None if o.end_mask & bit else end[i] + (begin[i] if o.offset else 0)
            if shrink:  # TFLite takes the element at the beginning, whatever the end
                high = begin[i] + 1 or None
            expressible(stride, "its stride is 0")
            along.append(Along(low, high, stride, shrink))
            position += not shrink
    expressible(len(along) <= rank, f"it slices {len(along)} axes of rank {rank}")
    return along + [FULL] * (rank - len(along)), new_axes


def _by_strides(node: TfliteNode, x: Value, along: Sequence[Along], to: Value | None) -> Value:
    bounds = zip(*[(part.begin or 0, part.end or 0, part.stride) for part in along], strict=True)
    chosen = zip(*[(part.begin is None, part.end is None, part.shrink) for part in along], strict=True)
    masks = [sum(wanted << axis for axis, wanted in enumerate(bits)) for bits in chosen]
    arguments = (x, *(node.graph.ints(list(numbers)) for numbers in bounds), *map(node.i32, masks))
    if to is not None:
        return node.emit(OperationCode.STRIDED_SLICE, *arguments, to=to)
    node.static_shape_of(x)
    return node.apply(OperationCode.STRIDED_SLICE, *arguments, shape=())


def _by_blocks(node: TfliteNode, x: Value, along: Sequence[Along]) -> Value:
    """Slice by SLICE, and by GATHER if the stride is not 1; dropped axes keep dimension 1."""
    begin, size = [0] * x.rank, [-1] * x.rank
    positions: dict[int, list[int]] = {}
    for axis, (part, dimension) in enumerate(zip(along, x.shape, strict=True)):
        if part == FULL:
            continue
        expressible(dimension, f"{x.name} has a dynamic dimension along axis {axis}")
        if part.shrink:
            first = (part.begin or 0) + (dimension if (part.begin or 0) < 0 else 0)
            picked = range(first, first + 1)
        else:
            picked = range(*slice(part.begin, part.end, part.stride).indices(dimension))
        expressible(len(picked), "its result has no elements")
        if picked.step == 1 or len(picked) == 1:
            begin[axis], size[axis] = picked[0], len(picked)
        else:
            node.graph.reserve(4 * len(picked))
            positions[axis] = list(picked)
    if any(begin) or any(dimension != -1 for dimension in size):
        dimensions = [dimension if wanted == -1 else wanted for dimension, wanted in zip(x.shape, size, strict=True)]
        x = node.slice(x, begin, size, to=node.temporary(x.type.with_dimensions(dimensions), "sliced"))
    for axis, chosen in positions.items():
        shape = (*x.shape[:axis], len(chosen), *x.shape[axis + 1 :])
        x = node.apply(OperationCode.GATHER, x, node.i32(axis), node.graph.ints(chosen), shape=shape)
    return x


@rule("GATHER")
def gather(node: TfliteNode) -> None:
    x, indices, batch = node.input(0), node.input(1), node.options.batch_dims
    axis = node.axis(node.options.axis, x.rank)
    batch += indices.rank if batch < 0 else 0
    if batch:
        gather_in_batches(node, x, indices, axis, batch)
    elif node.is_scalar(1):
        picked = node.apply(OperationCode.GATHER, x, node.i32(axis), indices, shape=())
        node.reshape(picked, without_axis(picked.shape or node.static_shape_of(x), axis), to=node.output)
    else:
        node.emit(OperationCode.GATHER, x, node.i32(axis), indices)


def gather_in_batches(node: TfliteNode, x: Value, indices: Value, axis: int, batch: int) -> None:
    expressible(axis == batch, f"axis is {axis}, must be batch_dims ({batch}) where there are batch axes")
    count = math.prod(node.static_shape_of(x)[:batch])
    expressible(node.static_shape_of(indices)[:batch] == x.shape[:batch], "its batches differ")
    at = _as_rows(node, indices, (count, math.prod(indices.shape[batch:]), 1))
    _need_inside(at, x.shape[axis:])
    laid = node.reshape(x, (count, x.shape[axis], math.prod(x.shape[axis + 1 :])))
    shape = (*at.shape[:2], laid.shape[-1])
    picked = node.apply(CompositeCode.GATHER_ND, laid, at, node.i32(1), node.flag(False), shape=shape)
    node.reshape(picked, (*indices.shape, *x.shape[axis + 1 :]), to=node.output)


@rule("GATHER_ND")
def gather_nd(node: TfliteNode) -> None:
    x, indices = node.input(0), node.input(1)
    _need_inside(indices, x.shape)
    node.emit(CompositeCode.GATHER_ND, x, indices, node.i32(0), node.flag(False))


@rule("REVERSE_SEQUENCE")
def reverse_sequence(node: TfliteNode) -> None:
    o, x, lengths = node.options, node.input(0), node.input(1)
    expressible((o.batch_dim, o.seq_dim) == (0, 1), "its rows do not lie along axis 1 of batches along axis 0")
    batch, dimension, *rest = node.static_shape_of(x)
    node.graph.reserve(4 * dimension + 4 * batch)
    positions = Term(node, node.graph.ints(np.arange(dimension).reshape(1, dimension)))
    at_least_0 = node.apply(OperationCode.MAXIMUM, lengths, node.like(lengths, 0), shape=lengths.shape)
    at_least_0.name = lengths.name
    ends = Term(node, node.reshape(check_indices(node, at_least_0, dimension + 1), (batch, 1)))
    mirrored = ends - Term(node, node.graph.ints(np.arange(1, dimension + 1).reshape(1, dimension)))
    is_past = mirrored < 0
    own = positions + Term(node, node.graph.full(OperandType(INT32, (batch, 1))))
    begins = Term(node, node.graph.ints(np.arange(batch).reshape(batch, 1) * dimension))
    flat = node.reshape((choose(is_past, own, mirrored) + begins).value, (batch * dimension,))
    laid = node.reshape(x, (batch * dimension, *rest))
    node.reshape(node.pick_rows(laid, flat), x.shape, to=node.output)


@rule("ARG_MAX", "ARG_MIN")
def arg(node: TfliteNode) -> None:
    x = node.input(0)
    node.emit(node.code, x, node.i32(node.axis(node.number(1), x.rank)))


@rule("TOPK_V2")
def top_k(node: TfliteNode) -> None:
    x, is_constant = node.input(0), node.input(1).array is not None
    k = node.i32(node.number(1)) if is_constant else node.input(1)
    expressible(is_constant or k.shape == (1,), f"{node.tensor(1)} is not one number")
    for value in () if is_constant else node.outputs:
        value.type = value.type.with_dimensions((*x.shape[:-1], 0))
    node.emit(CompositeCode.TOP_K, x, node.i32(-1), k, node.flag(True), to=node.outputs)


@rule("WHERE")
def where(node: TfliteNode) -> None:
    """Lower WHERE of one input: the positions of its true elements, one row for each."""
    x = node.input(0)
    expressible(node.count == 1, f"it has {node.count} inputs, must have 1")
    expressible(not node.is_scalar(0), "its input is a scalar")
    type = OperandType(INT32, (x.rank, 0))
    positions = node.apply(CompositeCode.NONZERO, x, type=type, shape=type.dimensions)
    node.output.type = type.with_dimensions((0, x.rank))
    node.transpose(positions, [1, 0], to=node.output)


@rule("EMBEDDING_LOOKUP")
def embedding_lookup(node: TfliteNode) -> None:
    """Lower EMBEDDING_LOOKUP; a quantized table with a float result is dequantized."""
    lookups, values = node.inputs
    if node.output.is_float and values.is_quantized:
        expressible(not any(node.tensor(1).zero_points), f"{node.tensor(1)} has a zero point, LiteRT computes none")
        values = node.graph.real(node.weights(1))
    node.emit(OperationCode.EMBEDDING_LOOKUP, lookups, values)


@rule("HASHTABLE_LOOKUP")
def hashtable_lookup(node: TfliteNode) -> None:
    node.emit(OperationCode.HASHTABLE_LOOKUP, *node.inputs, to=node.outputs)


@rule("LSH_PROJECTION")
def lsh_projection(node: TfliteNode) -> None:
    kinds = {1: 3, 2: 2}  # SPARSE and DENSE: TFLite's code to NNAPI's code
    kind = node.options.type
    expressible(kind in kinds, f"its type is {kind}, must be 1 (SPARSE) or 2 (DENSE)")
    hashes, x = node.input(0), node.input(1)
    node.emit(OperationCode.LSH_PROJECTION, hashes, x, node.optional(2), node.i32(kinds[kind]))


@rule("SCATTER_ND")
def scatter_nd(node: TfliteNode) -> None:
    """Lower SCATTER_ND; updates with the same index are summed."""
    updates = node.graph.real(node.input(1))
    zeros = node.graph.full(updates.type.with_dimensions(tuple(node.numbers(2))))
    node.deliver(_scatter(node, zeros, node.input(0), updates, Reduction.ADD))


@rule("SPARSE_TO_DENSE")
def sparse_to_dense(node: TfliteNode) -> None:
    indices, shape = node.input(0), tuple(node.numbers(1))
    values, default = node.input(2), node.input(3)
    depth = indices.shape[-1] if indices.rank > 1 else 1
    count = math.prod(node.static_shape_of(indices)) // depth
    whole = broadcast(node, default, shape)
    node.deliver(_scatter(node, whole, _as_rows(node, indices, (count, depth)), broadcast(node, values, (count,))))


@rule("UNSORTED_SEGMENT_SUM")
def unsorted_segment_sum(node: TfliteNode) -> None:
    """Lower UNSORTED_SEGMENT_SUM. Rows of negative segments go to one behind the last, which is dropped; the run fails
    for too large segments."""
    data, ids, count = node.graph.real(node.input(0)), node.input(1), node.number(2)
    shape = node.static_shape_of(ids)
    raised = node.apply(OperationCode.MAXIMUM, ids, node.like(ids, 0), shape=shape)
    raised.name = ids.name
    is_negative = Term(node, ids) < 0
    last = Term(node, node.graph.full(OperandType(INT32, shape), count))
    rows = choose(is_negative, last, Term(node, check_indices(node, raised, count)))
    sums = _add_segments(node, rows.value, data, count + 1)
    node.deliver(node.slice(sums, [0] * sums.rank, [count, *sums.shape[1:]]))


@rule("SEGMENT_SUM")
def segment_sum(node: TfliteNode) -> None:
    data, ids = node.graph.real(node.input(0)), node.numbers(1)
    expressible(min(ids) >= 0, f"its segments begin at {min(ids)}")
    node.deliver(_add_segments(node, node.input(1), data, max(ids) + 1))


def _add_segments(node: TfliteNode, ids: Value, data: Value, count: int) -> Value:
    """Return the sums of the rows of each segment."""
    rows = math.prod(node.static_shape_of(ids))
    trailing = data.shape[ids.rank :]
    zeros = node.graph.full(data.type.with_dimensions((count, *trailing)))
    return _scatter(node, zeros, _as_rows(node, ids, (rows, 1)), node.reshape(data, (rows, *trailing)), Reduction.ADD)


def _as_rows(node: TfliteNode, indices: Value, shape: Shape) -> Value:
    """Reshape indices; the result keeps their name, for errors."""
    reshaped = node.reshape(indices, shape)
    reshaped.name = indices.name
    return reshaped


def _need_inside(indices: Value, sizes: Sequence[int]) -> None:
    """Raise Refused for constant coordinates, in the last axis, outside of ``sizes``; dynamic sizes permit any."""
    if indices.array is not None:
        count = min(indices.shape[-1], len(sizes))
        need_inside(indices.array[..., :count], np.array([size or LIMIT for size in sizes[:count]]))


def _scatter(
    node: TfliteNode, x: Value, indices: Value, updates: Value, reduction: Reduction = Reduction.NONE
) -> Value:
    _need_inside(indices, x.shape)
    arguments = x, indices, updates, node.i32(reduction), node.flag(False)
    return node.apply(CompositeCode.SCATTER_ND, *arguments, shape=x.shape)


@rule("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(node: TfliteNode) -> None:
    """Lower DYNAMIC_UPDATE_SLICE: gather the update to its position, then select between it and the input."""
    x, update, start = node.input(0), node.input(1), node.input(2)
    shape = node.static_shape_of(x)
    expressible(update.rank == x.rank, f"its update has rank {update.rank}, its input {x.rank}")
    mask: Term | None = None
    for axis, (dimension, width) in enumerate(zip(shape, node.static_shape_of(update), strict=True)):
        expressible(width <= dimension, f"its update has {width} elements along axis {axis}, its input {dimension}")
        if width == dimension:
            continue
        node.graph.reserve(4 * dimension)
        begin = node.apply(OperationCode.SLICE, start, node.graph.ints([axis]), node.graph.ints([1]), shape=(1,))
        begin_inside = _clamp(Term(node, begin), 0, dimension - width)
        positions = Term(node, node.graph.ints(np.arange(dimension))) - begin_inside
        source = _clamp(positions, 0, width - 1)
        stretched = (*update.shape[:axis], dimension, *update.shape[axis + 1 :])
        update = node.apply(OperationCode.GATHER, update, node.i32(axis), source.value, shape=stretched)
        along = [dimension if i == axis else 1 for i in range(x.rank)]
        inside = Term(node, node.reshape(positions.compare(OperationCode.EQUAL, source).value, along))
        mask = inside if mask is None else mask.compare(OperationCode.LOGICAL_AND, inside)
    if mask is None:
        node.deliver(update)
        return
    node.graph.reserve(math.prod(shape))
    whole = mask.compare(OperationCode.LOGICAL_AND, Term(node, node.graph.constant(np.ones(shape, np.bool_))))
    node.deliver(choose(whole, Term(node, update), Term(node, x)).value)


def _clamp(term: Term, low: int, high: int) -> Term:
    assert term.value.type.code == INT32
    return term.apply(OperationCode.MAXIMUM, low).apply(OperationCode.MINIMUM, high)


@rule("SELECT", "SELECT_V2", "STABLEHLO_SELECT")
def select(node: TfliteNode) -> None:
    """Lower SELECT. TFLite broadcasts its inputs, NNAPI does not."""
    condition, x, y = node.inputs
    shapes = {condition.shape, x.shape, y.shape}
    if len(shapes) > 1:
        known = [node.static_shape_of(value) for value in (condition, x, y)]
        if node.kind == "SELECT" and condition.rank == 1 and x.rank > 1:  # each row has one condition
            condition = node.reshape(condition, (*condition.shape, *(1 for _ in x.shape[1:])))
            known[0] = condition.shape
        shape = np.broadcast_shapes(*known)
        condition, x, y = (broadcast(node, value, shape) for value in (condition, x, y))
    if x.type.code == BOOL8:
        chosen = choose(Term(node, condition), *(Term(node, node.graph.bytes(value)) for value in (x, y)))
        node.emit(OperationCode.NOT_EQUAL, chosen.value, node.graph.full(OperandType(QUANT8, (1,), 1.0, 0)))
        return
    node.emit(OperationCode.SELECT, condition, x, y)
