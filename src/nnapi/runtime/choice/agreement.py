"""Agreement of F(4,3) in both dimensions with direct convolutions: close, on several inputs."""

from collections.abc import Callable, Sequence

import numpy as np

from nnapi.contract.winograd import is_winograd
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.choice.judge import find_unstable

LARGEST = 1e-5
"""Maximum difference, relative to the largest value of an output."""
INPUTS = 3
"""Number of different inputs, of which none is constant."""

Inputs = Sequence[Array | None]
Infer = Callable[[Inputs], Sequence[Array]]


def find_disagreement(model: Model, sample: Inputs, direct: Infer, other: Infer, variant: str) -> str:
    """Describe why ``other`` may not replace ``direct``, a plan with a variant: an output is unstable, or differs by
    more than LARGEST on the sample or on other inputs. Return an empty text if it may."""
    if is_winograd(variant):
        return "its results cannot be compared with direct convolutions"
    if not find_unstable(model).isdisjoint(model.outputs):
        return "an output depends on an operation that can turn a small difference into a large one"
    varied = vary(sample)
    if not varied:
        return "its inputs are constant, so its results cannot be compared"
    for inputs in varied:
        expected, found = direct(inputs), other(inputs)
        for number, (right, given) in enumerate(zip(expected, found, strict=True)):
            difference = measure_difference(right, given)
            if not difference <= LARGEST:
                return f"output {number} differs by {difference:.1e} of its largest value (at most {LARGEST:.0e})"
    return ""


def vary(sample: Inputs) -> list[list[Array | None]]:
    """Return inputs for the comparison: the sample, if it has no constant arrays, and its values in another order.
    Constant float arrays become random ones. Return none if all arrays are constant integers."""
    arrays = [array for array in sample if array is not None]
    if not any(array.dtype.kind == "f" or not _is_constant(array) for array in arrays):
        return []
    random = np.random.default_rng(0)
    found = [[_shuffle(array, random) for array in sample] for _ in range(INPUTS)]
    if not any(map(_is_constant, arrays)):
        found[0] = list(sample)
    return found


def _is_constant(array: Array) -> bool:
    return bool((array == array.flat[0]).all())


def _shuffle(array: Array | None, random: np.random.Generator) -> Array | None:
    if array is None:
        return None
    if array.dtype.kind == "f" and _is_constant(array):
        return np.asarray(random.uniform(-1, 1, array.shape), array.dtype)
    return random.permutation(array.ravel()).reshape(array.shape)


def measure_difference(right: Array, given: Array) -> float:
    """Return the largest difference, relative to the largest value; infinite if one is not finite."""
    if right.shape != given.shape or not (np.isfinite(right).all() and np.isfinite(given).all()):
        return np.inf
    off = float(np.abs(np.subtract(given, right, dtype=np.float64)).max(initial=0))
    return off / float(np.abs(right.astype(np.float64)).max(initial=0)) if off else 0.0
