"""Compute nodes on constants that depend on sizes: as expressions, or again for each substitution."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi.formats.onnx import messages as onnx
from nnapi.formats.onnx.messages import attribute_value
from nnapi.importers.onnx.numpy_folding import Attributes, flatten
from nnapi.importers.onnx.tensors import BOOL, DTYPES, OnnxTensor, words
from nnapi.importers.refusals import expressible
from nnapi.shapes.array import SymbolicArray, as_integers, as_objects, broadcast, has_sizes, is_symbolic, wrap

Fold = Callable[..., Any]
"""Computes the node's first result from arrays."""
UFUNCS: dict[str, Any] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Neg": np.negative,
}
ELEMENTWISE = words("Abs And Ceil Cos Div Erf Exp Floor Log Max Min Mod Not Or Pow Reciprocal Round Sign Sin Sqrt Sum")
ELEMENTWISE += words("Relu Sigmoid Tanh Where Xor")
"""Further operators whose result has the shape that their inputs broadcast to."""
SAME_SHAPE = words("Clip CumSum EyeLike IsInf IsNaN LogSoftmax ScatterElements ScatterND Softmax Trilu")
"""Operators whose result has the shape of their first input."""


def fold_symbolic(
    proto: onnx.NodeProto, tensors: Sequence[OnnxTensor | None], fold: Fold
) -> SymbolicArray | Any | None:
    """Return the result of a node with one output on constants, of which some depend on sizes."""
    arrays = [None if tensor is None else tensor.constant for tensor in tensors]
    attributes = {each.name: attribute_value(each) for each in proto.attribute}
    if proto.op_type in UFUNCS:
        return UFUNCS[proto.op_type](*arrays)
    found = KERNELS[proto.op_type](attributes, *arrays) if proto.op_type in KERNELS else None
    if found is None and proto.op_type in ELEMENTWISE:
        found = broadcast(each.shape for each in arrays if each is not None)
    elif found is None and proto.op_type in SAME_SHAPE and arrays[0] is not None:
        found = arrays[0].shape
    is_shape = found is None or isinstance(found, tuple)
    return _leader(arrays).derive(fold, arrays, found) if is_shape else found


def _leader(arrays: Sequence[Any]) -> SymbolicArray:
    return next(each for each in arrays if is_symbolic(each))


def _integers(array: Any) -> list[Any]:
    found: list[Any] = array.reshape(-1).tolist()
    return found


def _axes(attributes: Attributes, given: Any | None) -> list[int] | None:
    return attributes.get("axes") if given is None else [int(each) for each in _integers(given)]


def _cast(attributes: Attributes, x: Any) -> Any:
    to = attributes["to"]
    if to not in DTYPES:
        return None
    return x != 0 if to == BOOL else x.astype(DTYPES[to])


def _unsqueeze(attributes: Attributes, x: Any, given: Any | None = None) -> Any:
    axes, shape = _axes(attributes, given) or [], list(x.shape)
    rank = len(shape) + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        shape.insert(axis, 1)
    return x.reshape(tuple(shape))


def _squeeze(attributes: Attributes, x: Any, given: Any | None = None) -> Any:
    shape, axes = x.shape, _axes(attributes, given)
    if axes is None:
        axes = [axis for axis, size in enumerate(shape) if size == 1]
    dropped = {axis % len(shape) for axis in axes}
    return x.reshape(tuple(size for axis, size in enumerate(shape) if axis not in dropped))


def _reshape(attributes: Attributes, x: Any, shape: Any) -> Any:
    wanted = _integers(shape)
    if not attributes.get("allowzero"):
        wanted = [size if size != 0 else x.shape[axis] for axis, size in enumerate(wanted)]
    return x.reshape(tuple(wanted)) if is_symbolic(x) else None


def _gather(attributes: Attributes, data: Any, indices: Any) -> Any:
    axis = attributes.get("axis", 0) % data.ndim
    if is_symbolic(data) and data.elements is not None and not is_symbolic(indices):
        return wrap(data, np.take(data.elements, indices, axis))
    return (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])


def _concat(attributes: Attributes, *arrays: Any) -> Any:
    leader = _leader(arrays)
    axis = attributes["axis"] % leader.ndim
    if all(not is_symbolic(each) or each.elements is not None for each in arrays) and leader.dtype.kind in "iu":
        return wrap(leader, np.concatenate(list(map(as_objects, arrays)), axis))
    shape = list(leader.shape)
    shape[axis] = sum(each.shape[axis] for each in arrays)
    return tuple(shape)


def _div(attributes: Attributes, *arrays: Any) -> Any:
    if not all(each.dtype.kind in "iu" and (not is_symbolic(each) or each.elements is not None) for each in arrays):
        return None
    return wrap(_leader(arrays), np.vectorize(_divide, [object])(*map(as_objects, arrays)))


