"""A run as it ended."""

from __future__ import annotations

from typing import NamedTuple

from nnapi.cli.inputs import Given
from nnapi.model.operand import Array


class Ended(NamedTuple):
    """A run: its inputs, its outputs, and the seconds that it took alone.

    ``seconds`` is None where other runs computed beside it. ``first`` is the first run of a compilation, which also
    sets the engine up, where others were timed after it; ``preparation`` reads and converts the inputs.
    """

    given: list[Given]
    outputs: list[Array]
    seconds: float | None
    first: float | None = None
    preparation: float | None = None
