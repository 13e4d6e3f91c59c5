"""Alignment and padding that the devices of a compilation prefer for its inputs and outputs."""

from __future__ import annotations

from nnapi.errors import BadDataError, need
from nnapi.model.lifecycle import State
from nnapi.model.model import Model
from nnapi.runtime.device import Device

PREFERRED, PADDED_LEVEL = 64, 5
"""Alignment and padding in bytes that the host's devices prefer; the feature level from which they prefer padding."""


class PreferredMemory:
    """A compilation's preferences. BadStateError until it is ready, BadDataError for an index that does not exist."""

    model: Model
    state: State

    @property
    def devices(self) -> list[Device]:
        """The devices that compute."""
        raise NotImplementedError

    def preferred_memory_alignment_for_input(self, index: int) -> int:
        """Bytes to which an input's address should be aligned (``..._getPreferredMemoryAlignmentForInput``)."""
        return self._prefer_bytes("input", index)

    def preferred_memory_padding_for_input(self, index: int) -> int:
        """Bytes to a multiple of which an input's length should be rounded up."""
        return self._prefer_bytes("input", index, least_level=PADDED_LEVEL)

    def preferred_memory_alignment_for_output(self, index: int) -> int:
        """Bytes to which an output's address should be aligned."""
        return self._prefer_bytes("output", index)

    def preferred_memory_padding_for_output(self, index: int) -> int:
        """Bytes to a multiple of which an output's length should be rounded up."""
        return self._prefer_bytes("output", index, least_level=PADDED_LEVEL)

    def _prefer_bytes(self, role: str, index: int, least_level: int = 1) -> int:
        self.state.need("ready")
        count = len(self.model.inputs if role == "input" else self.model.outputs)
        need(0 <= index < count, f"{role} {index} does not exist, the model has {count}", BadDataError)
        levels = [device.driver.info.feature_level for device in self.devices]
        return PREFERRED if any(level >= least_level for level in levels) else 1