def _divide(a: Any, b: Any) -> Any:
    """Divide towards zero, as ONNX does; its quotients of sizes are never negative."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def _range(attributes: Attributes, *arrays: Any) -> Any:
    leader = _leader(arrays)
    if leader.dtype.kind not in "iu":
        return None
    start, limit, delta = (each.item() for each in arrays)
    count = max(-((start - limit) // delta), 0)
    if isinstance(count, int) and count <= 64:
        return as_integers([start + i * delta for i in range(count)], leader.dtype)
    return (count,)


def _fill(attributes: Attributes, shape: Any) -> Any:
    return tuple(_integers(shape))


def _expand(attributes: Attributes, x: Any, shape: Any) -> Any:
    found = broadcast([x.shape, _integers(shape)])
    expressible(found is not None, "its shapes do not broadcast")
    return found


def _tile(attributes: Attributes, x: Any, repeats: Any) -> Any:
    return tuple([size * count for size, count in zip(x.shape, _integers(repeats), strict=True)])


def _shape(attributes: Attributes, x: Any) -> Any:
    return as_integers(list(x.shape[attributes.get("start") : attributes.get("end")]), np.int64)


def _size(attributes: Attributes, x: Any) -> Any:
    return as_integers([x.size], np.int64).reshape(())


def _multiply(attributes: Attributes, *arrays: Any) -> Any:
    a, b = (each.shape for each in arrays)
    outer = broadcast([a[:-2], b[:-2]]) if min(len(a), len(b)) > 1 else None
    return None if outer is None else (*outer, a[-2], b[-1])


def _product(attributes: Attributes, data: Any, axes: Any | None = None) -> Any:
    """Multiply all elements of a shape."""
    if not is_symbolic(data) or data.elements is None or data.ndim != 1:
        return None
    return as_integers([math.prod(data.tolist())], data.dtype).reshape((1,) if attributes.get("keepdims", 1) else ())


def _reduce(attributes: Attributes, data: Any, given: Any | None = None) -> Any:
    axes = _axes(attributes, given)
    if axes is None or (not axes and attributes.get("noop_with_empty_axes")):
        return None
    reduced = {axis % data.ndim for axis in axes or range(data.ndim)}
    if attributes.get("keepdims", 1):
        return tuple(1 if axis in reduced else size for axis, size in enumerate(data.shape))
    return tuple(size for axis, size in enumerate(data.shape) if axis not in reduced)


def _where(attributes: Attributes, chosen: Any, a: Any, b: Any) -> Any:
    if is_symbolic(chosen) or any(is_symbolic(each) and each.elements is None for each in (a, b)):
        return None
    if a.dtype.kind not in "iu":
        return None
    return wrap(_leader((a, b)), np.where(chosen, as_objects(a), as_objects(b)))


def _slice(attributes: Attributes, data: Any, *bounds: Any) -> Any:
    if len(bounds) < 2:
        return None
    starts, ends = _integers(bounds[0]), _integers(bounds[1])
    axes = range(len(starts)) if len(bounds) < 3 or bounds[2] is None else [int(each) for each in _integers(bounds[2])]
    steps = [1] * len(starts) if len(bounds) < 4 or bounds[3] is None else [int(each) for each in _integers(bounds[3])]
    if is_symbolic(data) and data.elements is not None and not has_sizes([*starts, *ends]):
        index = [slice(None)] * data.ndim
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            index[axis] = slice(start, None if end < -data.ndim and step < 0 else end, step)
        return wrap(data, data.elements[tuple(index)])
    if any(step != 1 for step in steps):
        return None
    shape = list(data.shape)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        low, high = (clamp(each, shape[axis]) for each in (start, end))
        shape[axis] = high - low if high > low else 0
    return tuple(shape)


def _pad(
    attributes: Attributes, x: Any, pads: Any | None = None, value: Any | None = None, axes: Any | None = None
) -> Any:
    shape = list(x.shape)
    pads = attributes.get("pads", []) if pads is None else _integers(pads)
    axes = range(len(shape)) if axes is None else [int(each) for each in _integers(axes)]
    for axis, before, behind in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        shape[axis] += before + behind
    return tuple(shape)


def clamp(bound: Any, size: Any) -> Any:
    """Return the bound of a slice, which may count from the end of an axis, as a position from 0 to the axis's end."""
    if bound < 0:
        bound = bound + size
    if bound < 0:
        return 0
    return size if bound > size else bound


KERNELS: dict[str, Callable[..., Any]] = {
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _fill,
    "Div": _div,
    "Expand": _expand,
    "Flatten": flatten,
    "Gather": _gather,
    "GatherElements": lambda attributes, data, indices: tuple(indices.shape),
    "Identity": lambda attributes, x: x,
    "MatMul": _multiply,
    "Pad": _pad,
    "Range": _range,
    "ReduceMax": _reduce,
    "ReduceMean": _reduce,
    "ReduceMin": _reduce,
    "ReduceProd": _product,
    "ReduceSum": _reduce,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": lambda attributes, x: x.transpose(attributes.get("perm", [*range(x.ndim)][::-1])),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""Functions that return a result whose elements are expressions, else a tuple, the result's shape; None if neither is
known. Substitutions compute the other results by the node's own operator."""
