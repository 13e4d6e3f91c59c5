"""Do two plans give the same results, as far as rounding explains the differences?

Differences of rounding grow along a network, in quantized ones to many steps of the scale. So a result is judged as a
whole, by the ratio of its power to that of the difference, as ``nnapi compare`` prints it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.facts import Trait
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY

FLOAT, HALF, QUANTIZED = 50.0, 25.0, 6.0
"""Decibels of results that agree: of float32 networks, float16 or relaxed ones, and those with quantized values.

On the networks that this was tried on, engines agree to 8 decibels at least, unrelated results to 3 at most."""
STEPS = 2.0
"""Quantization steps that any quantized result may be off."""
TINY = 1e-5
"""Difference of float results that is never judged."""
UNSTABLE = Trait.ORDERS | Trait.STEPS | Trait.DRAWS | Trait.COMPARES
"""Traits of operations behind which a small difference may become any other."""


@dataclass(frozen=True)
class Distance:
    """The largest difference, in quantization steps where results have a scale, and the power of the signal relative to
    that of the difference, in decibels; None where nothing differs."""

    largest: float
    in_codes: bool
    decibels: float | None


Pair = tuple[float, int, Array | None, Array]
"""Scale (0 without one), zero point, expected and found result."""


def measure(pairs: Iterable[Pair]) -> Distance:
    """Measure how far results are from the expected ones; those of other dimensions are infinitely far."""
    largest, signal, noise, in_codes = 0.0, 0.0, 0.0, True
    for scale, zero_point, right, found in pairs:
        in_codes = in_codes and bool(scale)
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
    return Distance(largest, in_codes, decibels)


def find_difference(model: Model, expected: Sequence[Array], found: Sequence[Array]) -> str | None:
    """Say which output differs by more than rounding explains, and how much; None where none does."""
    least, unstable = _find_tolerance(model), _find_unstable(model)
    for number, (index, right, given) in enumerate(zip(model.outputs, expected, found, strict=True)):
        operand = model.operands[index]
        label = f"output {number} ({operand.name or operand.type})"
        if right.shape != given.shape:
            return f"{label} has dimensions {list(given.shape)} instead of {list(right.shape)}"
        if given.dtype.kind == "f" and (lost := int(np.sum(~np.isfinite(given) & np.isfinite(right)))):
            return f"{label} has {lost} elements that are infinite or NaN"
        if given.dtype.kind == "f":
            given = np.where(np.isfinite(right), given, right)  # nobody says what is right behind an infinite value
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


def _find_tolerance(model: Model) -> float:
    codes = {operand.type.code for operand in model.operands}
    if model.dynamic_range or any(operand.type.scale for operand in model.operands):
        return QUANTIZED
    return HALF if model.relaxed or OperandCode.TENSOR_FLOAT16 in codes else FLOAT


def _find_unstable(model: Model) -> set[int]:
    """Operands that depend on an operation with an unstable result, or on control flow, whose condition may change."""
    found: set[int] = set()
    for call in model.operations:
        known = REGISTRY.get(call.code)
        is_unstable = known is None or bool(known.facts.traits & UNSTABLE) or not found.isdisjoint(call.inputs)
        if is_unstable or any(isinstance(model.operands[index].value, Model) for index in call.inputs):
            found.update(call.outputs)
    return found


def _as_double(zero_point: int, array: Array) -> Array:
    """Return the values less their zero point, so that their power is that of the dequantized values."""
    plain = array.view(np.uint8) if array.dtype == np.bool_ else array
    with np.errstate(invalid="ignore"):
        return np.asarray(np.asarray(plain, np.float64) - zero_point)
