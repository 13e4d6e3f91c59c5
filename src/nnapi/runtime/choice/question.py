"""The input of a choice: the model, and the devices, options and cache of its compilation. The question also owns what
is asked and computed once for it: the devices' verdicts and timings."""

import os
from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from nnapi.codes import PreferenceCode
from nnapi.contract.driver import PrepareOptions
from nnapi.contract.winograd import describe_costs
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.device import Device
from nnapi.runtime.settings import find_set_variant, is_tuning, winograd
from nnapi.runtime.verdicts.exclusions import exclusions_of
from nnapi.store.digest import digest

if TYPE_CHECKING:
    from nnapi.runtime.costs.prices import Tables
    from nnapi.runtime.planning.device_answers import Asked

FORMAT = 3
"""Version of records and of the timings they depend on; part of each key."""


@cache
def name_processor() -> str:
    """Return the processor's name and the number of cores that this process may use."""
    name = os.uname().machine
    try:
        with open("/proc/cpuinfo") as lines:
            name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name} × {len(os.sched_getaffinity(0))}"


class Question:
    def __init__(
        self, model: Model, devices: Sequence[Device], options: PrepareOptions, cache: Cache | None = None
    ) -> None:
        self.model, self.devices, self.options, self.cache = model, devices, options, cache
        self._tables: dict[int, Tables] = {}
        self.asked: Asked = {}
        """The devices' answers so far, for :class:`DeviceAnswers`."""

    def about(self, model: Model) -> "Question":
        """Return the same question about a copy of its model; itself for its own model."""
        if model is self.model:
            return self
        other = Question(model, self.devices, self.options, self.cache)
        other.reason = self.reason
        return other

    @property
    def usable(self) -> list[Device]:
        """The devices whose engines can run in this process."""
        return [device for device in self.devices if not device.is_out]

    @property
    def has_choice(self) -> bool:
        return not self.reason

    @property
    def has_rivals(self) -> bool:
        """Whether trials may decide, and between several devices."""
        return self.has_choice and len(self.usable) > 1

    @cached_property
    def reason(self) -> str:
        """Why trials may not decide; empty if they may."""
        if not is_tuning():
            return "tuning is off"
        if find_set_variant():
            return "Winograd convolutions are set"
        if self.options.preference == PreferenceCode.PREFER_LOW_POWER:
            return "the plan follows declared power"
        if not all(device.is_measured for device in self.devices):
            return "a device stands for one elsewhere"
        return ""

    def tables(self, threads: int | None) -> "Tables":
        """Return the usable devices' timings for a number of threads; none if there is nothing to decide."""
        count = threads or 1
        if count not in self._tables:
            from nnapi.runtime.costs.prices import find_tables  # on demand: known models need no prediction

            self._tables[count] = find_tables(self.usable, count, self.model) if self.has_rivals else {}
        return self._tables[count]

    @property
    def key(self) -> str:
        """The key of the plan's record: a digest of model, devices with versions, options and processor."""
        cpus, options = len(os.sched_getaffinity(0)), self.options
        versions = [tuple(each) for each in _describe(self.usable)]
        others = (FORMAT, versions, int(options.preference), options.threads, cpus, name_processor(), winograd())
        return digest(hash_content(self.model), repr(others).encode()).hex()

    @property
    def conditions(self) -> list[Any]:
        """The conditions under which a cached plan holds, besides the model and the file's name."""
        cpus, setting = len(os.sched_getaffinity(0)), winograd()
        return [_describe(self.devices), self.options.threads, cpus, self.has_choice, describe_costs(), setting]


def _describe(devices: Sequence[Device]) -> list[list[str]]:
    return [[each.name, each.version, *sorted(exclusions_of(each.driver).reasons)] for each in devices]
