"""Pooling: one value per window of an image."""

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import Context, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.lowering.refusal import require
from nnapi.ops.shapes import Padding, Pair


@lower(Op.AVERAGE_POOL_2D, Op.MAX_POOL_2D)
def pool(context: Context, input: Value, padding: Padding, stride: Pair, size: Pair) -> Value:
    fits = all(before < window and after < window for (before, after), window in zip(padding, size, strict=True))
    require(fits, "its padding is as wide as the window, ONNX takes less")
    return context.on_image(context.kind, input, padding=padding, kernel_shape=list(size), strides=list(stride))
