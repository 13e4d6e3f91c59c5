"""Dimensions and axes: reshaping, joining, cutting, repeating."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.arithmetic import broadcast
from nnapi.importers.graph import INT32, Value
from nnapi.importers.movement import concatenate, transpose
from nnapi.importers.onnx.layout import TO_FIRST, collapse, read_as_stored, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.tensors import BYTES, DTYPES, OPEN, Tensor
from nnapi.importers.onnx.terms import select
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType, Shape


def reshape_input(node: Node, shape: Shape) -> Tensor:
    """Input 0 under other dimensions in the file."""
    tensor, value = node.tensor(0), node.codes(0)
    if len(shape) <= HIGHEST_RANK and not tensor.is_known and value.shape != shape:
        value = node.view(value, shape)
    return node.result(value, shape, elem=tensor.elem)


@rule("Reshape")
def reshape(node: Node) -> Tensor:
    """0 keeps a dimension of the input; -1 is what the others leave, or a dimension that only a run knows."""
    tensor = node.tensor(0)
    shape = [int(each) for each in node.tensor(1).constant.reshape(-1)]
    if not node.attribute("allowzero", 0):
        need(all(each or i < tensor.rank for i, each in enumerate(shape)), "a 0 beyond the input's rank", BadDataError)
        shape = [each or (tensor.dims[i] or -1) for i, each in enumerate(shape)]
    expressible(0 not in shape, "its result has no elements")
    if tensor.is_known and shape.count(-1) == 1:
        rest = -math.prod(shape)
        count = math.prod(tensor.dims)
        need(rest > 0 and count % rest == 0, f"{list(tensor.dims)} does not reshape to {shape}", BadDataError)
        shape[shape.index(-1)] = count // rest
    return reshape_input(node, tuple(max(each, OPEN) for each in shape))


@rule("Flatten")
def flatten(node: Node) -> Tensor:
    shape, axis = node.shape(0), int(node.attribute("axis", 1))
    axis += len(shape) if axis < 0 else 0
    outer, inner = shape[:axis], shape[axis:]
    return reshape_input(
        node, (OPEN if OPEN in outer else math.prod(outer), OPEN if OPEN in inner else math.prod(inner))
    )


@rule("Squeeze")
def squeeze(node: Node) -> Tensor:
    shape, axes = node.shape(0), node.integers(1, "axes")
    if axes is None:
        dropped = {axis for axis, size in enumerate(shape) if size == 1}
    else:
        dropped = {node.axis(axis, len(shape)) for axis in axes}
    need(all(shape[axis] in (1, OPEN) for axis in dropped), f"it drops axes of {list(shape)}", BadDataError)
    return reshape_input(node, tuple(size for axis, size in enumerate(shape) if axis not in dropped))


@rule("Unsqueeze")
def unsqueeze(node: Node) -> Tensor:
    shape, axes = list(node.shape(0)), node.integers(1, "axes") or []
    rank = len(shape) + len(axes)
    for axis in sorted(node.axis(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    return reshape_input(node, tuple(shape))


@rule("Transpose")
def transpose_axes(node: Node) -> Tensor:
    """Lower Transpose; from NHWC to NCHW it is free, as the value stays the NHWC image."""
    tensor = node.tensor(0)
    shape = tensor.dims
    order = node.attribute("perm") or list(range(len(shape)))[::-1]
    need(sorted(order) == list(range(len(shape))), f"{order} is not an order of {len(shape)} axes", BadDataError)
    result = tuple(shape[axis] for axis in order)
    value, places, is_nhwc = read_as_stored(node, 0)
    if tuple(order) == TO_FIRST and not is_nhwc:
        return node.result(value, result, elem=tensor.elem, is_nhwc=True)
    if is_nhwc and len(shape) == 4:
        return node.result(permute_axes(node, value, [places[axis] for axis in order]), result, elem=tensor.elem)
    value = node.codes(0)
    return node.result(permute_any_rank(node, value, shape, order), result, elem=tensor.elem)


def permute_any_rank(node: Node, value: Value, shape: Shape, order: Sequence[int]) -> Value:
    """A value of any rank with its axes in another order: those that stay neighbors are moved as one."""
    if len(shape) <= HIGHEST_RANK:
        return permute_axes(node, value, order)
    kept = [axis for axis in order if shape[axis] != 1]
    runs: list[list[int]] = []
    for axis in kept:
        later = [each for each in range(runs[-1][-1] + 1, axis) if shape[each] != 1] if runs else []
        if runs and axis > runs[-1][-1] and not later:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    starts = sorted(run[0] for run in runs)
    by_start = {run[0]: math.prod(shape[axis] for axis in run) for run in runs}
    laid = node.view(value, [by_start[start] for start in starts])
    if len(runs) <= HIGHEST_RANK:
        return permute_axes(node, laid, [starts.index(run[0]) for run in runs])
    count = math.prod(shape)
    node.graph.reserve(4 * count)
    places = np.arange(count, dtype=np.int32).reshape(shape).transpose(order).reshape(-1)
    return node.apply(OperationCode.GATHER, node.view(value, (count,)), node.i32(0), node.graph.ints(places))


def permute_axes(node: Node, value: Value, order: Sequence[int]) -> Value:
    """A value of NNAPI's rank with its axes in another order, which may be the same."""
    if list(order) == sorted(order):
        return value
    moving = [axis for axis in order if value.shape[axis] != 1]
    if moving == sorted(moving) and list(value.shape).count(OPEN) <= 1:
        return node.view(value, [value.shape[axis] for axis in order])
    return transpose(node, value, order)


