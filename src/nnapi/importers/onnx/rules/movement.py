"""Movement: reshape, transpose, concatenate, split, repeat, blocks of pixels."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import INT32, Value
from nnapi.importers.movement import collapse, merge_axes
from nnapi.importers.onnx.computed_sizes import read_size, read_sizes
from nnapi.importers.onnx.images import TO_FIRST
from nnapi.importers.onnx.layout import flatten_shape, from_image, read_as_stored, stored_image, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.tensors import BYTES, DTYPES, DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible, need_elements
from nnapi.importers.terms import Term, choose, select
from nnapi.model.operand import OperandType, Shape
from nnapi.shapes.array import number_elements
from nnapi.shapes.size import moves_no_element


def reshape_input(node: OnnxNode, shape: Shape) -> OnnxTensor:
    return node.result(node.stored(0), shape, elem=node.tensor(0).elem)


@rule("Reshape")
def reshape(node: OnnxNode) -> OnnxTensor:
    """Lower Reshape. 0 keeps a dimension; -1 is inferred, or dynamic."""
    tensor, given = node.tensor(0), node.tensor(1)
    known = given.array if given.known_sizes is None else given.known_sizes
    if known is None or (given.array is None and (known < 0).sum() > 1):
        return _reshape_at_run(node, tensor)
    shape: list[int] = known.reshape(-1).tolist()
    if not node.attribute("allowzero"):
        expressible(all(each or i < tensor.rank for i, each in enumerate(shape)), "a 0 beyond the input's rank")
        shape = [each or (tensor.dims[i] or -1) for i, each in enumerate(shape)]
    if shape.count(-1) > 1 and node.conversion.state.sizes_depend_on_data:
        sources = {i: i for i, each in enumerate(known.reshape(-1).tolist()) if each == 0}
        dims = tuple(max(each, DYNAMIC) for each in shape)
        return node.result(node.reshape_by_own(node.stored(0), dims, sources), dims, elem=tensor.elem)
    need_elements(0 not in shape)
    if tensor.is_known and shape.count(-1) == 1:
        rest = -math.prod(shape)
        count = math.prod(tensor.dims)
        expressible(rest > 0 and count % rest == 0, f"{list(tensor.dims)} does not reshape to {shape}")
        shape[shape.index(-1)] = count // rest
    return reshape_input(node, tuple(max(each, DYNAMIC) for each in shape))


def _reshape_at_run(node: OnnxNode, tensor: OnnxTensor) -> OnnxTensor:
    """Reshape to dimensions that only a run knows."""
    (rank,) = node.static_shape(1)
    expressible(rank <= WIDEST_RANK, f"its result has {rank} dimensions, operations at most {WIDEST_RANK}")
    value, shape, wanted = node.stored(0), read_sizes(node.tensor(1), rank), node.cast(node.input(1), INT32)
    if node.attribute("allowzero") or node.tensor(1).known_sizes is not None:
        pass  # sizes of other tensors: none is a 0 that stands for a dimension of the input
    elif tensor.is_known:
        given, kept = Term(node, wanted), node.graph.ints([*tensor.dims, *[0] * rank][:rank])
        wanted = choose(given.compare(OperationCode.EQUAL, 0), Term(node, kept), given).value
    else:
        node.note("a computed shape must not have 0, which keeps a dimension in ONNX")
    type = OperandType(value.type.code, shape, value.type.scale, value.type.zero_point)
    found = node.apply(OperationCode.RESHAPE, value, wanted, shape=shape, type=type)
    return node.result(found, shape, elem=tensor.elem)


@rule("Flatten")
def flatten(node: OnnxNode) -> OnnxTensor:
    shape, axis = node.shape(0), int(node.attribute("axis"))
    axis = axis + len(shape) if axis < 0 else axis
    flat = flatten_shape(shape, axis)
    if flat.count(DYNAMIC) > 1 and node.conversion.state.sizes_depend_on_data:
        sizes = [Term(node, read_size(node, 0, i)) for i in range(axis)]
        wanted = node.concatenate([math.prod(sizes[1:], start=sizes[0]).value, node.graph.ints([-1])], 0)
        return node.result(node.apply(OperationCode.RESHAPE, node.stored(0), wanted, shape=flat), flat)
    return reshape_input(node, flat)


@rule("Squeeze")
def squeeze(node: OnnxNode) -> OnnxTensor:
    shape, axes = node.shape(0), node.integers(1, "axes")
    if axes is None:
        dropped = {axis for axis, size in enumerate(shape) if size == 1}
    else:
        dropped = {node.axis(axis, len(shape)) for axis in axes}
    expressible(
        all(shape[axis] in (1, DYNAMIC) for axis in dropped), f"it drops axes of {list(shape)} whose size is not 1"
    )
    return reshape_input(node, tuple(size for axis, size in enumerate(shape) if axis not in dropped))


@rule("Unsqueeze")
def unsqueeze(node: OnnxNode) -> OnnxTensor:
    shape, axes = list(node.shape(0)), node.integers(1, "axes") or []
    rank = len(shape) + len(axes)
    for axis in sorted(node.axis(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    return reshape_input(node, tuple(shape))


@rule("Transpose")
def transpose_axes(node: OnnxNode) -> OnnxTensor:
    """Lower Transpose. From NHWC to NCHW it costs nothing, because the value stays an NHWC image."""
    tensor = node.tensor(0)
    shape = tensor.dims
    order = node.attribute("perm") or list(range(len(shape)))[::-1]
    expressible(sorted(order) == list(range(len(shape))), f"{order} is not an order of {len(shape)} axes")
    result = tuple(shape[axis] for axis in order)
    if tensor.packed is not None:
        return replace(tensor, name=node.name, shape=result)
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    if tuple(order) == TO_FIRST and not is_nhwc:
        return node.result(value, result, elem=tensor.elem, is_nhwc=True)
    if is_nhwc and len(shape) == 4:
        return node.result(permute_axes(node, value, [axis_of[axis] for axis in order]), result, elem=tensor.elem)
    value = node.stored(0)
    return node.result(permute_any_rank(node, value, shape, order), result, elem=tensor.elem)


def permute_any_rank(node: OnnxNode, value: Value, shape: Shape, order: Sequence[int]) -> Value:
    """Transpose a value of any rank; axes that stay adjacent are merged."""
    if len(shape) <= HIGHEST_RANK:
        return permute_axes(node, value, order)
    merged, order_of_merged = merge_axes(shape, order)
    if len(merged) <= WIDEST_RANK:
        return permute_axes(node, node.view(value, merged), order_of_merged)
    count = math.prod(shape)
    node.graph.reserve(4 * count)
    return node.pick_rows(node.view(value, (count,)), number_elements(shape).transpose(order))


def permute_axes(node: OnnxNode, value: Value, order: Sequence[int]) -> Value:
    """Transpose a value; an order that moves no element costs no transpose."""
    if list(order) == sorted(order):
        return value
    if moves_no_element(order, value.shape) and list(value.shape).count(DYNAMIC) <= 1:
        return node.view(value, [value.shape[axis] for axis in order])
    return node.transpose(value, order)


@rule("Concat")
def concat(node: OnnxNode) -> OnnxTensor:
    """Lower Concat. Inputs without elements, which Split may produce, are omitted if others have elements."""
    filled = [tensor for tensor in node.tensors if tensor is None or not tensor.lacks_elements]
    node.tensors = filled or node.tensors
    tensors = [node.tensor(i) for i in range(node.count)]
    first = tensors[0]
    axis = node.axis(int(node.attribute("axis", 1)), first.rank)
    shape = _join_shapes([tensor.dims for tensor in tensors], axis)
    is_nhwc = all(tensor.is_nhwc for tensor in tensors)
    values = [tensor.materialize() if is_nhwc else node.stored(i) for i, tensor in enumerate(tensors)]
    kinds = {(value.type.scale, value.type.zero_point) for value in values}
    if len(kinds) > 1 and first.elem in BYTES:
        values = [node.bare(value) for value in values]
    if is_nhwc:
        axis = read_as_stored(node, 0)[1][axis]
    elif len(shape) > HIGHEST_RANK:
        values = [view_around(node, value, tensor.dims, axis) for value, tensor in zip(values, tensors, strict=True)]
        axis = 1
    return node.result(concatenate_values(node, values, axis), shape, elem=first.elem, is_nhwc=is_nhwc)


def _join_shapes(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of a concatenation. A dimension is known if one input has it; along ``axis``, if all have."""
    widths = [shape[axis] for shape in shapes]
    joined = [next((size for size in sizes if size != DYNAMIC), DYNAMIC) for sizes in zip(*shapes, strict=True)]
    joined[axis] = DYNAMIC if DYNAMIC in widths else sum(widths)
    return tuple(joined)


