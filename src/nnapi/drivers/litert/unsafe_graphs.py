"""Checks for graphs that the engine must not get, because it may end the process."""

import math

from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.lowering.tflite.context import HIGHEST_RANKS

LARGEST_TENSOR = 2**30
"""Maximum bytes of a tensor."""
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-40, 2.0**40
"""Range of scales in which the engine's fixed-point multipliers do not overflow."""


def find_violation(operator: Operator, sound: set[Tensor]) -> str | None:
    """Return why the engine must not get an operator; None if it may. Checked tensors are added to ``sound``."""
    most = HIGHEST_RANKS.get(operator.kind)
    if most is not None and len(operator.outputs[0].shape) > most:
        return f"{operator.kind} of rank {len(operator.outputs[0].shape)}, the engine takes at most {most}"
    for tensor in (*operator.inputs, *operator.outputs):
        if tensor is None or tensor in sound:
            continue
        reason = _find_tensor_violation(tensor)
        if reason:
            return reason
        sound.add(tensor)
    return None


def _find_tensor_violation(tensor: Tensor) -> str | None:
    data, scale = tensor.data, tensor.scale
    if data is not None and data.shape != tensor.shape and tensor.block_scales is None:  # else it is packed
        return f"{tensor} has a value of shape {list(data.shape)}"
    if 4 * math.prod(tensor.shape) > LARGEST_TENSOR:
        return f"{tensor} is larger than the engine takes"
    if tensor.type == "i32" or (isinstance(scale, float) and not scale):
        return None
    low, high = (scale, scale) if isinstance(scale, float) else (float(scale.min()), float(scale.max()))
    if SMALLEST_SCALE <= low <= high <= LARGEST_SCALE:
        return None
    return f"{tensor} has scales {low:g} to {high:g}, the engine takes {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
