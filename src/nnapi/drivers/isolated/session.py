"""Models, prepared models and limits of one connection."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

from nnapi.drivers.base import Driver, Prepared, PrepareOptions
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.allowance import UNLIMITED, Allowance
from nnapi.drivers.isolated.constants import MapFile, map_file
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.recording import SECTIONS, Recording, section_of
from nnapi.model.model import Model
from nnapi.trace import spans

T = TypeVar("T")


_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)


def free_memory() -> None:
    """Give the system what preparing or a released model leaves: the C library would keep 38 MB after MobileNet."""
    gc.collect()
    _malloc_trim(0)


class PreparedModel(NamedTuple):
    prepared: Prepared
    model: Model
    is_burst: bool = False
    is_borrowing: bool = False
    """Its outputs may be views of the device's memory until its next run."""
    is_shared: bool = False
    """The number of another entry closes it."""


class Session:
    def __init__(
        self,
        allowance: Allowance = UNLIMITED,
        clock: memoryview | None = None,
        key: bytes = b"",
        map_constants: MapFile = map_file,
    ) -> None:
        """``clock`` has the start of each channel's run: monotonic nanoseconds, 0 between two runs. With a ``key`` only
        cache entries signed with it are restored."""
        self._allowance, self.key, self.map_constants = allowance, key, map_constants
        self.driver: Driver
        self.models: dict[int, Model] = {}
        self.prepared: dict[int, PreparedModel] = {}
        self.clock = memoryview(bytearray(8 * allowance.threads)).cast("Q") if clock is None else clock
        self._numbers = itertools.count(1)
        self._free = list(reversed(range(len(self.clock))))
        self._channels: dict[int, Callable[[int], None]] = {}
        """The function that releases a prepared model, by the channel's slot in the clock."""
        self.recording = Recording()

    def enter_channel(self) -> int:
        """Return the slot of a new channel; ResourceExhaustedPersistentError at the limit."""
        self._allowance.need_fewer(len(self.clock) - len(self._free), "threads")
        return self._free.pop()

    def watch_channel(self, slot: int, forget: Callable[[int], None]) -> None:
        self._channels[slot] = forget

    def forget_channel(self, slot: int) -> None:
        self.clock[slot] = 0
        self._channels.pop(slot, None)
        self._free.append(slot)

    def describe_error(self, error: Exception) -> Body:
        name = self.driver.info.name if hasattr(self, "driver") else "the driver"
        return {"error": plain_values.of_error(self._allowance.explain(error), name)}

    def to_options(self, values: Any) -> PrepareOptions:
        """Return the options of a preparation; ResourceExhaustedPersistentError for too many threads."""
        options: PrepareOptions = plain_values.to_value(PrepareOptions, values)
        self._allowance.need_fewer((options.threads or 1) - 1, "threads")
        return options

    def add(self, table: dict[int, T], value: T) -> int:
        number = next(self._numbers)
        table[number] = value
        return number

    def check_count(self, kept: dict[int, Any]) -> None:
        """Raise ResourceExhaustedPersistentError if the application has the maximum of models."""
        self._allowance.need_fewer(len(kept), "models")

    def release(self, number: int) -> None:
        """Release a prepared model and its bindings."""
        held = self.prepared.pop(number, None)
        if held is not None:
            for forget in list(self._channels.values()):
                forget(number)
            if not held.is_shared:
                held.prepared.close()

    def trace(self, body: Body) -> AbstractContextManager[Any]:
        """Return the section of a request; an empty one if nothing is recorded."""
        if not spans.active:
            return spans.NOTHING
        if "trace" not in body:
            return spans.mute()
        if body["kind"] not in SECTIONS:
            return spans.NOTHING
        model = self.models[body["model"]] if "model" in body else self.prepared[body["prepared"]].model
        return section_of(body, self.driver.info, model)
