"""Operators on tensors of more than four dimensions, computed on *rows*: values of lower rank with the same elements.
For example, networks upsample by multiplying an image [1, h, 1, w, 1, c] by ones [1, 1, 2, 1, 2, 1]."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.importers.graph import Value, real_numbers
from nnapi.importers.movement import collapse, merge_axes
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import HIGHEST_RANK, TfliteNode, is_alike
from nnapi.importers.tflite.rules import HIGH_RANK, OF_HIGH_RANK, RULES
from nnapi.importers.tflite.rules.indexing import FULL, plan_slice, write_slice
from nnapi.model.operand import Shape
from nnapi.ops.shapes import outer_and_inner

MOVES = "RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE CONCATENATION PACK UNPACK SPLIT TILE BROADCAST_TO SLICE"
REDUCTIONS = "SUM MEAN REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL"
ALONG_LAST = "SOFTMAX L2_NORMALIZATION FULLY_CONNECTED TOPK_V2"
OTHERS = "STRIDED_SLICE PAD PADV2 CUMSUM BATCH_MATMUL GATHER_ND"
OF_EACH = [kind for kind in OF_HIGH_RANK if kind not in f"{MOVES} {REDUCTIONS} {ALONG_LAST} {OTHERS}".split()]


class RowNode(TfliteNode):
    """An operator whose inputs and outputs are rows, or other values of lower rank."""

    def __init__(self, node: TfliteNode, rows: Sequence[Value], shape: Shape) -> None:
        """``shape`` is that of each output."""
        super().__init__(node.scope, node.operator)
        self._rows = rows
        for value in self.outputs:
            value.type = value.type.with_dimensions(shape)

    def input(self, i: int) -> Value:
        return self._rows[i]

    def bind(self, i: int, value: Value) -> None:
        self.outputs[i] = value


def shape_of(node: TfliteNode, i: int) -> Shape:
    return node.static_shape_of(node.input(i))


@HIGH_RANK.register("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def reshape(node: TfliteNode) -> None:
    row, out = node.row(0), node.static_shape_of(node.output)
    fits = math.prod(row.shape) == math.prod(out)
    need(fits, f"{list(shape_of(node, 0))} does not reshape to {list(out)}", BadDataError)
    node.deliver_row(row)


@HIGH_RANK.register("TRANSPOSE")
def transpose_axes(node: TfliteNode) -> None:
    shape, order = shape_of(node, 0), node.numbers(1)
    expressible(sorted(order) == list(range(len(shape))), f"{order} is not an order of {len(shape)} axes")
    laid, positions = merge_axes(shape, order)
    if len(laid) <= HIGHEST_RANK:
        row = node.reshape(node.row(0), laid) if laid else node.row(0)
        node.deliver_row(row if positions == sorted(positions) else node.transpose(row, positions))
    else:
        node.deliver_row(_move_one_by_one(node, node.row(0), laid, positions))


def _move_one_by_one(node: TfliteNode, row: Value, sizes: Sequence[int], order: Sequence[int]) -> Value:
    """Transpose a row axis by axis: move each to its position past the axes before it, which are merged."""
    now = list(range(len(sizes)))
    for position, axis in enumerate(order):
        at = now.index(axis)
        if at != position:
            parts = (now[:position], now[position:at], [axis], now[at + 1 :])
            laid = node.reshape(row, [math.prod(sizes[each] for each in part) for part in parts])
            row = node.transpose(laid, (0, 2, 1, 3))
            now.insert(position, now.pop(at))
    return row


@HIGH_RANK.register("CONCATENATION", "PACK")
def concatenate_or_pack(node: TfliteNode) -> None:
    out, is_pack = node.static_shape_of(node.output), node.kind == "PACK"
    expressible(is_pack or not node.options.activation, "NNAPI fuses no activation with a CONCATENATION")
    axis = node.axis(node.options.axis, len(out))
    before, behind = outer_and_inner(out, axis)
    pieces = []
    for i in range(node.count):
        width = 1 if is_pack else shape_of(node, i)[axis]
        pieces.append(node.reshape(node.row(i), (before, width, behind)))
    node.deliver_row(node.concatenate(pieces, 1))


@HIGH_RANK.register("UNPACK", "SPLIT")
def cut(node: TfliteNode) -> None:
    i = 0 if node.kind == "UNPACK" else 1
    shape, count = shape_of(node, i), len(node.outputs)
    axis = node.axis(node.options.axis if node.kind == "UNPACK" else node.number(0), len(shape))
    need(
        shape[axis] % count == 0,
        f"shape {list(shape)} cannot be split into {count} outputs along axis {axis}",
        BadDataError,
    )
    before, behind = outer_and_inner(shape, axis)
    for j, piece in enumerate(node.split(node.reshape(node.row(i), (before, shape[axis], behind)), 1, count)):
        node.deliver_row(piece, j)


@HIGH_RANK.register("SLICE")
def slice_block(node: TfliteNode) -> None:
    """Lower SLICE; adjacent axes that are not cut are merged."""
    shape, begin, size = shape_of(node, 0), node.numbers(1), node.numbers(2)
    cuts = [first != 0 or count not in (-1, width) for first, count, width in zip(begin, size, shape, strict=True)]
    merged, where = collapse(shape, [axis if is_cut else -1 for axis, is_cut in enumerate(cuts)])
    fits = len(merged) <= HIGHEST_RANK
    expressible(fits, f"it cuts axes that lie among {len(merged)} groups, NNAPI has {HIGHEST_RANK}")
    row, first, widths = node.reshape(node.row(0), merged), [0] * len(merged), list(merged)
    for axis in np.flatnonzero(cuts).tolist():
        first[where[axis]] = begin[axis]
        widths[where[axis]] = shape[axis] - begin[axis] if size[axis] == -1 else size[axis]
    node.deliver_row(node.slice(row, first, widths))


@HIGH_RANK.register("TILE")
def tile(node: TfliteNode) -> None:
    node.deliver_row(repeat_row(node, node.row(0), shape_of(node, 0), node.numbers(1)))


@HIGH_RANK.register("BROADCAST_TO")
def broadcast_to(node: TfliteNode) -> None:
    node.deliver_row(spread(node, 0, tuple(node.numbers(1))))


@HIGH_RANK.register(*REDUCTIONS.split())
def reduce(node: TfliteNode) -> None:
    """Reduce along all axes at once if that is possible with merged axes; else along one after the other."""
    shape = shape_of(node, 0)
    axes = sorted({node.axis(axis, len(shape)) for axis in node.numbers(1)})
    merged, where = collapse(shape, [axis in axes for axis in range(len(shape))])
    if len(merged) <= HIGHEST_RANK:
        node.deliver_row(_reduce(node, node.reshape(node.row(0), merged), sorted({where[axis] for axis in axes})))
        return
    is_exact = node.output.is_float or node.kind not in ("MEAN", "SUM", "REDUCE_PROD")
    expressible(is_exact, f"it reduces quantized values along {len(axes)} axes that are not adjacent")
    sizes, row = list(shape), node.row(0)
    for axis in axes:
        before, behind = outer_and_inner(tuple(sizes), axis)
        row = _reduce(node, node.reshape(row, (before, sizes[axis], behind)), [1])
        sizes[axis] = 1
    node.deliver_row(row)


def _reduce(node: TfliteNode, row: Value, axes: Sequence[int]) -> Value:
    keep = node.i32(1) if node.kind == "MEAN" else node.flag(True)
    left = tuple(1 if k in axes else size for k, size in enumerate(row.shape))
    found = node.temporary(node.output.type.with_dimensions(left), "reduced")
    return node.emit(node.code, row, node.graph.ints(axes), keep, to=found)


@HIGH_RANK.register(*OF_EACH)
def compute_each(node: TfliteNode) -> None:
    """Apply the operator's ordinary rule to rows; a multiplication by ones only repeats elements."""
    out = node.static_shape_of(node.output)
    if node.kind == "MUL" and not node.options.activation:
        for i in (0, 1):
            if _is_one(node.input(1 - i)) and is_alike(node.input(i).type, node.output.type):
                node.deliver_row(spread(node, i, out))
                return
    count = math.prod(out)
    rows = [
        node.reshape(spread(node, i, out), (count,)) if node.row(i).shape != (1,) else node.row(i)
        for i in range(node.count)
    ]
    apply_to_rows(node, rows, (count,))


