"""The sizes of perturbations and of the changes that they make."""

from collections.abc import Sequence

import numpy as np

from nnapi.model.operand import Array
from nnapi.testing.compare import as_double
from nnapi.testing.random.operation_sets import PAIRWISE


def terms(name: str, inputs: Sequence[Array | None], outputs: Sequence[Array | None]) -> float:
    """Return the approximate number of terms that are summed for each result."""
    tensors = [array for array in inputs if array is not None and array.ndim]
    results = [array.size for array in outputs if array is not None]
    if not tensors or not min(results, default=0) or not tensors[0].size or name in PAIRWISE:
        return 1.0
    if len(tensors) > 1 and tensors[1].ndim > 1 and tensors[1].size:
        return float(tensors[1].size / min(tensors[1].shape))
    return float(max(tensors[0].size / min(results), *tensors[0].shape))


def usual(moved: Array) -> float:
    """Return the root mean square of the nonzero differences; clamped values show a difference of 0."""
    known = moved[np.isfinite(moved) & (moved > 0)]
    return float(np.sqrt(np.mean(np.square(known)))) if known.size else 0.0


def without_denormals(array: Array | None) -> Array | None:
    """Return the values with denormal ones replaced by 0, as many engines do."""
    if array is None or array.dtype != np.float32:
        return array
    return np.where(np.abs(array) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), array), array)


def shift(value: Array, by: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):  # a NaN of any bits may signal
        moved = as_double(value) + np.where(np.isfinite(by), by, 0)
        if value.dtype.kind == "f":
            return np.asarray(moved, value.dtype)
    limits = np.iinfo(value.dtype)
    return np.asarray(np.clip(np.round(moved), limits.min, limits.max), value.dtype)
