"""Operators that NumPy computes on constants in a line, as ONNX's reference evaluator does.

Importing the evaluator takes longer than importing most files. A function returns None for what it does not compute.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from nnapi.formats.onnx import messages as onnx
from nnapi.formats.onnx.messages import attribute_value
from nnapi.importers.onnx.tensors import DTYPES, STRING
from nnapi.model.operand import Array

Arrays = Sequence[Array]
Attributes = Mapping[str, Any]
Compute = Callable[..., "Array | None"]


def fold_by_numpy(proto: onnx.NodeProto, opset: int, inputs: Sequence[Array | None]) -> Array | None:
    """Return the only result of a node on constants; None if ONNX's evaluator must compute it."""
    compute = COMPUTED.get(proto.op_type)
    if compute is None or len(proto.output) != 1 or opset < OLDEST:
        return None
    known = [array for array in inputs if array is not None]
    if (len(known) < len(inputs) and proto.op_type not in OPTIONAL) or any(each.dtype.kind in "OSU" for each in known):
        return None
    try:
        with np.errstate(all="ignore"):
            found = compute({each.name: attribute_value(each) for each in proto.attribute}, *inputs)
    except (ValueError, IndexError, TypeError, KeyError, OverflowError):  # the evaluator raises the error
        return None
    return None if found is None else np.asarray(found)


OLDEST = 13
"""The opset from which the definitions are those computed here: axes of Squeeze are an input, and so on."""
OPTIONAL = ("Gemm", "Pad", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Slice", "Squeeze")


def _cast(attributes: Attributes, x: Array) -> Array | None:
    dtype = DTYPES.get(attributes["to"])
    is_rounded = x.dtype.kind == "f" and not np.isfinite(x).all() and dtype is not None and dtype.kind != "f"
    return None if dtype is None or attributes["to"] == STRING or is_rounded else x.astype(dtype)


def _reshape(attributes: Attributes, x: Array, shape: Array) -> Array | None:
    if attributes.get("allowzero") or shape.ndim != 1:
        return None
    return x.reshape([x.shape[i] if size == 0 else int(size) for i, size in enumerate(shape.tolist())])


def _unsqueeze(attributes: Attributes, x: Array, axes: Array) -> Array:
    return np.expand_dims(x, tuple(axes.reshape(-1).tolist()))


def _squeeze(attributes: Attributes, x: Array, axes: Array | None = None) -> Array:
    return np.squeeze(x, None if axes is None else tuple(axes.reshape(-1).tolist()))


def _slice(
    attributes: Attributes,
    x: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array | None:
    along = [*range(len(starts))] if axes is None else axes.tolist()
    parts = [slice(None)] * x.ndim
    by = [1] * len(starts) if steps is None else steps.tolist()
    for axis, begin, end, step in zip(along, starts.tolist(), ends.tolist(), by, strict=True):
        parts[axis] = slice(begin, end, step)
    return x[tuple(parts)]


def _multiply_matrices(attributes: Attributes, a: Array, b: Array, c: Array | None = None) -> Array | None:
    if a.dtype.kind != "f":
        return None
    a, b = (each.T if attributes.get(name) else each for each, name in ((a, "transA"), (b, "transB")))
    product, share = np.dot(a, b) * attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    found: Array = product if c is None or not share else product + c * share
    return found.astype(a.dtype)


def _gather(attributes: Attributes, x: Array, indices: Array) -> Array:
    return np.take(x, indices, attributes.get("axis", 0))


def _divide(attributes: Attributes, a: Array, b: Array) -> Array | None:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    return a // b if a.size and b.size and a.min() >= 0 and b.min() > 0 else None


def _power(attributes: Attributes, a: Array, b: Array) -> Array | None:
    return np.power(a, b).astype(a.dtype) if a.dtype.kind == b.dtype.kind == "f" else None


def _range(attributes: Attributes, start: Array, limit: Array, delta: Array) -> Array | None:
    if not start.ndim == limit.ndim == delta.ndim == 0 or start.dtype.kind not in "if" or start.dtype == np.float16:
        return None
    return np.arange(start.item(), limit.item(), delta.item()).astype(start.dtype)


def _constant_of_shape(attributes: Attributes, shape: Array) -> Array | None:
    from nnapi.importers.onnx.reader import to_array  # which imports this module's package

    value = to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    return np.full(shape.tolist(), value.reshape(-1)[0], value.dtype) if value.size == 1 else None


def _expand(attributes: Attributes, x: Array, shape: Array) -> Array:
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape.tolist()))))


def _transpose(attributes: Attributes, x: Array) -> Array:
    return np.transpose(x, attributes.get("perm"))


def flatten(attributes: Attributes, x: Array) -> Array:
    axis = attributes.get("axis", 1)
    axis += x.ndim * (axis < 0)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _constant(attributes: Attributes) -> Array | None:
    ((name, value),) = attributes.items()
    dtype = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    return np.array(value, dtype[name]) if name in dtype else None


def _concatenate(attributes: Attributes, *arrays: Array) -> Array:
    return np.concatenate(arrays, attributes["axis"])


def _where(attributes: Attributes, condition: Array, a: Array, b: Array) -> Array | None:
    found: Array = np.where(condition, a, b)
    return found if a.dtype == b.dtype else None


def _trilu(attributes: Attributes, x: Array, k: Array | None = None) -> Array:
    return (np.triu if attributes.get("upper", 1) else np.tril)(x, 0 if k is None else int(k))