def apply_to_rows(node: TfliteNode, rows: Sequence[Value], shape: Shape) -> None:
    """Apply the operator's ordinary rule to values of lower rank; ``shape`` is that of each output."""
    inner = RowNode(node, rows, shape)
    RULES[node.kind](inner)
    for i, value in enumerate(inner.outputs):
        node.deliver_row(value, i)


def compute_row(node: TfliteNode, rows: Sequence[Value], shape: Shape) -> Value:
    """Apply the operator's ordinary rule to values of lower rank; return its output, of this shape."""
    inner = RowNode(node, rows, shape)
    RULES[node.kind](inner)
    return inner.output


@HIGH_RANK.register(*ALONG_LAST.split())
def compute_along_last(node: TfliteNode) -> None:
    """Merge all axes but the last."""
    *before, depth = shape_of(node, 0)
    width = node.static_shape_of(node.output)[-1]
    row = node.reshape(node.row(0), (math.prod(before), depth))
    others = [node.optional(i) for i in range(1, node.count)]
    apply_to_rows(node, [row, *others], (math.prod(before), width))


@HIGH_RANK.register("CUMSUM")
def cumsum(node: TfliteNode) -> None:
    shape = shape_of(node, 0)
    axis = node.axis(node.number(1), len(shape))
    before, behind = outer_and_inner(shape, axis)
    merged = before, shape[axis], behind
    apply_to_rows(node, [node.reshape(node.row(0), merged), node.graph.ints([1])], merged)


