"""Outliers: values of an unsigned filter that do not fit into signed bytes after the zero point is subtracted."""

from weakref import WeakKeyDictionary

import numpy as np

from nnapi.formats.tflite.graph import Tensor
from nnapi.model.operand import Array

REACH = 127
"""Maximum magnitude in signed filters. Without -128, sums of two products fit into 16 bits on every processor."""
FEW = 32
"""Maximum number of rows with outliers that are scanned one by one."""
ROW = 16384
"""Number of values in a row; outliers are looked for in rows with a suspicious minimum or maximum."""
found: WeakKeyDictionary[Tensor, Array] = WeakKeyDictionary()
"""Offsets of outliers in filters that a lowering rule has scanned. Scanning reads the whole filter."""


def find_outliers(values: Array, zero_point: int) -> Array:
    """Return the offsets of values that differ from the zero point by more than REACH.

    Outliers lie on one side of the zero point and are rare, so rows without any are skipped at memory speed.
    """
    values, lowest = values.reshape(-1), 0 if values.dtype == np.uint8 else -128
    is_low = zero_point - REACH > lowest
    bound = values.dtype.type(zero_point - REACH if is_low else zero_point + REACH)
    compare = np.less if is_low else np.greater
    whole = values.size // ROW * ROW
    rows = values[:whole].reshape(-1, ROW)
    extremes = np.minimum.reduce(rows, 1) if is_low else np.maximum.reduce(rows, 1)
    suspects = compare(extremes, bound).nonzero()[0]
    if len(suspects) > FEW:
        offsets: Array = compare(values, bound).nonzero()[0]
        return offsets
    starts = [*(suspects * ROW).tolist(), whole]
    return np.concatenate([compare(values[start : start + ROW], bound).nonzero()[0] + start for start in starts])
