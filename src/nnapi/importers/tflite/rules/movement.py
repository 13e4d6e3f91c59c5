"""Movement: reshape, transpose, concatenate, split, repeat, pad, fill, blocks of pixels."""

import math
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.broadcasting import broadcast
from nnapi.importers.graph import BOOL8, FLOAT32, INT32, Value
from nnapi.importers.movement import without_axis
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, choose
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.tensors import COMPLEX
from nnapi.operation_codes import CompositeCode


@rule("RESHAPE")
def reshape(node: TfliteNode) -> None:
    x, parts = node.input(0), [2] if node.tensor(0).type == COMPLEX else []
    is_empty = node.output.shape == (0,)
    if node.has(1):
        shape = node.input(1)
        is_constant = shape.array is not None and not shape.is_dynamic_shape
        expressible(is_constant or not parts, f"{shape.name} is computed, NNAPI needs a constant")
        wanted = node.graph.ints(_dimensions(node.numbers(1), is_empty) + parts) if is_constant else shape
    else:
        wanted = node.graph.ints(_dimensions(node.options.new_shape, is_empty) + parts)
    node.emit(OperationCode.RESHAPE, x, wanted)


def _dimensions(shape: Sequence[int], is_empty: bool) -> list[int]:
    """Return a shape as a list; [] means one element, and [0] too in old files unless the result has shape [0]."""
    return [1] if not shape or (list(shape) == [0] and not is_empty) else list(shape)


@rule("SQUEEZE")
def squeeze(node: TfliteNode) -> None:
    x = node.input(0)
    rank = x.rank - (node.tensor(0).type == COMPLEX)
    axes = {node.axis(axis, rank) for axis in node.options.squeeze_dims}
    axes = axes or {axis for axis, dimension in enumerate(x.shape[:rank]) if dimension == 1}
    kept = [dimension for axis, dimension in enumerate(x.shape) if axis not in axes]
    if kept.count(0) > 1:
        node.emit(OperationCode.SQUEEZE, x, node.graph.ints(sorted(axes)))
    else:
        need(
            all(x.shape[axis] in (0, 1) for axis in axes),
            f"it drops axes of {list(x.shape)} whose size is not 1",
            BadDataError,
        )
        node.reshape(x, kept or [1], to=node.output)


@rule("EXPAND_DIMS")
def expand_dims(node: TfliteNode) -> None:
    x = node.input(0)
    if node.is_scalar(0):
        node.deliver(x)
    else:
        rank = x.rank - (node.tensor(0).type == COMPLEX)
        node.emit(OperationCode.EXPAND_DIMS, x, node.i32(node.axis(node.number(1), rank + 1)))


@rule("TRANSPOSE", "STABLEHLO_TRANSPOSE")
def transpose_axes(node: TfliteNode) -> None:
    x = node.input(0)
    given = node.numbers(1) if node.kind == "TRANSPOSE" else None
    order = list(node.options.permutation) if given is None else [node.axis(axis, x.rank) for axis in given]
    expressible(sorted(order) == list(range(x.rank)), f"{order} is not an order of {x.rank} axes")
    node.transpose(x, order, to=node.output)


@rule("CONCATENATION")
def concatenation(node: TfliteNode) -> None:
    values = node.inputs
    axis = node.axis(node.options.axis, values[0].rank)
    if act := node.options.activation:
        node.activate_after(act)
    node.concatenate(values, axis, to=node.output)


@rule("PACK")
def pack(node: TfliteNode) -> None:
    values = node.inputs
    axis = node.axis(node.options.axis, values[0].rank + (not node.is_scalar(0)))
    if node.is_scalar(0):
        node.concatenate(values, 0, to=node.output)
    else:
        node.emit(OperationCode.PACK, node.i32(axis), *values)


@rule("UNPACK")
def unpack(node: TfliteNode) -> None:
    x = node.input(0)
    axis = node.axis(node.options.axis, x.rank)
    count = len(node.outputs)
    need(
        x.shape[axis] == count,
        f"shape {list(x.shape)} cannot be split into {count} outputs along axis {axis}",
        BadDataError,
    )
    for piece, out in zip(node.split(x, axis, count), node.outputs, strict=True):
        node.reshape(piece, without_axis(x.shape, axis), to=out)


@rule("SPLIT")
def split_evenly(node: TfliteNode) -> None:
    x, count = node.input(1), len(node.outputs)
    axis = node.axis(node.number(0), x.rank)
    node.emit(OperationCode.SPLIT, x, node.i32(axis), node.i32(count), to=node.outputs)


@rule("SPLIT_V")
def split_unevenly(node: TfliteNode) -> None:
    x, sizes = node.input(0), node.numbers(1)
    axis = node.axis(node.number(2), x.rank)
    need(len(sizes) == len(node.outputs), f"{len(sizes)} sizes for {len(node.outputs)} outputs", BadDataError)
    if -1 in sizes:
        rest = node.static_shape_of(x)[axis] - sum(sizes) - 1
        sizes = [rest if size == -1 else size for size in sizes]
    begin, size = [0] * x.rank, [-1] * x.rank
    for out, width in zip(node.outputs, sizes, strict=True):
        size[axis] = width
        node.slice(x, begin, size, to=out)
        begin[axis] += width