def _shape(attributes: Attributes, x: Array) -> Array:
    return np.array(x.shape[attributes.get("start", 0) : attributes.get("end")], np.int64)


def _remainder(attributes: Attributes, a: Array, b: Array) -> Array | None:
    if a.dtype != b.dtype or (a.dtype.kind in "iu" and not b.all()):
        return None
    return np.fmod(a, b) if attributes.get("fmod") else np.mod(a, b)


def _pad(attributes: Attributes, x: Array, pads: Array, value: Array | None = None) -> Array | None:
    if attributes.get("mode", b"constant") != b"constant" or pads.min(initial=0) < 0:
        return None
    return np.pad(x, pads.reshape(2, -1).T, constant_values=0 if value is None else value.item())


def _scatter(attributes: Attributes, x: Array, indices: Array, updates: Array) -> Array | None:
    depth = indices.shape[-1]
    fits = x.dtype == updates.dtype and updates.shape == (*indices.shape[:-1], *x.shape[depth:])
    if not (depth and fits) or attributes.get("reduction", b"none") != b"none":
        return None
    found = x.copy()
    found[tuple(np.moveaxis(indices, -1, 0))] = updates  # of repeated indices, the last one counts
    return found


def _sum_products(attributes: Attributes, *arrays: Array) -> Array:
    return np.asarray(np.einsum(attributes["equation"].decode(), *arrays, optimize=True))


def _along_axes(compute: Callable[..., Array]) -> Compute:
    """Return a function that reduces along axes, which are an attribute or, in later opsets, an input."""

    def run(attributes: Attributes, x: Array, axes: Array | None = None) -> Array | None:
        given = attributes.get("axes", []) if axes is None else axes.reshape(-1).tolist()
        if not x.size or x.dtype.kind not in "fiu" or (not given and attributes.get("noop_with_empty_axes")):
            return None
        return compute(x, tuple(given) or None, keepdims=bool(attributes.get("keepdims", 1)))

    return run


def _reduce(compute: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *arrays: reduce(compute, arrays)


def _same(compute: Callable[..., Array], *, kinds: str = "fiu") -> Compute:
    """Return a function of operands of one type, which keeps the type."""

    def run(attributes: Attributes, *arrays: Array) -> Array | None:
        dtype = arrays[0].dtype
        is_fit = dtype.kind in kinds and all(array.dtype == dtype for array in arrays)
        return compute(*arrays).astype(dtype, copy=False) if is_fit else None

    return run


def _compare(compute: Callable[..., Array]) -> Compute:
    return lambda attributes, *arrays: compute(*arrays)


COMPUTED: Mapping[str, Compute] = {
    "Add": _same(np.add),
    "Sub": _same(np.subtract),
    "Mul": _same(np.multiply),
    "Div": _divide,
    "Pow": _power,
    "Neg": _same(np.negative, kinds="fi"),
    "Abs": _same(np.abs),
    "Sqrt": _same(np.sqrt, kinds="f"),
    "Floor": _same(np.floor, kinds="f"),
    "Ceil": _same(np.ceil, kinds="f"),
    "Exp": _same(np.exp, kinds="f"),
    "Log": _same(np.log, kinds="f"),
    "Sin": _same(np.sin, kinds="f"),
    "Cos": _same(np.cos, kinds="f"),
    "Tanh": _same(np.tanh, kinds="f"),
    "Reciprocal": _same(np.reciprocal, kinds="f"),
    "Round": _same(np.round, kinds="f"),
    "Sign": _same(np.sign),
    "Equal": _compare(np.equal),
    "Greater": _compare(np.greater),
    "GreaterOrEqual": _compare(np.greater_equal),
    "Less": _compare(np.less),
    "LessOrEqual": _compare(np.less_equal),
    "And": _compare(np.logical_and),
    "Or": _compare(np.logical_or),
    "Not": _compare(np.logical_not),
    "MatMul": _same(lambda a, b: np.dot(a, b) if max(a.ndim, b.ndim) <= 2 else np.matmul(a, b)),
    "Max": _same(_reduce(np.maximum)),
    "Min": _same(_reduce(np.minimum)),
    "Mod": _remainder,
    "Pad": _pad,
    "ReduceMax": _along_axes(np.maximum.reduce),
    "ReduceMean": _along_axes(lambda x, axes, keepdims: np.mean(x, axes, x.dtype, keepdims=keepdims)),
    "ReduceMin": _along_axes(np.minimum.reduce),
    "ReduceProd": _along_axes(lambda x, axes, keepdims: np.prod(x, axes, x.dtype, keepdims=keepdims)),
    "ReduceSum": _along_axes(lambda x, axes, keepdims: np.sum(x, axes, x.dtype, keepdims=keepdims)),
    "Shape": _shape,
    "Size": lambda attributes, x: np.array(x.size, np.int64),
    "Tile": lambda attributes, x, repeats: np.tile(x, repeats.tolist()),
    "Where": _where,
    "Identity": lambda attributes, x: x,
    "Cast": _cast,
    "Concat": _concatenate,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Einsum": _sum_products,
    "Expand": _expand,
    "Flatten": flatten,
    "Gather": _gather,
    "Gemm": _multiply_matrices,
    "Range": _range,
    "Reshape": _reshape,
    "ScatterND": _scatter,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
"""The functions by operator; the first parameter is the node's attributes."""
