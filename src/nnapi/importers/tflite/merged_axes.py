"""Model inputs of more dimensions than NNAPI allows, whose first axes are merged."""

import math

from nnapi.importers.graph import Value
from nnapi.importers.tflite.node import HIGHEST_RANK


def merge_axes(value: Value) -> bool:
    """Make an input a value with a row of NNAPI's highest rank; return False if it needs none, or is dynamic."""
    if value.rank <= HIGHEST_RANK or not value.type.is_known:
        return False
    first, rest = value.shape[: 1 - HIGHEST_RANK], value.shape[1 - HIGHEST_RANK :]
    value.row = Value(value.type.with_dimensions((math.prod(first), *rest)), value.name)
    return True


def describe_merge(value: Value) -> str:
    row = value.row or value
    return (
        f"input {value.name} is of shape {list(row.shape)}, in the file {list(value.shape)}: its first axes are merged"
    )