@rule("BROADCAST_TO")
def broadcast_to(node: TfliteNode) -> None:
    value, shape = node.input(0), tuple(node.numbers(1))
    own = (1,) * (len(shape) - value.rank) + value.shape
    fits = len(own) == len(shape) and all(have in (0, 1, want) for have, want in zip(own, shape, strict=True))
    expressible(fits, f"{list(value.shape)} does not stretch to {list(shape)}")
    node.deliver(broadcast(node, value, shape))


@rule("REVERSE_V2")
def reverse(node: TfliteNode) -> None:
    value = node.input(0)
    axes = [node.axis(axis, value.rank) for axis in node.numbers(1)]
    for axis in axes[:-1]:
        value = node.apply(OperationCode.REVERSE, value, node.graph.ints([axis]), shape=value.shape)
    if axes:
        node.emit(OperationCode.REVERSE, value, node.graph.ints(axes[-1:]))
    else:
        node.deliver(value)


@rule("PAD")
def pad(node: TfliteNode) -> None:
    x = node.input(0)
    if x.type.code == INT32:
        pad_integers(node, x, 0)
    else:
        node.emit(OperationCode.PAD, x, node.input(1))


@rule("PADV2")
def pad_with(node: TfliteNode) -> None:
    x, value = node.input(0), node.input(2)
    number = value.constant.reshape(-1)[0].item()
    if x.type.code == INT32:
        pad_integers(node, x, number)
    else:
        filler = node.i32(number) if x.is_quantized else node.real(number, x)
        node.emit(OperationCode.PAD_V2, x, node.input(1), filler)


def pad_integers(node: TfliteNode, x: Value, number: int) -> None:
    pads = np.array(node.numbers(1)).reshape(-1, 2).tolist()
    node.deliver(node.pad_by_concatenation(x, pads, number))


@rule("MIRROR_PAD")
def mirror_pad(node: TfliteNode) -> None:
    node.emit(OperationCode.MIRROR_PAD, node.input(0), node.input(1), node.i32(node.options.mode))


# SHAPE, and tensors filled with one value


