"""The check of indices that an operation reads, and its error."""

from collections.abc import Sequence
from typing import Self

from nnapi.errors import OpFailedError
from nnapi.model.operand import Array


class BadIndexError(OpFailedError):
    """Indices of an operation are out of range. ``parameter`` and ``tensor`` name the operand that holds them.
    ``column`` is the position in its last axis, if each position has its own range."""

    def __init__(
        self,
        parameter: str,
        low: int,
        high: int,
        limit: int,
        least: int = 0,
        tensor: str = "",
        column: int | None = None,
    ) -> None:
        """The indices are in ``low..high``; they must be in ``least..limit - 1``."""
        Exception.__init__(self, parameter, low, high, limit, least, tensor, column)
        self.where = None
        self.parameter = parameter

    @property
    def message(self) -> str:
        parameter, low, high, limit, least, tensor, column = self.args
        name = f"{parameter} {tensor}".rstrip() + ("" if column is None else f"[..., {column}]")
        return f"{name} are in {low}..{high}, must be in {least}..{limit - 1}"

    def of(self, tensor: str) -> Self:
        """Return the error with the name of the operand."""
        parameter, low, high, limit, least, _, column = self.args
        return type(self)(parameter, low, high, limit, least, tensor, column).with_traceback(self.__traceback__)


def check_range(
    parameter: str, indices: Array, limit: int, *, from_end: bool = False, column: int | None = None
) -> None:
    """Raise BadIndexError unless all indices are in ``0..limit - 1``, with ``from_end`` in ``-limit..limit - 1``."""
    if not indices.size:
        return
    low, high, least = int(indices.min()), int(indices.max()), -limit if from_end else 0
    if low < least or high >= limit:
        raise BadIndexError(parameter, low, high, limit, least, column=column)


def check_coordinates(parameter: str, coordinates: Array, limits: Sequence[int], *, from_end: bool = False) -> None:
    """Check the coordinates in the last axis, each against the size of its axis."""
    for column, limit in enumerate(limits):
        named = column if len(limits) > 1 else None
        check_range(parameter, coordinates[..., column], limit, from_end=from_end, column=named)
