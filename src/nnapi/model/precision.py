"""The precision of float32 arithmetic."""

from enum import StrEnum
from typing import Literal

from nnapi.errors import BadDataError


class Precision(StrEnum):
    """The least precise arithmetic that a model permits for float32: a permission, which devices need not use."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    """The permission of ``..._relaxComputationFloat32toFloat16``."""
    BFLOAT16 = "bfloat16"
    """Less precise than NNAPI permits; used only if a program requests it by name."""


PrecisionName = Literal["float32", "float16", "bfloat16"]


def read_precision(name: str) -> Precision:
    """Return the precision with this name; raise BadDataError for an unknown name."""
    try:
        return Precision(name)
    except ValueError:
        raise BadDataError(f"precision is {name!r}, must be one of {', '.join(Precision)}") from None
