"""Comparison of two plans' results by whole outputs, as rounding errors grow to many quantization steps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.facts import Trait
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.model.precision import Precision

FLOAT, HALF, RELAXED, BFLOAT, QUANTIZED = 50.0, 25.0, 6.0, 3.0, 5.0
"""Minimum decibels (signal to difference) at which results agree: float32, float16 tensors, float16 arithmetic,
bfloat16 arithmetic, quantized. Measured: engines agree to 8 or more (float16 to 7, quantized on zeros to 4.5, bfloat16
to 3.4), unrelated results to 3 or less. Below the limit, the reference decides."""
STEPS = 2.0
"""Quantization steps by which a quantized result may always differ."""
TINY = 1e-5
"""Absolute difference that float results may always have."""
UNSTABLE = Trait.ORDERS | Trait.STEPS | Trait.DRAWS | Trait.COMPARES
"""Traits of operations that can turn a small difference into a large one."""


@dataclass(frozen=True)
class Distance:
    """The largest difference, in quantization steps if results are quantized, and the signal-to-difference ratio in
    decibels, None if nothing differs."""

    largest: float
    in_steps: bool
    decibels: float | None


Pair = tuple[float, int, Array | None, Array]
"""Scale (0 if not quantized), zero point, expected and found result."""


def measure(pairs: Iterable[Pair]) -> Distance:
    """Return the distance of found results from expected ones; infinite if shapes differ."""
    largest, signal, noise, in_steps = 0.0, 0.0, 0.0, True
    for scale, zero_point, right, found in pairs:
        in_steps = in_steps and bool(scale)
        if right is None or right.shape != found.shape:
            return Distance(np.inf, bool(scale), -np.inf)
        wanted, given = (_as_double(zero_point, array) for array in (right, found))
        with np.errstate(all="ignore"):
            same = (wanted == given) | (np.isnan(wanted) & np.isnan(given))
            off = np.where(same, 0, np.nan_to_num(np.abs(given - wanted), nan=np.inf))
            largest = max(largest, float(off.max(initial=0)))
            signal += float(np.sum(np.square(np.where(np.isfinite(wanted), wanted, 0) * (scale or 1.0))))
            noise += float(np.sum(np.square(off * (scale or 1.0))))
    with np.errstate(divide="ignore", invalid="ignore"):
        decibels = float(10 * np.log10(np.float64(signal) / noise)) if noise else None
    return Distance(largest, in_steps, decibels)


def find_difference(
    model: Model, expected: Sequence[Array], found: Sequence[Array], least: float | None = None
) -> str | None:
    """Describe the first output that agrees to fewer than ``least`` decibels, by default :func:`find_tolerance`; None
    if all agree."""
    least, unstable = find_tolerance(model) if least is None else least, find_unstable(model)
    for number, (index, right, given) in enumerate(zip(model.outputs, expected, found, strict=True)):
        operand = model.operands[index]
        label = f"output {number} ({operand.name or operand.type})"
        if right.shape != given.shape:
            return f"{label} has dimensions {list(given.shape)} instead of {list(right.shape)}"
        if given.dtype.kind == "f" and (lost := int(np.sum(~np.isfinite(given) & np.isfinite(right)))):
            return f"{label} has {lost} elements that are infinite or NaN"
        if given.dtype.kind == "f":
            given = np.where(np.isfinite(right), given, right)  # compare only where a finite result is expected
        if index in unstable:
            continue
        distance = measure([(operand.type.scale, operand.type.zero_point, right, given)])
        if distance.decibels is None or distance.largest <= (STEPS if operand.type.scale else TINY):
            continue
        if distance.decibels < least:
            unit = " quantization steps" if operand.type.scale else ""
            off = f"{distance.largest:.3g}{unit}, {distance.decibels:.1f} dB"
            return f"{label} differs by up to {off} (at least {least:.0f} dB are expected)"
    return None


def measure_agreement(model: Model, right: Sequence[Array], found: Sequence[Array]) -> float:
    """Return the lowest agreement of an output in dB; infinite if none differs. Unstable outputs do not count."""
    unstable, least = find_unstable(model), np.inf
    for index, wanted, given in zip(model.outputs, right, found, strict=True):
        if index not in unstable:
            operand = model.operands[index]
            decibels = measure([(operand.type.scale, operand.type.zero_point, wanted, given)]).decibels
            least = least if decibels is None else min(least, decibels)
    return least


def find_tolerance(model: Model) -> float:
    """Return the minimum decibels at which two results of a model agree."""
    codes = {operand.type.code for operand in model.operands}
    if model.dynamic_range or any(operand.type.scale for operand in model.operands):
        return QUANTIZED
    if model.precision is not Precision.FLOAT32:
        return RELAXED if model.precision is Precision.FLOAT16 else BFLOAT
    return HALF if OperandCode.TENSOR_FLOAT16 in codes else FLOAT


def find_unstable(model: Model) -> set[int]:
    """Return the operands that depend on an unstable operation, or on control flow, whose branch may differ."""
    found: set[int] = set()
    for call in model.operations:
        known = REGISTRY.get(call.code)
        is_unstable = known is None or bool(known.facts.traits & UNSTABLE) or not found.isdisjoint(call.inputs)
        if is_unstable or any(isinstance(model.operands[index].value, Model) for index in call.inputs):
            found.update(call.outputs)
    return found


def _as_double(zero_point: int, array: Array) -> Array:
    plain = array.view(np.uint8) if array.dtype == np.bool_ else array
    with np.errstate(invalid="ignore"):
        return np.asarray(np.asarray(plain, np.float64) - zero_point)