@HIGH_RANK.register("BATCH_MATMUL")
def batch_matmul(node: TfliteNode) -> None:
    (*first, rows, depth), (*second, more, columns) = (shape_of(node, i) for i in (0, 1))
    expressible(first == second, f"NNAPI's operations take no batches of shapes {first} and {second}")
    merged = [(math.prod(first), rows, depth), (math.prod(second), more, columns)]
    values = [node.reshape(node.row(i), shape) for i, shape in enumerate(merged)]
    apply_to_rows(node, values, (math.prod(first), *node.static_shape_of(node.output)[-2:]))


@HIGH_RANK.register("GATHER_ND")
def gather_nd(node: TfliteNode) -> None:
    """Merge the axes that indices do not name."""
    shape, (*outer, depth) = shape_of(node, 0), shape_of(node, 1)
    rest = math.prod(shape[depth:])
    expressible(depth < HIGHEST_RANK, f"its indices name {depth} axes")
    expressible(len(outer) < HIGHEST_RANK, f"its indices have rank {len(outer) + 1}")
    apply_to_rows(node, [node.reshape(node.row(0), (*shape[:depth], rest)), node.input(1)], (*outer, rest))


@HIGH_RANK.register("PAD", "PADV2")
def pad(node: TfliteNode) -> None:
    """Pad axis by axis; all others are merged."""
    sizes, row = list(shape_of(node, 0)), node.row(0)
    others = [node.input(i) for i in range(2, node.count)]
    for axis, (low, high) in enumerate(np.reshape(node.numbers(1), (-1, 2)).tolist()):
        if low or high:
            before, behind = outer_and_inner(tuple(sizes), axis)
            laid = node.reshape(row, (before, sizes[axis], behind))
            sizes[axis] += low + high
            rows = [laid, node.graph.ints([[0, 0], [low, high], [0, 0]]), *others]
            row = compute_row(node, rows, (before, sizes[axis], behind))
    node.deliver_row(row)


@HIGH_RANK.register("STRIDED_SLICE")
def strided_slice(node: TfliteNode) -> None:
    """Slice axis by axis; all others are merged. Dropped axes keep one element until the end."""
    sizes, row = list(shape_of(node, 0)), node.row(0)
    for axis, part in enumerate(plan_slice(node, len(sizes))[0]):
        taken = range(*slice(part.begin, part.end, part.stride).indices(sizes[axis]))
        if taken == range(sizes[axis]):
            continue
        before, behind = outer_and_inner(tuple(sizes), axis)
        laid = node.reshape(row, (before, sizes[axis], behind))
        sizes[axis] = len(taken)
        inner = RowNode(node, [laid], (before, sizes[axis], behind))
        write_slice(inner, laid, [FULL, replace(part, shrink=False), FULL], [])
        row = inner.output
    node.deliver_row(row)


def _is_one(value: Value) -> bool:
    if value.array is None or value.type.channel:
        return False
    numbers = real_numbers(value.type, value.array) if value.is_quantized else value.array
    return bool(np.allclose(numbers, 1, rtol=0, atol=1e-5))


def spread(node: TfliteNode, i: int, shape: Shape) -> Value:
    """Broadcast input ``i`` to ``shape``; return the result's row."""
    own = (1,) * (len(shape) - node.input(i).rank) + shape_of(node, i)
    fits = len(own) == len(shape) and all(have in (1, want) for have, want in zip(own, shape, strict=True))
    need(fits, f"{list(own)} does not stretch to {list(shape)}", BadDataError)
    return repeat_row(node, node.row(i), own, [want // have for have, want in zip(own, shape, strict=True)])


def repeat_row(node: TfliteNode, row: Value, shape: Shape, counts: Sequence[int]) -> Value:
    axes = [axis for axis, count in enumerate(counts) if count != 1]
    if (
        len(axes) == 2
        and all(shape[axis] == 1 and counts[axis].bit_count() == 1 for axis in axes)
        and row.array is None
    ):
        return _scale_image(node, row, shape, axes, [counts[axis] for axis in axes])
    sizes = list(shape)
    for axis in reversed(axes):
        before, behind = outer_and_inner(tuple(sizes), axis)
        laid = node.reshape(row, (before, sizes[axis], behind))
        sizes[axis] *= counts[axis]
        wide = (before, sizes[axis], behind)
        row = node.apply(OperationCode.TILE, laid, node.graph.ints([1, counts[axis], 1]), shape=wide)
    return row


def _scale_image(node: TfliteNode, row: Value, shape: Shape, axes: Sequence[int], times: Sequence[int]) -> Value:
    first, second = axes  # both axes have one element
    height, width = math.prod(shape[:first]), math.prod(shape[first:second])
    image = node.reshape(row, (1, height, width, math.prod(shape[second:])))
    tall, wide = height * times[0], width * times[1]
    size = (node.i32(wide), node.i32(tall), node.flag(False))
    return node.apply(OperationCode.RESIZE_NEAREST_NEIGHBOR, image, *size, shape=(1, tall, wide, image.shape[3]))