@rule("Concat")
def concat(node: Node) -> Tensor:
    drop_empty(node)
    tensors = [node.tensor(i) for i in range(node.count)]
    shape = list(tensors[0].dims)
    axis = node.axis(int(node.attribute("axis", 1)), len(shape))
    widths = [tensor.dims[axis] for tensor in tensors]
    shape[axis] = OPEN if OPEN in widths else sum(widths)
    elem = tensors[0].elem
    if all(tensor.is_nhwc for tensor in tensors):
        values = _of_one_kind(node, [tensor.materialize() for tensor in tensors])
        place = read_as_stored(node, 0)[1][axis]
        return node.result(join(node, values, place), tuple(shape), elem=elem, is_nhwc=True)
    values = _of_one_kind(node, [node.codes(i) for i in range(node.count)])
    if len(shape) > HIGHEST_RANK:
        values = [view_around(node, value, tensor.dims, axis) for value, tensor in zip(values, tensors, strict=True)]
        axis = 1
    return node.result(join(node, values, axis), tuple(shape), elem=elem)


def _of_one_kind(node: Node, values: Sequence[Value]) -> Sequence[Value]:
    """Return bytes of different scales as bytes without a scale."""
    kinds = {(value.type.scale, value.type.zero_point) for value in values}
    bytes = len(kinds) > 1 and node.tensor(0).elem in BYTES
    return [node.bare(value) for value in values] if bytes else values


def join(node: Node, values: Sequence[Value], axis: int) -> Value:
    """Concatenate values along an axis; quantized values of different scales are dequantized."""
    kinds = {(value.type.code, value.type.scale, value.type.zero_point) for value in values}
    if len(kinds) > 1 and node.wanted is not None and {value.type.code for value in values} == {node.wanted.code}:
        return node.apply(OperationCode.CONCATENATION, *values, node.i32(axis), type=node.wanted)
    if len(kinds) > 1:
        values = [node.graph.real(value) for value in values]
    if len(values) == 1:
        return values[0]
    if values[0].type.code == INT32:
        return concatenate(node, values, axis)
    return node.apply(OperationCode.CONCATENATION, *values, node.i32(axis))


def drop_empty(node: Node) -> None:
    """Leave out inputs without elements, as a Split may give them, beside others."""
    filled = [tensor for tensor in node.tensors if tensor is None or tensor.array is None or tensor.array.size]
    node.tensors = filled or node.tensors


