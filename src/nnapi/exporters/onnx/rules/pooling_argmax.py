"""MaxPool with indices, and MaxUnpool.

ONNX's indices are positions in the flattened tensor of images in NCHW order; NNAPI's composites have positions in
windows. Of equal maxima, MaxPool gives the first one by rows: where the composite counts by columns, rows and columns
are swapped before and after.
"""

from typing import Any

import numpy as np

from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite

BY_ROWS, BY_COLUMNS = (0, 3, 1, 2), (0, 3, 2, 1)
"""The order of the axes of an NHWC image in which MaxPool counts."""


@lower(Composite.ARGMAX_POOL_2D)
def argmax_pool(
    context: OnnxContext, input: Value, paddings: Array, strides: Array, size: Array, column_major: bool
) -> list[Value]:
    order, axes = (BY_COLUMNS, [1, 0]) if column_major else (BY_ROWS, [0, 1])
    size, strides, paddings = size[axes], strides[axes], paddings[axes]
    require(bool((paddings < size[:, np.newaxis]).all()), "its padding is as wide as the window, ONNX takes less")
    x, shape = context.real(context.transpose(input, order)), [context.result().shape[axis] for axis in order]
    window = {"kernel_shape": size.tolist(), "strides": strides.tolist()}
    largest, index = x.like(shape), x.like(shape, element=np.int64)
    context.emit("MaxPool", [x], largest, pads=paddings.T.reshape(-1).tolist(), **window)
    context.operators[-1].outputs.append(index)
    columns = x.shape[3]
    cell = _compute(context, "Mod", index, x.shape[2] * columns)
    row = _compute(context, "Div", cell, columns)
    number = _compute(context, "Add", cell, _compute(context, "Mul", row, int(size[1]) - columns))
    first_rows, first_columns = (
        np.arange(count) * step - before for count, step, before in zip(shape[2:], strides, paddings[:, 0], strict=True)
    )
    positions = _compute(context, "Sub", number, first_rows[:, np.newaxis] * size[1] + first_columns)
    back = np.argsort(order).tolist()
    return [context.transpose(context.store(largest), back), context.narrow(context.transpose(positions, back), 1)]


@lower(Composite.MAX_UNPOOL_2D)
def max_unpool(context: OnnxContext, input: Value, positions: Value, size: Array, column_major: bool) -> Value:
    """Emit MaxUnpool of values and their indices; values whose position is outside of the window become 0."""
    height, width = size.tolist()
    x, number = context.cast(context.to_nchw(input), np.float32), context.cast(context.to_nchw(positions), np.int64)
    n, depth, rows, columns = x.shape
    high, wide = rows * height, columns * width
    inside = context.clip(number, 0, height * width - 1)
    is_inside = context.emit("Equal", [number, inside], number.like(element=np.bool_))
    kept = context.emit("Where", [is_inside, x, constant(0, np.float32)], x.like())
    first = _compute(context, "Div", inside, height if column_major else width)
    share = (wide, 1 - height * wide) if column_major else (1, wide - width)
    offset = _compute(
        context, "Add", _compute(context, "Mul", inside, share[0]), _compute(context, "Mul", first, share[1])
    )
    images = np.arange(n * depth).reshape(n, depth, 1, 1) * (high * wide)
    windows = np.arange(rows)[:, np.newaxis] * (height * wide) + np.arange(columns) * width
    index = _compute(context, "Add", _compute(context, "Add", offset, images), windows)
    window = {"kernel_shape": [height, width], "strides": [height, width]}
    written = context.emit("MaxUnpool", [kept, index], x.like((n, depth, high, wide)), **window)
    return context.to_nhwc(context.cast(written, context.result().element))


def _compute(context: OnnxContext, kind: str, x: Value, other: Any) -> Value:
    """Emit an operator on 64-bit integers, of which ``other`` may be constant."""
    operand = other if isinstance(other, Value) else constant(other, np.int64)
    return context.emit(kind, [x, operand], x.like())
