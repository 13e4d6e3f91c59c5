"""Compare outputs with an example's expected outputs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.model.operand import Array
from nnapi.testing.example import Criterion, Example


class Tolerance(NamedTuple):
    """Tolerance of a value: ``|actual - expected| <= atol + rtol * |expected|``, in double precision."""

    atol: float
    rtol: float = 0.0

    def __str__(self) -> str:
        return f"{self.atol:.6g} + {self.rtol:.6g} of the expected" if self.rtol else f"{self.atol:.6g}"


EXACT, STEP = Tolerance(0), Tolerance(1)
SINGLE = Tolerance(float(np.float32(1e-5)), 5 * 2.0**-23)
HALF = Tolerance(5 * 2.0**-10, 5 * 2.0**-10)

TOLERANCES: Mapping[str, Callable[[Criterion], Tolerance]] = {
    "TENSOR_FLOAT32": lambda criterion: HALF if criterion.float == "fp16" else SINGLE,
    "TENSOR_FLOAT16": lambda criterion: HALF,
    "TENSOR_INT32": lambda criterion: STEP,
    "INT32": lambda criterion: STEP,
    "TENSOR_QUANT8_ASYMM": lambda criterion: Tolerance(criterion.quant8_atol),
    "TENSOR_QUANT8_ASYMM_SIGNED": lambda criterion: Tolerance(criterion.quant8_atol),
    "TENSOR_QUANT8_SYMM": lambda criterion: Tolerance(criterion.quant8_atol),
    "TENSOR_QUANT16_ASYMM": lambda criterion: STEP,
    "TENSOR_QUANT16_SYMM": lambda criterion: STEP,
    "TENSOR_BOOL8": lambda criterion: EXACT,
}
"""Tolerance of each output type under an example's criterion, used by every comparison of outputs."""

EXACT_WHEN_STRICT = frozenset({"TENSOR_INT32", "INT32"})
"""Types of counts and indices: a difference of 1 is wrong, although the public test harness accepts it."""


def tolerance_for(type: str, criterion: Criterion, *, strict: bool = False) -> Tolerance | None:
    """Return the tolerance of an output type; None if no rule compares this type."""
    if strict and type in EXACT_WHEN_STRICT:
        return EXACT
    return TOLERANCES[type](criterion) if type in TOLERANCES else None


def judge(example: Example, outputs: Sequence[Array], *, strict: bool = False) -> str | None:
    """Describe the first difference of outputs, as stored; None if there is none. ``strict`` compares int32 exactly."""
    if len(outputs) != len(example.main.outputs):
        return f"{len(outputs)} outputs came out of {len(example.main.outputs)}"
    for position, (operand_index, actual) in enumerate(zip(example.main.outputs, outputs, strict=True)):
        operand = example.main.operands[operand_index]
        if operand.is_ignored:
            continue
        label = f"output {position} ({operand.name or operand.type})"
        expected = example.outputs[operand_index]
        if example.multinomial_tolerance > 0 and actual.shape == expected.shape:
            difference = _compare_frequencies(example, label, actual)
        else:
            difference = compare(actual, expected, tolerance_for(operand.type, example.tolerance, strict=strict), label)
        if difference:
            return difference
    return None


def compare(actual: Array, expected: Array, tolerance: Tolerance | None, label: str = "output") -> str | None:
    """Describe the first difference in dimensions or elements, if any. NaN never agrees; equal infinities do."""
    if actual.shape != expected.shape:
        return f"{label} has dimensions {list(actual.shape)}, expected {list(expected.shape)}"
    if tolerance is None:
        return f"{label}: no rule judges outputs of this type"
    given, wanted = as_double(actual), as_double(expected)
    with np.errstate(invalid="ignore"):
        errors = np.abs(given - wanted)
        bad = ~((errors <= tolerance.atol + tolerance.rtol * np.abs(wanted)) & ~np.isinf(wanted) | (given == wanted))
    if not bad.any():
        return None
    index = tuple(np.argwhere(bad)[0].tolist())
    return (
        f"{label}{list(index) if index else ''} is {_show(given[index])}, expected {_show(wanted[index])} "
        f"(tolerance {tolerance}); {int(bad.sum())} of {bad.size} differ, the worst by {_show(np.max(errors[bad]))}"
    )


def as_double(array: Array) -> Array:
    """Return the elements as float64; booleans become 0 and 1."""
    with np.errstate(invalid="ignore"):  # a NaN of any bits may signal
        return np.asarray(array.view(np.uint8) if array.dtype == np.bool_ else array, np.float64)


def _show(value: Any) -> str:
    return f"{float(value):.9g}"


def _compare_frequencies(example: Example, label: str, actual: Array) -> str | None:
    """Compare the frequency of each class that RANDOM_MULTINOMIAL drew with the class's probability."""
    logits = as_double(next(array for array in example.inputs.values() if array is not None)).reshape(-1)
    strange = np.argwhere((actual < 0) | (actual >= logits.size)).tolist()
    if strange:
        return f"{label}{strange[0]} is class {actual[tuple(strange[0])]} of {logits.size}"
    exponentials = np.exp(logits - logits.max())
    wanted = exponentials / exponentials.sum()
    given = np.bincount(actual.reshape(-1), minlength=logits.size) / actual.size
    return compare(given, wanted, Tolerance(example.multinomial_tolerance), f"{label}, frequency of class ")
