"""Resize to sizes that only a run knows: positions are computed, and elements are gathered and mixed."""

from collections.abc import Callable, Sequence

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOAT32, INT32, Value
from nnapi.importers.onnx.computed_sizes import read_size
from nnapi.importers.onnx.layout import read_as_stored
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.resize_map import OUTWARD, read_sampling
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term, ceil, floor
from nnapi.operation_codes import CompositeCode

ROUNDINGS: dict[str, Callable[[Term], Term]] = {
    "floor": floor,
    "ceil": ceil,
    "round_prefer_floor": lambda at: ceil(at - 0.5),
    "round_prefer_ceil": lambda at: floor(at + 0.5),
}
LAYOUTS = ("asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel")


def resize_at_run(node: OnnxNode, axes: Sequence[int], given: int, *, by_scale: bool) -> OnnxTensor:
    """Resize along ``axes``. Input ``given`` holds a size for each of them, or with ``by_scale`` a factor."""
    tensor, mode = node.tensor(0), node.attribute("mode", "nearest")
    expressible(mode in ("nearest", "linear"), f"its mode is {mode}, and its size is computed")
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    expressible(policy == "stretch", f"its keep_aspect_ratio_policy is {policy}, and its size is computed")
    expressible(not node.attribute("antialias", 0), "it filters, and its size is computed")
    expressible(tensor.rank <= HIGHEST_RANK, f"it resizes a tensor of rank {tensor.rank} to a computed size")
    value, axis_of, is_nhwc = read_as_stored(node, 0)
    shape, known = list(tensor.dims), _read_known(node.tensor(given))
    for i, axis in enumerate(axes):
        size = known[i]
        if size is not None and size == (1 if by_scale else shape[axis]):
            continue
        own = _as_float(Term(node, node.graph.ints([shape[axis]]) if shape[axis] else read_size(node, 0, axis)))
        number = _pick(node, given, i)
        positions = _find_positions(own, number, by_scale=by_scale)
        rounding = _find_rounding(node, number) if mode == "nearest" else None
        value = _resize_axis(value, axis_of[axis], positions, own - 1, rounding)
        shape[axis] = int(size) if size and not by_scale else DYNAMIC
    return node.result(value, tuple(shape), elem=tensor.elem, is_nhwc=is_nhwc)


def _read_known(given: OnnxTensor) -> list[float | None]:
    """Return the sizes or factors that are known before a run, and None for the others."""
    array = given.known_sizes if given.array is None else given.array
    (count,) = given.dims
    return [None] * count if array is None else [None if each < 0 else each for each in array.reshape(-1).tolist()]


def _pick(node: OnnxNode, given: int, i: int) -> Term:
    value = node.input(given)
    return _as_float(Term(node, node.apply(OperationCode.GATHER, value, node.i32(0), node.graph.ints([i]), shape=(1,))))


def _as_float(term: Term) -> Term:
    return Term(term.node, term.node.cast(term.value, FLOAT32))


def _find_positions(own: Term, number: Term, *, by_scale: bool) -> Term:
    """Return the position in the input of each element of the result along an axis of size ``own``."""
    node = own.node
    count, scale = (own * number, number) if by_scale else (number, number / own)  # ONNX does not round the length
    bounds = node.graph.ints([0]), node.cast(floor(count).value, INT32), node.graph.ints([1])
    steps = node.apply(CompositeCode.RANGE, *bounds, type=bounds[0].type.with_dimensions(()), shape=(DYNAMIC,))
    return _place(_as_float(Term(node, steps)), own, count, scale)


def _place(at: Term, own: Term, count: Term, scale: Term) -> Term:
    layout = read_sampling(at.node).coordinate_transformation_mode
    expressible(layout in LAYOUTS, f"its coordinate_transformation_mode is {layout}, and its size is computed")
    if layout == "asymmetric":
        return at / scale
    if layout == "align_corners":
        return at * (own - 1) / (count - 1).apply(OperationCode.MAXIMUM, 1)
    centers = (at + 0.5) / scale - 0.5
    several = ceil(count - 1).apply(OperationCode.MINIMUM, 1)  # 0 if there is a single element, which lies at the first
    return centers if layout == "half_pixel" else centers * several


def _find_rounding(node: OnnxNode, scale: Term) -> Callable[[Term], Term]:
    way = read_sampling(node).nearest_mode
    if way == OUTWARD:
        shrinks = ceil(1 - scale).apply(OperationCode.MAXIMUM, 0)  # 1 or 0
        return lambda at: floor(at) + (ceil(at) - floor(at)) * shrinks
    expressible(way in ROUNDINGS, f"its nearest_mode is {way}, must be one of {', '.join(ROUNDINGS)}")
    return ROUNDINGS[way]


def _resize_axis(value: Value, axis: int, at: Term, last: Term, rounding: Callable[[Term], Term] | None) -> Value:
    """Return the elements at the rounded positions along an axis; without a rounding, mixtures of the two around."""
    node = at.node
    if rounding is not None:
        return _gather(value, axis, _clamp(rounding(at), last))
    at, real = _clamp(at, last), node.graph.real(value)
    low = floor(at)
    first, second = (Term(node, _gather(real, axis, each)) for each in (low, _clamp(low + 1, last)))
    share = node.view((at - low).value, [1] * axis + [DYNAMIC] + [1] * (value.rank - axis - 1))
    mixture: Value = (first + (second - first) * Term(node, node.cast(share, real.type.code))).value
    return mixture


def _clamp(at: Term, last: Term) -> Term:
    return at.apply(OperationCode.MAXIMUM, 0).apply(OperationCode.MINIMUM, last)


def _gather(value: Value, axis: int, positions: Term) -> Value:
    node, shape = positions.node, (*value.shape[:axis], DYNAMIC, *value.shape[axis + 1 :])
    at = node.cast(positions.value, INT32)
    found: Value = node.apply(OperationCode.GATHER, value, node.i32(axis), at, shape=shape)
    return found