@rule("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def move_blocks(node: TfliteNode) -> None:
    node.emit(node.code, node.input(0), node.i32(node.options.block_size))


@rule("SPACE_TO_BATCH_ND")
def space_to_batch(node: TfliteNode) -> None:
    x, block, pads = node.input(0), node.numbers(1), node.numbers(2)
    if x.rank == 4:
        node.emit(OperationCode.SPACE_TO_BATCH_ND, x, node.input(1), node.input(2))
        return
    expressible(x.rank == 3 and len(block) == 1, f"NNAPI has it for images, the input is of rank {x.rank}")
    n, h, c = node.static_shape_of(x)
    image = node.reshape(x, (n, h, 1, c))
    paddings = node.graph.ints([pads, [0, 0]])
    sizes = node.graph.ints([*block, 1])
    wide = node.apply(OperationCode.SPACE_TO_BATCH_ND, image, sizes, paddings, shape=())
    node.reshape(wide, (wide.shape[0], wide.shape[1], c), to=node.output)


@rule("BATCH_TO_SPACE_ND")
def batch_to_space(node: TfliteNode) -> None:
    """Lower BATCH_TO_SPACE_ND. NNAPI's operation does not crop; a SLICE does."""
    x, block, crops = node.input(0), node.numbers(1), node.numbers(2)
    if x.rank == 4 and not any(crops):
        node.emit(OperationCode.BATCH_TO_SPACE_ND, x, node.input(1))
        return
    expressible(x.rank in (3, 4) and len(block) == x.rank - 2, f"NNAPI has it for images, the input has rank {x.rank}")
    node.static_shape_of(x)
    image, sizes, cuts = x, block, crops
    if x.rank == 3:
        image, sizes, cuts = node.reshape(x, (x.shape[0], x.shape[1], 1, x.shape[2])), [*block, 1], [*crops, 0, 0]
    whole = node.apply(OperationCode.BATCH_TO_SPACE_ND, image, node.graph.ints(sizes), shape=())
    n, h, w, c = whole.shape
    begin, size = [0, cuts[0], cuts[2], 0], [n, h - cuts[0] - cuts[1], w - cuts[2] - cuts[3], c]
    cut = node.slice(whole, begin, size, to=node.output if x.rank == 4 else None)
    if x.rank == 3:
        node.reshape(cut, (size[0], size[1], c), to=node.output)


@rule("SHAPE")
def shape(node: TfliteNode) -> None:
    """Lower SHAPE to a constant, in which dynamic dimensions are -1, as RESHAPE takes them."""
    x = node.input(0)
    expressible(not node.is_scalar(0), "it asks for the dimensions of a scalar, of which there are none")
    dimensions = node.graph.ints([dimension or -1 for dimension in x.shape])
    if 0 in x.shape:
        dimensions.is_dynamic_shape, dimensions.shape_of = True, x
    node.deliver(dimensions)


@rule("RANK")
def rank(node: TfliteNode) -> None:
    node.deliver(node.graph.ints([0 if node.is_scalar(0) else node.input(0).rank]))


@rule("FILL")
def fill(node: TfliteNode) -> None:
    dims, value = node.input(0), node.input(1)
    code = value.type.code
    if value.array is None or code not in (FLOAT32, OperandCode.TENSOR_FLOAT16, INT32):
        node.deliver(broadcast(node, value, tuple(node.numbers(0))))
        return
    number = value.array.reshape(-1)[0].item()
    node.emit(OperationCode.FILL, dims, node.i32(number) if code == INT32 else node.real(number, value))


@rule("ZEROS_LIKE")
def zeros_like(node: TfliteNode) -> None:
    type = node.output.type.with_dimensions(node.static_shape_of(node.input(0)))
    node.deliver(node.graph.full(type, type.zero_point, node.output.name))


@rule("RANGE")
def number_range(node: TfliteNode) -> None:
    parts = [node.input(i).array for i in range(3)]
    if any(part is None for part in parts):
        node.output.type = node.output.type.with_dimensions((0,))
        node.emit(CompositeCode.RANGE, *(node.reshape(node.input(i), (1,)) for i in range(3)))
        return
    start, limit, step = (part.reshape(-1)[0].item() for part in parts if part is not None)
    count = math.ceil((limit - start) / step)
    expressible(count > 0, f"it gives {count} numbers")
    node.graph.reserve(8 * count)
    node.deliver(node.graph.constant((start + step * np.arange(count)).astype(node.output.type.dtype)))


@rule("BROADCAST_ARGS")
def broadcast_args(node: TfliteNode) -> None:
    node.deliver(node.graph.ints(np.broadcast_shapes(node.numbers(0), node.numbers(1))))


@rule("ONE_HOT")
def one_hot(node: TfliteNode) -> None:
    indices, depth = node.input(0), node.number(1)
    expressible(depth > 0, f"depth is {depth}, must be at least 1")
    node.graph.reserve(4 * depth)
    scalar = node.is_scalar(0)
    rank = indices.rank + (not scalar)
    axis = node.axis(node.options.axis, rank)
    positions = np.arange(depth, dtype=np.int32).reshape([-1 if i == axis else 1 for i in range(rank)])
    spread = indices if scalar else node.apply(OperationCode.EXPAND_DIMS, indices, node.i32(axis), shape=())
    hot = Term(node, spread).compare(OperationCode.EQUAL, Term(node, node.graph.constant(positions))).value
    on, off = node.input(2), node.input(3)
    if node.output.type.code == BOOL8:
        switched = (on.array is not None and bool(on.array.all()), off.array is not None and not off.array.any())
        expressible(switched == (True, True), "its booleans are not true where hot and false elsewhere")
        node.deliver(hot)
        return
    choices = [broadcast(node, value, node.static_shape_of(hot)) for value in (on, off)]
    node.emit(OperationCode.SELECT, hot, *choices)


@rule("MATRIX_DIAG")
def matrix_diag(node: TfliteNode) -> None:
    x = node.graph.real(node.input(0))
    n = node.static_shape_of(x)[-1]
    rows = node.reshape(x, (*x.shape[:-1], 1, n))
    node.graph.reserve(4 * n * n)
    node.deliver((Term(node, rows) * Term(node, node.graph.constant(np.eye(n, dtype=x.type.dtype)))).value)


@rule("MATRIX_SET_DIAG")
def matrix_set_diag(node: TfliteNode) -> None:
    x, diagonal = node.reals()
    *batch, rows, columns = node.static_shape_of(x)
    node.graph.reserve(5 * rows * columns)
    eye = np.eye(rows, columns, dtype=np.bool_)
    shape = (*batch, rows, columns)
    spread = np.zeros((min(rows, columns), columns), x.type.dtype)
    np.fill_diagonal(spread, 1)
    along = node.reshape(diagonal, (*batch, min(rows, columns), 1))
    lines = (Term(node, along) * Term(node, node.graph.constant(spread))).value
    if rows > columns:
        missing = node.graph.full(x.type.with_dimensions((*batch, rows - columns, columns)))
        lines = node.concatenate([lines, missing], len(batch))
    mask = broadcast(node, node.graph.constant(eye), shape)
    node.deliver(choose(Term(node, mask), Term(node, lines), Term(node, x)).value)


# StableHLO


@rule("STABLEHLO_CONCATENATE")
def stablehlo_concatenate(node: TfliteNode) -> None:
    node.concatenate(node.inputs, node.axis(node.options.dimension, node.input(0).rank), to=node.output)


@rule("STABLEHLO_RESHAPE")
def stablehlo_reshape(node: TfliteNode) -> None:
    node.reshape(node.input(0), node.output.shape, to=node.output)


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