@rule("Split")
def split_axis(node: Node) -> list[Tensor]:
    tensor = node.tensor(0)
    axis = node.axis(int(node.attribute("axis", 0)), tensor.rank)
    count, dimension = len(node.proto.output), node.static_size(0, axis)
    sizes = list(node.integers(1, "split") or [-(-dimension // count)] * count)
    sizes[-1] -= sum(sizes) - dimension if node.integers(1, "split") is None else 0
    need(
        sum(sizes) == dimension and len(sizes) == count,
        f"sizes {sizes} of {dimension} in {count} outputs",
        BadDataError,
    )
    value, places, is_nhwc = read_as_stored(node, 0)
    shapes = [(*tensor.dims[:axis], size, *tensor.dims[axis + 1 :]) for size in sizes]
    if tensor.rank > HIGHEST_RANK:
        value, place = view_around(node, value, tensor.dims, axis), 1
    else:
        place = places[axis]
    pieces = iter(cut(node, value, place, [size for size in sizes if size]))
    return [
        node.result(next(pieces), shape, elem=tensor.elem, is_nhwc=is_nhwc)
        if shape[axis]
        else node.constant_result(np.zeros(shape, DTYPES[tensor.elem]))
        for shape in shapes
    ]


def cut(node: Node, value: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """A value cut along an axis."""
    if len(sizes) == 1:
        return [value]
    if len(set(sizes)) == 1:
        return node.several(
            OperationCode.SPLIT, [value, node.i32(axis), node.i32(len(sizes))], [_open(value)] * len(sizes)
        )
    begin, size, pieces = [0] * value.rank, [-1] * value.rank, []
    for width in sizes:
        size[axis] = width
        pieces.append(block(node, value, begin, size))
        begin[axis] += width
    return pieces


def _open(value: Value) -> OperandType:
    return value.type.with_dimensions(())


def block(node: Node, value: Value, begin: Sequence[int], size: Sequence[int]) -> Value:
    """A block of a value; a size of -1 reaches to the end."""
    place = (node.graph.ints(list(begin)), node.graph.ints(list(size)))
    return node.apply(OperationCode.SLICE, value, *place)


@rule("Expand")
def expand(node: Node) -> Tensor:
    tensor, wanted = node.tensor(0), tuple(int(each) for each in node.array(1).reshape(-1))
    expressible(0 not in wanted, "its result has no elements")
    shape = tuple(np.broadcast_shapes(node.static_shape(0), wanted))
    return node.result(expand_to(node, node.codes(0), tensor.dims, shape), shape, elem=tensor.elem)


def expand_to(node: Node, value: Value, own: Shape, shape: Shape) -> Value:
    """A value repeated until it has a shape."""
    padded = (1,) * (len(shape) - len(own)) + own
    if len(shape) <= HIGHEST_RANK:
        return broadcast(node, node.view(value, padded), shape or (1,))
    kinds = [have == want for have, want in zip(padded, shape, strict=True)]
    laid, _ = collapse(padded, kinds)
    whole, _ = collapse(shape, kinds)
    return broadcast(node, node.view(value, laid), whole)


@rule("Tile")
def tile(node: Node) -> Tensor:
    tensor, counts = node.tensor(0), [int(each) for each in node.array(1).reshape(-1)]
    need(len(counts) == tensor.rank, f"{len(counts)} repeats for rank {tensor.rank}", BadDataError)
    expressible(all(count > 0 for count in counts), "its result has no elements")
    shape = tuple(size * count for size, count in zip(tensor.dims, counts, strict=True))
    if tensor.rank <= HIGHEST_RANK:
        return node.result(
            node.apply(OperationCode.TILE, node.codes(0), node.graph.ints(counts)), shape, elem=tensor.elem
        )
    laid, places = collapse(node.static_shape(0), [(i, count) if count > 1 else 1 for i, count in enumerate(counts)])
    repeats = [1] * len(laid)
    for place, count in zip(places, counts, strict=True):
        repeats[place] *= count
    expressible(len(laid) <= HIGHEST_RANK, "it repeats along too many axes")
    tiled = node.apply(OperationCode.TILE, node.view(node.codes(0), laid), node.graph.ints(repeats))
    return node.result(tiled, shape, elem=tensor.elem)


@rule("ConstantOfShape")
def constant_of_shape(node: Node) -> Tensor:
    shape = tuple(int(each) for each in node.array(0).reshape(-1))
    expressible(0 not in shape, "its result has no elements")
    value = node.attribute("value")
    number = node.conversion.state.file.array(value)[0] if value is not None else np.zeros(1, np.float32)
    node.graph.reserve(number.itemsize * math.prod(shape))
    return node.constant_result(np.full(shape, number.reshape(-1)[0]))


@rule("EyeLike")
def eye_like(node: Node) -> Tensor:
    rows, columns = node.static_shape(0)
    elem = int(node.attribute("dtype", node.tensor(0).elem))
    expressible(elem in DTYPES, f"it is of type {elem}, which NNAPI does not have")
    node.graph.reserve(8 * rows * columns)
    return node.constant_result(np.eye(rows, columns, int(node.attribute("k", 0)), DTYPES[elem]))


@rule("Trilu")
def trilu(node: Node) -> Tensor:
    """One triangle of the last two axes; the other is zero."""
    tensor = node.tensor(0)
    shape = node.static_shape(0)
    k = int(node.array(1).reshape(())) if node.has(1) else 0
    rows, columns = shape[-2:]
    node.graph.reserve(2 * rows * columns)
    mask = np.tri(rows, columns, k - 1 if node.attribute("upper", 1) else k, np.bool_)
    mask = ~mask if node.attribute("upper", 1) else mask
    x = node.view(node.codes(0), (math.prod(shape[:-2]), rows, columns))
    kept = node.graph.constant(mask.reshape(1, rows, columns))
    zero = node.like_any(x, x.type.zero_point)
    return node.result(select(node, kept, x, zero, x.shape), shape, elem=tensor.elem)


@rule("ReverseSequence")
def reverse_sequence(node: Node) -> Tensor:
    """Lower ReverseSequence: reverse the first ``length`` elements of each row, by a gather with the index of each
    element."""
    shape, lengths = node.static_shape(0), node.array(1).reshape(-1)
    time, batch = int(node.attribute("time_axis", 0)), int(node.attribute("batch_axis", 1))
    expressible({time, batch} == {0, 1} and len(shape) >= 2, "its axes are not the first two")
    need(len(lengths) == shape[batch], f"{len(lengths)} lengths for {shape[batch]} rows", BadDataError)
    node.graph.reserve(4 * shape[0] * shape[1])
    places = np.arange(shape[0] * shape[1]).reshape(shape[:2])
    for row, length in enumerate(lengths.tolist()):
        line = places[:, row] if batch == 1 else places[row]
        line[:length] = line[:length][::-1].copy()
    rows = node.view(node.codes(0), (shape[0] * shape[1], math.prod(shape[2:])))
    picked = node.apply(OperationCode.GATHER, rows, node.i32(0), node.graph.ints(places.reshape(-1)))
    return node.result(picked, shape, elem=node.tensor(0).elem)
