"""What the engine must never be handed: it ends the process, instead of raising, on some graphs."""

from __future__ import annotations

import math

import numpy as np

from nnapi.drivers.xnnpack.graph import Operator, Tensor

LARGEST_TENSOR = 2**30
"""Bytes."""
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-40, 2.0**40
"""Beyond these the engine's fixed-point multipliers overflow."""


def complaint(operator: Operator) -> str | None:
    """Why an operator cannot be handed over; None where it can."""
    for tensor in (*operator.inputs, *operator.outputs):
        reason = _tensor_complaint(tensor) if tensor is not None else None
        if reason:
            return reason
    return None


def _tensor_complaint(tensor: Tensor) -> str | None:
    if tensor.data is not None and tensor.data.shape != tensor.shape:
        return f"{tensor} has a value of shape {list(tensor.data.shape)}"
    if 4 * tensor.size > LARGEST_TENSOR:
        return f"{tensor} is larger than the engine takes"
    if tensor.is_quantized and tensor.type != "i32":
        return _scale_complaint(tensor)
    return None


def _scale_complaint(tensor: Tensor) -> str | None:
    scales = np.atleast_1d(np.asarray(tensor.scale, np.float64))
    low, high = float(scales.min()), float(scales.max())
    if not (math.isfinite(low + high) and low >= SMALLEST_SCALE and high <= LARGEST_SCALE):
        return f"{tensor} has scales {low:g} to {high:g}, the engine takes {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
    return None