def concatenate_values(node: OnnxNode, values: Sequence[Value], axis: int) -> Value:
    """Concatenate values; quantized values of different scales are dequantized first."""
    kinds = {(value.type.code, value.type.scale, value.type.zero_point) for value in values}
    if len(kinds) > 1 and node.wanted is not None and {value.type.code for value in values} == {node.wanted.code}:
        return node.apply(OperationCode.CONCATENATION, *values, node.i32(axis), type=node.wanted)
    if len(kinds) > 1:
        values = [node.graph.real(value) for value in values]
    if len(values) == 1:
        return values[0]
    if values[0].type.code == INT32:
        return node.concatenate(values, axis)
    shapes = [value.shape for value in values]
    shape = _join_shapes(shapes, axis) if all(shapes) else None
    return node.apply(OperationCode.CONCATENATION, *values, node.i32(axis), shape=shape)


@rule("Split")
def split_axis(node: OnnxNode) -> list[OnnxTensor]:
    tensor, given = node.tensor(0), node.integers(1, "split")
    axis = node.axis(int(node.attribute("axis", 0)), tensor.rank)
    count, dimension = len(node.source.outputs), node.static_size(0, axis)
    each = -(-dimension // count)
    sizes = list(given or [each] * (count - 1) + [dimension - each * (count - 1)])
    fits = sum(sizes) == dimension and len(sizes) == count
    expressible(fits, f"sizes {sizes} of {dimension} in {count} outputs")
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    along = axis_of[axis]
    if tensor.rank > HIGHEST_RANK and not is_nhwc:
        value, along = view_around(node, value, tensor.dims, axis), 1
    pieces = iter(split_by_sizes(node, value, along, [size for size in sizes if size]))
    shapes = [(*tensor.dims[:axis], size, *tensor.dims[axis + 1 :]) for size in sizes]
    return [
        node.result(next(pieces), shape, elem=tensor.elem, is_nhwc=is_nhwc)
        if shape[axis]
        else node.constant_result(np.zeros(shape, DTYPES[tensor.elem]))
        for shape in shapes
    ]


def split_by_sizes(node: OnnxNode, value: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    if len(sizes) == 1:
        return [value]
    if len(set(sizes)) == 1:
        types = [value.type.with_dimensions(())] * len(sizes)
        return node.append(OperationCode.SPLIT, [value, node.i32(axis), node.i32(len(sizes))], types)
    begin, size, pieces = [0] * value.rank, [-1] * value.rank, []
    for width in sizes:
        size[axis] = width
        pieces.append(node.slice(value, begin, size))
        begin[axis] += width
    return pieces


@rule("Tile")
def tile(node: OnnxNode) -> OnnxTensor:
    tensor, counts = node.tensor(0), node.array(1).reshape(-1).tolist()
    expressible(len(counts) == tensor.rank, f"{len(counts)} repeats for rank {tensor.rank}")
    need_elements(all(count > 0 for count in counts))
    shape = tuple(size * count for size, count in zip(tensor.dims, counts, strict=True))
    value = node.stored(0)
    if tensor.rank > HIGHEST_RANK:
        kinds = [(i, count) if count > 1 else 1 for i, count in enumerate(counts)]
        laid, positions = collapse(node.static_shape(0), kinds)
        expressible(len(laid) <= WIDEST_RANK, "it repeats along too many axes")
        value = node.view(value, laid)
        counts = [
            math.prod(count for at, count in zip(positions, counts, strict=True) if at == i) for i in range(len(laid))
        ]
    return node.result(node.apply(OperationCode.TILE, value, node.graph.ints(counts)), shape, elem=tensor.elem)


@rule("Trilu")
def trilu(node: OnnxNode) -> OnnxTensor:
    tensor, shape, upper = node.tensor(0), node.static_shape(0), bool(node.attribute("upper", 1))
    k = int(node.array(1).reshape(())) if node.has(1) else 0
    rows, columns = shape[-2:]
    node.graph.reserve(2 * rows * columns)
    mask = np.tri(rows, columns, k - upper, np.bool_) ^ upper
    x = node.view(node.stored(0), (math.prod(shape[:-2]), rows, columns))
    kept = node.graph.constant(mask.reshape(1, rows, columns))
    zero = node.like(x, x.type.zero_point)
    return node.result(select(node, kept, x, zero, x.shape), shape, elem=tensor.elem)


@rule("ReverseSequence")
def reverse_sequence(node: OnnxNode) -> OnnxTensor:
    """Reverse the first ``length`` elements of each row by a GATHER of each element."""
    shape, lengths = node.static_shape(0), node.array(1).reshape(-1)
    time, batch = int(node.attribute("time_axis", 0)), int(node.attribute("batch_axis", 1))
    expressible({time, batch} == {0, 1} and len(shape) >= 2, "its axes are not the first two")
    expressible(len(lengths) == shape[batch], f"{len(lengths)} lengths for {shape[batch]} rows")
    fits = bool(((lengths >= 0) & (lengths <= shape[time])).all())
    expressible(fits, f"a length of {lengths.tolist()} is outside 0..{shape[time]}")
    node.graph.reserve(4 * shape[0] * shape[1])
    positions = np.arange(shape[0] * shape[1]).reshape(shape[:2])
    for row, length in enumerate(lengths.tolist()):
        line = positions[:, row] if batch == 1 else positions[row]
        line[:length] = line[:length][::-1].copy()
    rows = node.view(node.stored(0), (shape[0] * shape[1], math.prod(shape[2:])))
    return node.result(node.pick_rows(rows, positions), shape, elem=node.tensor(0).elem)


@rule("DepthToSpace")
def depth_to_space(node: OnnxNode) -> OnnxTensor:
    """Lower DepthToSpace. NNAPI's order is DCR; for CRD the channels are permuted first."""
    x, size = stored_image(node, 0), int(node.attribute("blocksize"))
    channels = node.shape(0)[1]
    expressible(size > 0 and channels % (size * size) == 0, f"blocks of {size} from {channels} channels")
    if node.attribute("mode") == "CRD":
        order = np.arange(channels).reshape(-1, size * size).T.reshape(-1)
        x = node.apply(OperationCode.GATHER, x, node.i32(3), node.graph.ints(order))
    return from_image(node, node.apply(OperationCode.DEPTH_TO_SPACE, x, node.i32(size)))


@rule("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> OnnxTensor:
    """Lower SpaceToDepth. NNAPI's order is DCR; for CRD the channels are permuted."""
    x, size = stored_image(node, 0), int(node.attribute("blocksize"))
    result = node.apply(OperationCode.SPACE_TO_DEPTH, x, node.i32(size))
    if node.attribute("mode") == "CRD":
        order = np.arange(node.static_shape_of(result)[3]).reshape(size * size, -1).T.reshape(-1)
        result = node.apply(OperationCode.GATHER, result, node.i32(3), node.graph.ints(order))
    return from_image(node, result)
