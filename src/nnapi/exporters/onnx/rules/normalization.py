"""Normalize values by the values around them."""

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of


@lower(Op.SOFTMAX, Op.LOG_SOFTMAX)
def softmax(context: OnnxContext, input: Value, beta: float, axis: int) -> Value:
    x = context.real(input)
    if beta != 1:
        x = context.emit("Mul", [x, constant(beta, x.element)], x.like())
    return context.store(context.emit(context.kind, [x], x.like(), axis=axis_of(axis, len(x.shape))))


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(context: OnnxContext, input: Value, gamma: float, beta: float, epsilon: float) -> Value:
    factors = [constant(np.full(input.shape[3], number), input.element) for number in (gamma, beta)]
    return context.on_image(context.kind, input, *factors, epsilon=float(epsilon))


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    context: OnnxContext, input: Value, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Value:
    """Emit LRN. ONNX normalizes along axis 1, in float32, and divides alpha by the size of the window."""
    rank, size = len(input.shape), 2 * radius + 1
    axis = axis_of(axis, rank)
    whole = context.reshape(input, (1,) * (4 - rank) + input.shape)
    axis_of_four = axis + 4 - rank
    order = [0, axis_of_four, *(i for i in range(1, 4) if i != axis_of_four)] if axis_of_four else [1, 0, 2, 3]
    transposed = context.cast(context.transpose(whole, order), np.float32)
    options = {"alpha": float(alpha) * size, "beta": float(beta), "bias": float(bias), "size": size}
    made = context.cast(context.emit("LRN", [transposed], transposed.like(), **options), input.element)
    return context.reshape(context.transpose(made, np.argsort(order).tolist()), input.shape)


@lower(Composite.LAYER_NORM)
def layer_norm(
    context: OnnxContext, input: Value, gamma: Value | None, beta: Value | None, axis: int, epsilon: float
) -> Value:
    """Emit LayerNormalization, whose scale has the shape of the normalized axes. RMSNormalization is of a newer opset
    than the one that is written."""
    axis = axis_of(axis, len(input.shape))
    group = input.shape[axis:]
    given = [value for value in (gamma, beta) if value is not None]
    require(all(value.shape == group for value in given), "ONNX does not stretch its scale and bias")
    scale = constant(np.ones(group), input.element) if gamma is None else gamma
    factors = [scale] if beta is None else [scale, beta]
    return context.compute("LayerNormalization", input, *factors, axis=axis, epsilon=float(epsilon))
