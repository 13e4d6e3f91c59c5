"""Where an application's models are prepared and run, and whose turn it is there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from nnapi.codes import PriorityCode
from nnapi.drivers.base import Driver

Gate = Callable[[PriorityCode, int | None], AbstractContextManager[None]]
"""Whose turn it is to run: by priority, and no later than a deadline."""


class Place(NamedTuple):
    """Where an application's models are prepared and run."""

    driver: Driver
    gate: Gate


def ungated(priority: PriorityCode, deadline: int | None) -> AbstractContextManager[None]:
    """The turn of everybody at once: where the one application sees to it itself."""
    return nullcontext()
