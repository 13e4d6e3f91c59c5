"""Models, prepared models and limits of one application of a driver."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from nnapi.drivers.base import Driver, Prepared, PrepareOptions
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.allowance import UNLIMITED, Allowance
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.recording import SECTIONS, Recording, section_of
from nnapi.model.model import Model
from nnapi.trace import spans


class Held(NamedTuple):
    """A prepared model."""

    prepared: Prepared
    model: Model
    is_burst: bool = False
    is_borrowing: bool = False
    """Its outputs may be views of the device's memory until its next run."""
    is_lent: bool = False
    """Another number closes it."""


class Session:
    """The state of one connection, from its first message until its end."""

    def __init__(self, allowance: Allowance = UNLIMITED, clock: memoryview | None = None, key: bytes = b"") -> None:
        """``clock`` has a number for each channel: when its run began (monotonic nanoseconds), 0 between two runs.
        With a ``key`` only entries of caches that were written under it are restored."""
        self._allowance, self.key = allowance, key
        self.driver: Driver
        self.models: dict[int, Model] = {}
        self.prepared: dict[int, Held] = {}
        self.clock = memoryview(bytearray(8 * allowance.threads)).cast("Q") if clock is None else clock
        self._numbers = itertools.count(1)
        self._free = list(reversed(range(len(self.clock))))
        self._channels: dict[int, Callable[[int], None]] = {}
        """For each channel, by its slot in the clock, what forgets a prepared model there."""
        self.recording = Recording()

    def enter_channel(self) -> int:
        """Return the slot of a new channel; ResourceExhaustedPersistentError where there are as many as may be."""
        self._allowance.need_fewer(len(self.clock) - len(self._free), "threads")
        return self._free.pop()

    def watch_channel(self, slot: int, forget: Callable[[int], None]) -> None:
        """Have a channel told which prepared models to forget."""
        self._channels[slot] = forget

    def forget_channel(self, slot: int) -> None:
        """Let another channel have the place of one that is closed."""
        self.clock[slot] = 0
        self._channels.pop(slot, None)
        self._free.append(slot)

    def describe_error(self, error: Exception) -> Body:
        """Return the answer that says what went wrong."""
        name = self.driver.info.name if hasattr(self, "driver") else "the driver"
        return {"error": plain_values.of_error(self._allowance.explain(error), name)}

    def to_options(self, values: Any) -> PrepareOptions:
        """Return the options of a preparation; ResourceExhaustedPersistentError for more threads than are allowed."""
        options: PrepareOptions = plain_values.to_value(PrepareOptions, values)
        self._allowance.need_fewer((options.threads or 1) - 1, "threads")
        return options

    def hold(self, held: Held) -> int:
        """Keep a prepared model, and return its number."""
        number = next(self._numbers)
        self.prepared[number] = held
        return number

    def keep(self, model: Model) -> int:
        """Keep a model, and return its number."""
        number = next(self._numbers)
        self.models[number] = model
        return number

    def need_place(self, kept: dict[int, Any]) -> None:
        """Raise ResourceExhaustedPersistentError where the application has as many models as it may."""
        self._allowance.need_fewer(len(kept), "models")

    def release(self, number: int) -> None:
        """Forget a prepared model, and all that runs it."""
        held = self.prepared.pop(number, None)
        if held is not None:
            for forget in list(self._channels.values()):
                forget(number)
            if not held.is_lent:
                held.prepared.close()

    def trace(self, body: Body) -> AbstractContextManager[Any]:
        """Return the section of a question in a trace; an empty one where nothing is recorded."""
        if not spans.active:
            return spans.NOTHING
        if "trace" not in body:
            return spans.mute()
        if body["kind"] not in SECTIONS:
            return spans.NOTHING
        model = self.models[body["model"]] if "model" in body else self.prepared[body["prepared"]].model
        return section_of(body, self.driver.info, model)
