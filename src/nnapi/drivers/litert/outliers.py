"""The values of an unsigned filter that do not fit into signed bytes."""

from weakref import WeakKeyDictionary

import numpy as np

from nnapi.formats.tflite.graph import Tensor
from nnapi.model.operand import Array

REACH = 127
"""Signed filters omit -128, so that sums of pairs of products fit 16 bits on every processor."""
FEW = 32
"""Rows with such values that are scanned one by one."""
ROW = 16384
"""Values whose minimum or maximum is found at a time."""
found: WeakKeyDictionary[Tensor, Array] = WeakKeyDictionary()
"""The offsets of values that do not fit, of filters that a lowering rule has scanned: a scan reads the whole filter."""


def find_outliers(values: Array, zero_point: int) -> Array:
    """Return the offsets of the bytes that differ too much from the zero point.

    They are on one side only and few: rows without one are scanned at memory speed.
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
