"""Reductions along axes, and running sums."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from nnapi.codes import OperationCode
from nnapi.importers.graph import BOOL8, FLOAT32, INT32, Value
from nnapi.importers.movement import collapse
from nnapi.importers.onnx.layout import read_as_stored, view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, WIDEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rules.movement import concatenate_values
from nnapi.importers.onnx.tensors import BYTES, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, exp, in_float32, log, sqrt
from nnapi.operation_codes import CompositeCode

Formula = Callable[[Term], Term]


def _same(x: Term) -> Term:
    return x


def _square(x: Term) -> Term:
    return x * x


class Reduction(NamedTuple):
    """NNAPI's reduction, and the formulas to apply before and after it."""

    code: OperationCode
    before: Formula = _same
    after: Formula = _same


REDUCTIONS = {
    "ReduceL1": Reduction(OperationCode.REDUCE_SUM, before=abs),
    "ReduceL2": Reduction(OperationCode.REDUCE_SUM, _square, sqrt),
    "ReduceLogSum": Reduction(OperationCode.REDUCE_SUM, after=log),
    "ReduceLogSumExp": Reduction(OperationCode.REDUCE_SUM, exp, log),
    "ReduceMax": Reduction(OperationCode.REDUCE_MAX),
    "ReduceMean": Reduction(OperationCode.MEAN),
    "ReduceMin": Reduction(OperationCode.REDUCE_MIN),
    "ReduceProd": Reduction(OperationCode.REDUCE_PROD),
    "ReduceSum": Reduction(OperationCode.REDUCE_SUM),
    "ReduceSumSquare": Reduction(OperationCode.REDUCE_SUM, _square),
}
OF_QUANTIZED = ("ReduceMax", "ReduceMean", "ReduceMin")
"""Reductions on quantized values, with one scale for input and result."""
OF_LARGE = ("ReduceL2", "ReduceLogSum", "ReduceSumSquare")
"""Reductions whose sums may exceed float16 where their results do not, or whose squares vanish."""
OF_BOOLEANS = {"ReduceMax": OperationCode.REDUCE_ANY, "ReduceMin": OperationCode.REDUCE_ALL}


def reduce_axes(code: OperationCode, x: Term, axes: Sequence[int]) -> Term:
    node = x.node
    keep = node.i32(1) if code == OperationCode.MEAN else node.flag(True)
    return Term(node, node.apply(code, x.value, node.graph.ints(list(axes)), keep)) if axes else x


@rule(*REDUCTIONS)
def reduce(node: OnnxNode) -> OnnxTensor:
    """Lower a reduction; integers are computed as float32, exact up to 2**24."""
    tensor, shape = node.tensor(0), node.shape(0)
    given = node.integers(1, "axes")
    keep = bool(node.attribute("keepdims"))
    if not given and not node.attribute("noop_with_empty_axes"):
        given = range(len(shape))
    axes = {node.axis(axis, len(shape)) for axis in given or ()}
    result = tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)
    value, axis_of, is_nhwc = _input_for_axes(node, axes, keep)
    if len(shape) > HIGHEST_RANK and not is_nhwc:
        laid, where = collapse(node.static_shape(0), [axis in axes for axis in range(len(shape))])
        expressible(len(laid) <= WIDEST_RANK, "it reduces along too many axes that are not adjacent")
        value, axis_of = node.view(value, laid), dict(enumerate(where))
    found = _reduce(node, value, sorted({axis_of[axis] for axis in axes}))
    return node.result(found.value, result, elem=tensor.elem, is_nhwc=is_nhwc and keep)


def _input_for_axes(node: OnnxNode, axes: Collection[int], keep: bool) -> tuple[Value, dict[int, int], bool]:
    """Return input 0 in its current layout, or in the file's if the axes that remain would be permuted."""
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    left = [axis_of[axis] for axis in range(node.tensor(0).rank) if axis not in axes]
    if is_nhwc and not keep and left != sorted(left):
        return node.stored(0), {axis: axis for axis in range(node.tensor(0).rank)}, False
    return value, axis_of, is_nhwc


