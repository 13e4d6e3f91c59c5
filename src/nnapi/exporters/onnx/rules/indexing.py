"""Look elements up by position or order."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.exporters.onnx.rules.movement import bounds_of_reversal
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.coordinates import Reduction
from nnapi.ops.shapes import axis_of


@lower(Op.GATHER)
def gather(context: OnnxContext, input: Value, axis: int, indices: Value) -> Value:
    return context.move(context.kind, [input, indices], axis=axis_of(axis, len(input.shape)))


@lower(Composite.TAKE)
def take(context: OnnxContext, input: Value, axis: int, indices: Value) -> Value:
    return context.move("Gather", [input, indices], axis=axis_of(axis, len(input.shape)))


@lower(Composite.GATHER_ELEMENTS)
def gather_elements(context: OnnxContext, input: Value, axis: int, indices: Value, from_end: bool) -> Value:
    return context.move("GatherElements", [input, indices], axis=axis_of(axis, len(input.shape)))


@lower(Composite.GATHER_ND)
def gather_nd(context: OnnxContext, input: Value, indices: Value, batch_dims: int, from_end: bool) -> Value:
    shape = (*indices.shape[:-1], *input.shape[batch_dims + indices.shape[-1] :])
    wide = context.cast(indices, np.int64)
    found = context.emit("GatherND", [input, wide], input.like(shape), batch_dims=batch_dims)
    return context.reshape(found, context.result().shape)


@lower(Composite.SCATTER_ELEMENTS)
def scatter_elements(
    context: OnnxContext, input: Value, axis: int, indices: Value, updates: Value, reduction: int, from_end: bool
) -> Value:
    attributes = {"axis": axis_of(axis, len(input.shape)), "reduction": Reduction(reduction).name.lower()}
    return context.compute("ScatterElements", input, indices, updates, **attributes)


@lower(Composite.SCATTER_ND)
def scatter_nd(
    context: OnnxContext, input: Value, indices: Value, updates: Value, reduction: int, from_end: bool
) -> Value:
    wide, depth = context.cast(indices, np.int64), indices.shape[-1]
    given = context.reshape(context.real(updates), (*indices.shape[:-1], *input.shape[depth:]))
    return context.compute("ScatterND", input, wide, given, reduction=Reduction(reduction).name.lower())


@lower(Op.SELECT)
def select(context: OnnxContext, condition: Value, a: Value, b: Value) -> Value:
    return context.move("Where", [condition, *context.in_one_scale([a, b])])


@lower(Composite.NONZERO)
def nonzero(context: OnnxContext, input: Value) -> Value:
    real = context.real(input)
    x = context.cast(real, np.float32) if real.element == np.float16 else real
    out = context.result()
    return context.narrow(context.emit("NonZero", [x], out.like(element=np.int64)))


@lower(Composite.UNIQUE)
def unique(context: OnnxContext, input: Value, axis: int, sorted: bool) -> list[Value]:
    """Emit Unique of a type that ONNX Runtime has."""
    x = context.cast(input, np.float32 if input.element.kind == "f" else np.int64)
    out, *positions = (context.result(position) for position in range(4))
    slices = x.like(out.shape)
    context.emit("Unique", [x], slices, axis=axis_of(axis, len(input.shape)), sorted=int(sorted))
    context.operators[-1].outputs += [each.like(element=np.int64) for each in positions]
    found = context.operators[-1].outputs[1:]
    kept = slices if x is input else context.emit("Cast", [slices], out, to=out.element)
    return [kept, *(context.narrow(value, position) for position, value in enumerate(found, 1))]


@lower(Op.ARGMAX, Op.ARGMIN)
def arg_extreme(context: OnnxContext, input: Value, axis: int) -> Value:
    out, axis = context.result(), axis_of(axis, len(input.shape))
    shape = [1 if i == axis else size for i, size in enumerate(input.shape)]
    x = context.real(input)
    found = context.emit(context.kind, [x], x.like(shape, element=np.int64), axis=axis, keepdims=1)
    return context.narrow(context.reshape(found, out.shape))


@lower(Op.TOPK_V2)
def top_k(context: OnnxContext, input: Value, k: int) -> list[Value]:
    """Reverse rows: of equal elements, ONNX puts the first index first, NNAPI the last."""
    last = len(input.shape) - 1
    x = context.real(context.emit("Slice", [input, *bounds_of_reversal([last])], input.like()))
    values, narrow = _find_largest(context, x, k, axis=last)
    end = constant([x.shape[last] - 1], narrow.element)
    return [values, context.emit("Sub", [end, narrow], context.result(1))]


@lower(Composite.TOP_K)
def top_k_along(context: OnnxContext, input: Value, axis: int, k: int, largest: bool) -> list[Value]:
    return _find_largest(context, context.real(input), k, axis=axis_of(axis, len(input.shape)), largest=int(largest))


def _find_largest(context: OnnxContext, x: Value, k: int, **attributes: int) -> list[Value]:
    shape = context.result().shape
    found, where = x.like(shape), x.like(shape, element=np.int64)
    context.emit("TopK", [x, constant([k])], found, **attributes)
    context.operators[-1].outputs.append(where)
    return [context.store(found), context.narrow(where, 1)]
