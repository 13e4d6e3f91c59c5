"""Reductions along axes, and running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.arithmetic import add, multiply, subtract
from nnapi.importers.graph import BOOL8, FLOAT32, INT32, Value
from nnapi.importers.onnx.layout import collapse, read_as_stored, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.rules import rule
from nnapi.importers.onnx.rules.movement import block, join
from nnapi.importers.onnx.tensors import BYTES, Tensor
from nnapi.importers.refusals import expressible
from nnapi.model.operand import OperandType

CODES = {
    "ReduceMax": OperationCode.REDUCE_MAX,
    "ReduceMean": OperationCode.MEAN,
    "ReduceMin": OperationCode.REDUCE_MIN,
    "ReduceProd": OperationCode.REDUCE_PROD,
    "ReduceSum": OperationCode.REDUCE_SUM,
}
IN_CODES = ("ReduceMax", "ReduceMean", "ReduceMin")
"""Reductions that NNAPI computes on quantized values with one scale for input and result."""
OF_BOOLEANS = {"ReduceMax": OperationCode.REDUCE_ANY, "ReduceMin": OperationCode.REDUCE_ALL}


def reduce_axes(node: Node, code: OperationCode, x: Value, axes: Sequence[int]) -> Value:
    """A reduction that keeps its axes."""
    keep = node.i32(1) if code == OperationCode.MEAN else node.flag(True)
    return node.apply(code, x, node.graph.ints(list(axes)), keep)


def _sum(node: Node, x: Value, axes: Sequence[int]) -> Value:
    return reduce_axes(node, OperationCode.REDUCE_SUM, x, axes)


def _sum_square(node: Node, x: Value, axes: Sequence[int]) -> Value:
    return _sum(node, multiply(node, x, x), axes)


def _l1(node: Node, x: Value, axes: Sequence[int]) -> Value:
    return _sum(node, node.apply(OperationCode.ABS, x), axes)


def _l2(node: Node, x: Value, axes: Sequence[int]) -> Value:
    return node.apply(OperationCode.SQRT, _sum_square(node, x, axes))


def _log_sum(node: Node, x: Value, axes: Sequence[int]) -> Value:
    return node.apply(OperationCode.LOG, _sum(node, x, axes))


def _log_sum_exp(node: Node, x: Value, axes: Sequence[int]) -> Value:
    """With the largest taken out, so that nothing grows beyond all bounds."""
    top = reduce_axes(node, OperationCode.REDUCE_MAX, x, axes)
    return add(node, _log_sum(node, node.apply(OperationCode.EXP, subtract(node, x, top)), axes), top)


COMPOSED: dict[str, Callable[[Node, Value, Sequence[int]], Value]] = {
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": _sum_square,
}


@rule(*CODES, *COMPOSED)
def reduce(node: Node) -> Tensor:
    """Integers are reduced as float32, which is exact up to 2**24."""
    tensor, shape = node.tensor(0), node.shape(0)
    given = node.integers(1, "axes")
    keep = bool(node.attribute("keepdims", 1))
    if not given and node.attribute("noop_with_empty_axes", 0):
        axes: set[int] = set()
    else:
        axes = {node.axis(axis, len(shape)) for axis in given} if given else set(range(len(shape)))
    result = tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)
    value, places, is_nhwc = _input_for_axes(node, axes, keep)
    if len(shape) > HIGHEST_RANK:
        laid, where = collapse(node.static_shape(0), [axis in axes for axis in range(len(shape))])
        expressible(len(laid) <= HIGHEST_RANK, "it reduces along too many axes that are not adjacent")
        value, places = node.view(value, laid), dict(enumerate(where))
    found = _reduce(node, value, sorted({places[axis] for axis in axes}))
    stays = is_nhwc and keep
    if is_nhwc and not keep:
        rest = tuple(size for i, size in enumerate(found.shape) if i not in {places[axis] for axis in axes})
        found = node.view(found, _without_ones(rest, result))
    return node.result(found, result, elem=tensor.elem, is_nhwc=stays)


def _without_ones(rest: tuple[int, ...], result: tuple[int, ...]) -> tuple[int, ...]:
    return result if len(rest) != len(result) else rest


def _input_for_axes(node: Node, axes: set[int], keep: bool) -> tuple[Value, dict[int, int], bool]:
    """The input as it lies, or ordered as in the file where the axes that stay would lie otherwise."""
    value, places, is_nhwc = read_as_stored(node, 0)
    left = [places[axis] for axis in range(node.tensor(0).rank) if axis not in axes]
    if is_nhwc and not keep and left != sorted(left):
        return node.codes(0), {axis: axis for axis in range(node.tensor(0).rank)}, False
    return value, places, is_nhwc


def _reduce(node: Node, x: Value, axes: Sequence[int]) -> Value:
    kind = node.kind
    if x.type.code == BOOL8:
        expressible(kind in OF_BOOLEANS, "NNAPI reduces booleans to any or all")
        return reduce_axes(node, OF_BOOLEANS[kind], x, axes) if axes else x
    if node.tensor(0).elem in BYTES:
        expressible(kind in ("ReduceMax", "ReduceMin"), "NNAPI adds no bytes that stand for themselves")
        return reduce_axes(node, CODES[kind], x, axes) if axes else x
    x = x if axes and kind in IN_CODES and _stays_in_codes(node, x) else node.graph.real(x)
    if not axes:
        return _of_each(node, x)
    if x.type.code != INT32:
        return COMPOSED[kind](node, x, axes) if kind in COMPOSED else reduce_axes(node, CODES[kind], x, axes)
    expressible(kind != "ReduceMean", "NNAPI has no mean of integers")
    node.note("reductions of int32 are computed as float32, exact up to 2**24")
    real = node.apply(OperationCode.CAST, x, type=OperandType(FLOAT32))
    found = COMPOSED[kind](node, real, axes) if kind in COMPOSED else reduce_axes(node, CODES[kind], real, axes)
    return node.apply(OperationCode.CAST, found, type=OperandType(INT32))


def _stays_in_codes(node: Node, x: Value) -> bool:
    """Return whether the result may have the input's scale: NNAPI rounds a mean to that scale, so the wanted one must
    not be finer."""
    return node.kind != "ReduceMean" or (node.wanted is not None and x.type.scale <= node.wanted.scale)


def _of_each(node: Node, x: Value) -> Value:
    """A reduction along no axes: what it does to one element."""
    if node.kind in ("ReduceL1", "ReduceL2"):
        return node.apply(OperationCode.ABS, x)
    if node.kind == "ReduceLogSum":
        return node.apply(OperationCode.LOG, x)
    return multiply(node, x, x) if node.kind == "ReduceSumSquare" else x


@rule("CumSum")
def cumsum(node: Node) -> Tensor:
    """A product with a triangle of ones."""
    tensor, shape = node.tensor(0), node.static_shape(0)
    axis = node.axis(int(node.array(1).reshape(-1)[0]), len(shape))
    n = shape[axis]
    x = node.input(0)
    whole = x.type.code == INT32
    node.graph.reserve(4 * n * n)
    laid = view_around(node, x, shape, axis)
    if whole:
        node.note("sums of int32 are computed as float32, exact up to 2**24")
        laid = node.apply(OperationCode.CAST, laid, type=OperandType(FLOAT32))
    triangle = np.tri(n, n, -1 if node.attribute("exclusive", 0) else 0, np.float32)
    triangle = triangle.T if node.attribute("reverse", 0) else triangle
    outer = math.prod(shape[:axis])
    matrix = node.constant(np.broadcast_to(triangle, (outer, n, n)), laid)
    summed = node.apply(OperationCode.BATCH_MATMUL, matrix, laid, node.flag(False), node.flag(False))
    summed = node.apply(OperationCode.CAST, summed, type=OperandType(INT32)) if whole else summed
    return node.result(summed, shape, elem=tensor.elem)


@rule("CumProd")
def cumulative_product(node: Node) -> Tensor:
    """Each element times the product of those before it, of which every pass takes in twice as many."""
    tensor, shape = node.tensor(0), node.static_shape(0)
    axis = node.axis(int(node.array(1).reshape(-1)[0]), len(shape))
    laid = view_around(node, node.input(0), shape, axis)
    expressible(tensor.elem not in BYTES, "NNAPI multiplies no bytes that stand for themselves")
    is_reverse, distance = bool(node.attribute("reverse", 0)), 1
    if node.attribute("exclusive", 0):
        laid = _move_along(node, laid, 1, is_reverse)
    while distance < shape[axis]:
        laid = multiply(node, laid, _move_along(node, laid, distance, is_reverse))
        distance *= 2
    return node.result(laid, shape, elem=tensor.elem)


def _move_along(node: Node, value: Value, distance: int, is_reverse: bool) -> Value:
    """Shift elements along the middle axis of three, filling with ones."""
    outer, count, inner = value.shape
    ones = node.spread(value.type, 1, (outer, distance, inner))
    if count == distance:
        return ones
    rest = block(node, value, [0, distance if is_reverse else 0, 0], [outer, count - distance, inner])
    return join(node, [rest, ones] if is_reverse else [ones, rest], 1)