def _reduce(node: OnnxNode, value: Value, axes: Sequence[int]) -> Term:
    kind, code = node.kind, REDUCTIONS[node.kind].code
    if value.type.code == BOOL8:
        expressible(kind in OF_BOOLEANS, "NNAPI reduces booleans to any or all")
        return reduce_axes(OF_BOOLEANS[kind], Term(node, value), axes)
    if node.tensor(0).elem in BYTES:
        expressible(kind in ("ReduceMax", "ReduceMin"), "NNAPI adds no bytes that stand for themselves")
        return reduce_axes(code, Term(node, value), axes)
    if not (axes and kind in OF_QUANTIZED and _stays_quantized(node, value)):
        value = node.graph.real(value)
    compute = partial(_compute, axes=axes)
    if value.type.code != INT32 or not axes:
        return in_float32(compute)(Term(node, value)) if kind in OF_LARGE else compute(Term(node, value))
    expressible(kind != "ReduceMean", "NNAPI has no mean of integers")
    node.note("reductions of int32 are computed as float32, exact up to 2**24")
    found = compute(Term(node, node.cast(value, FLOAT32)))
    return Term(node, node.cast(found.value, INT32))


def _compute(x: Term, axes: Sequence[int]) -> Term:
    code, before, after = REDUCTIONS[x.node.kind]
    if before is not exp:
        return after(reduce_axes(code, before(x), axes))
    top = reduce_axes(OperationCode.REDUCE_MAX, x, axes)  # subtracted below, so that exponentials stay finite
    return after(reduce_axes(code, before(x - top), axes)) + top


def _stays_quantized(node: OnnxNode, x: Value) -> bool:
    """Return whether the result may stay quantized: a mean needs a scale at most as large as the result's."""
    return node.kind != "ReduceMean" or (node.wanted is not None and x.type.scale <= node.wanted.scale)


def _view_along(node: OnnxNode) -> Value:
    shape = node.static_shape(0)
    return view_around(node, node.input(0), shape, node.axis(int(node.array(1).reshape(-1)[0]), len(shape)))


@rule("CumSum")
def cumulative_sum(node: OnnxNode) -> OnnxTensor:
    x, elem = node.input(0), node.tensor(0).elem
    expressible(elem not in BYTES, "NNAPI adds no bytes that stand for themselves")
    axis = node.axis(int(node.array(1).reshape(-1)[0]), x.rank)
    flags = (node.flag(node.attribute(name)) for name in ("exclusive", "reverse"))
    return node.result(node.apply(CompositeCode.CUMSUM, x, node.i32(axis), *flags, shape=x.shape), elem=elem)


@rule("CumProd")
def cumulative_product(node: OnnxNode) -> OnnxTensor:
    """Lower CumProd: in pass k, multiply each element by the one 2**k positions earlier."""
    laid, elem = _view_along(node), node.tensor(0).elem
    expressible(elem not in BYTES, "NNAPI multiplies no bytes that stand for themselves")
    is_reverse, distance = bool(node.attribute("reverse")), 1
    if node.attribute("exclusive"):
        laid = _move_along(node, laid, 1, is_reverse)
    while distance < laid.shape[1]:
        laid = (Term(node, laid) * Term(node, _move_along(node, laid, distance, is_reverse))).value
        distance *= 2
    return node.result(laid, node.shape(0), elem=elem)


def _move_along(node: OnnxNode, value: Value, distance: int, is_reverse: bool) -> Value:
    """Shift elements by ``distance`` along the middle of three axes, and fill with ones."""
    outer, count, inner = value.shape
    ones = node.spread(value.type, 1, (outer, distance, inner))
    if count == distance:
        return ones
    rest = node.slice(value, [0, distance if is_reverse else 0, 0], [outer, count - distance, inner])
    return concatenate_values(node, [rest, ones] if is_reverse else [ones, rest], 1)
