"""Pooling: one value per window of an image or volume, or of its regions."""

from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import Padding, Pair


@lower(Op.AVERAGE_POOL_2D, Op.MAX_POOL_2D)
def pool(context: OnnxContext, input: Value, padding: Padding, stride: Pair, size: Pair) -> Value:
    fits = all(before < window and after < window for (before, after), window in zip(padding, size, strict=True))
    require(fits, "its padding is as wide as the window, ONNX takes less")
    return context.on_image(context.kind, input, padding=padding, kernel_shape=list(size), strides=list(stride))


@lower(Composite.AVERAGE_POOL_3D, Composite.MAX_POOL_3D)
def pool_3d(context: OnnxContext, input: Value, paddings: Array, strides: Array, size: Array) -> Value:
    window = {"kernel_shape": size.tolist(), "strides": strides.tolist()}
    return context.on_image(context.kind, input, padding=paddings.tolist(), **window)


@lower(Composite.ROI_ALIGN_V2)
def roi_align(
    context: OnnxContext,
    feature_map: Value,
    rois: Value,
    batch_index: Value,
    out_height: int,
    out_width: int,
    spatial_scale: float,
    samples: int,
    half_pixel: bool,
    maximum: bool,
) -> Value:
    require(feature_map.element == np.float32, "RoiAlign of ONNX Runtime computes float32 only")
    options: dict[str, Any] = {
        "output_height": out_height,
        "output_width": out_width,
        "spatial_scale": float(spatial_scale),
        "sampling_ratio": samples,
        "coordinate_transformation_mode": "half_pixel" if half_pixel else "output_half_pixel",
        "mode": "max" if maximum else "avg",
    }
    return context.on_image("RoiAlign", feature_map, rois, context.cast(batch_index, np.int64), **options)
