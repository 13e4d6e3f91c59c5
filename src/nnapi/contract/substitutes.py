"""Devices that are elsewhere, and have a substitute here: an emulation, or a program that only plans."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from nnapi.contract.driver import Capabilities, Performance
from nnapi.model.model import Model

LEAST = Performance(1e-6, 1e-6)
FOREMOST = Capabilities(LEAST, {}, LEAST, LEAST, LEAST, launch_seconds=0.0, seconds_per_byte=0.0)
"""Capabilities of a device that gets all operations that it supports, as nothing is known about its times."""


@runtime_checkable
class Estimates(Protocol):
    """A driver whose vendor's program estimates the cost of a model."""

    def list_estimates(self, model: Model) -> Sequence[str]:
        """Return sentences on the whole model, such as its cycles and memory."""
        ...
