"""The question that a plan answers: a model, and the devices, options and cache of its compilation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import PrepareOptions
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.costs.processor import name_processor
from nnapi.runtime.device import Device
from nnapi.runtime.settings import tunes
from nnapi.runtime.verdicts.exclusions import exclusions_of
from nnapi.store.digest import digest

FORMAT = 1
"""Of records, and of the timings that predictions come from."""


class Question(NamedTuple):
    """A model and the devices, options and cache that a plan is wanted for."""

    model: Model
    devices: Sequence[Device]
    options: PrepareOptions
    cache: Cache | None = None

    @property
    def usable(self) -> list[Device]:
        """The devices whose engines work in this process."""
        return [device for device in self.devices if not device.is_out]

    @property
    def has_choice(self) -> bool:
        """Whether trials may decide."""
        return not self.find_reason()

    def find_reason(self) -> str:
        """Say why there is nothing to decide by trials; nothing where there is."""
        if not tunes():
            return "tuning is off"
        if self.options.preference == PreferenceCode.PREFER_LOW_POWER:
            return "the plan follows declared power"
        if not all(device.is_measured for device in self.devices):
            return "a device stands for one elsewhere"
        return ""

    @property
    def key(self) -> str:
        """The key of the record: the model's content, the devices with their versions, the options, the processor."""
        cpus, options = len(os.sched_getaffinity(0)), self.options
        versions = [(name, version, *reasons) for name, version, *reasons in _describe(self.usable)]
        others = repr((FORMAT, versions, int(options.preference), options.threads, cpus, name_processor())).encode()
        return digest(hash_content(self.model), others).hex()

    @property
    def conditions(self) -> list[Any]:
        """The conditions of a cached plan besides the model and the name of the file."""
        return [_describe(self.devices), self.options.threads, len(os.sched_getaffinity(0)), self.has_choice]


def _describe(devices: Sequence[Device]) -> list[list[str]]:
    """Return name and version of each device, and the operations that it is not asked for."""
    return [[each.name, each.version, *sorted(exclusions_of(each.driver).reasons)] for each in devices]
