"""The check of indices that an operation reads, and its error."""

from typing import Self

from nnapi.errors import OpFailedError
from nnapi.model.operand import Array


class BadIndexError(OpFailedError):
    """Indices of an operation are out of range. ``parameter`` and ``tensor`` name the operand that holds them."""

    def __init__(self, parameter: str, low: int, high: int, limit: int, least: int = 0, tensor: str = "") -> None:
        """The indices are in ``low..high``; they must be in ``least..limit - 1``."""
        Exception.__init__(self, parameter, low, high, limit, least, tensor)
        self.where = None
        self.parameter = parameter

    @property
    def message(self) -> str:
        parameter, low, high, limit, least, tensor = self.args
        return f"{f'{parameter} {tensor}'.rstrip()} are in {low}..{high}, must be in {least}..{limit - 1}"

    def of(self, tensor: str) -> Self:
        """Return the error with the name of the operand."""
        parameter, low, high, limit, least, _ = self.args
        return type(self)(parameter, low, high, limit, least, tensor).with_traceback(self.__traceback__)


def check_range(parameter: str, indices: Array, limit: int) -> None:
    """Raise BadIndexError unless all indices are in ``0..limit - 1``."""
    low, high = indices.min(initial=0), indices.max(initial=0)
    if low < 0 or high >= limit:
        raise BadIndexError(parameter, int(indices.min()), int(indices.max()), limit)
