"""Models, prepared models, limits and trace recording of one connection."""

import ctypes
import gc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

from nnapi.codes import CONTROL_FLOW, DeviceTypeCode
from nnapi.contract.driver import DeviceInfo, Driver, Handle, Inference, OpenOptions, Prepared, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.allowance import UNLIMITED, Allowance
from nnapi.drivers.isolated.constants import MapFile, map_file
from nnapi.drivers.isolated.protocol import SPANS, Body
from nnapi.locks import Numbers, make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Shape
from nnapi.trace import Layer, Phase, Section, Span, spans

T = TypeVar("T")


_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)


def free_memory() -> None:
    """Return freed memory to the system. After MobileNet, the C library would keep 38 MB."""
    gc.collect()
    _malloc_trim(0)


class PreparedModel(NamedTuple):
    """A prepared model with a handle, which is exclusive and closed with the entry in a burst."""

    prepared: Prepared
    model: Model
    handle: Handle
    is_burst: bool = False

    @staticmethod
    def of(prepared: Prepared, model: Model) -> "PreparedModel":
        return PreparedModel(prepared, model, open_handle(prepared))

    def open_burst(self) -> "PreparedModel":
        """Return an entry for one caller's runs."""
        return self._replace(handle=open_handle(self.prepared, OpenOptions(exclusive=True, borrow=True)), is_burst=True)

    def open_measured(self) -> Handle:
        """Return a handle with the same resources that measures durations."""
        return self.handle.reopen(OpenOptions(borrow=self.is_burst, measure=True))

    def find_call(self, shapes: Sequence[Shape]) -> Inference | None:
        """Return a run without a time limit; None for loops on a driver without a fast path, as these need limits."""
        found = self.handle.reopen(OpenOptions(shapes, borrow=self.is_burst)).call
        if found is not None or any(call.code in CONTROL_FLOW for call in self.model.operations):
            return found
        execute = self.handle.execute
        return lambda inputs: list(execute(Request(inputs)).outputs)

    def close(self) -> None:
        """Close the burst, or the prepared model."""
        (self.handle if self.is_burst else self.prepared).close()


SECTIONS = {
    "verdicts": (Phase.COMPILATION, "getSupportedOperations"),
    "prepare": (Phase.COMPILATION, "prepareModel"),
    "restore": (Phase.COMPILATION, "prepareModelFromCache"),
    "execute": (Phase.EXECUTION, ""),
}
"""Phase and name of the trace section of each request; an empty name means the device's name."""


def section_of(body: Body, info: DeviceInfo, model: Model) -> Section:
    """Return the trace section of a request, with operations numbered as in the whole model."""
    phase, name = SECTIONS[body["kind"]]
    layer = Layer.CPU if info.type == DeviceTypeCode.DEVICE_CPU else Layer.DRIVER
    operations = body["trace"][1]
    more = {} if operations is None else {"operations": operations}
    return Section(layer, phase, name or info.name, model=model.name, **more)


class Recording:
    """Trace recording in a driver's process: it begins with a request with a trace, and ends with a run without one."""

    def __init__(self) -> None:
        self._number = 0
        self._kept: list[Span] = []
        self._lock = make_lock()

    def follow(self, wish: Sequence[Any] | None) -> None:
        """Begin to record if a request has a trace; a new number in ``wish`` begins a new recording."""
        if wish is None:
            return
        with self._lock:
            if wish[0] != self._number:
                self._stop()
                self._number, self._kept = wish[0], []
            if not spans.active:
                spans.start()

    def pause(self) -> None:
        """Stop recording until the next request with a trace."""
        with self._lock:
            self._stop()

    def read(self, first: int) -> list[Span]:
        """Return recorded spans from index ``first`` on, as many as fit into a message."""
        if not first:
            self.pause()
        return self._kept[first : first + SPANS]

    def _stop(self) -> None:
        if spans.active:
            self._kept += spans.stop()


class Session:
    def __init__(
        self,
        allowance: Allowance = UNLIMITED,
        clock: memoryview | None = None,
        key: bytes = b"",
        map_constants: MapFile = map_file,
    ) -> None:
        """``clock`` has the start of each channel's run in monotonic nanoseconds, 0 if none is running. With a ``key``,
        only cache entries that are signed with it are restored."""
        self._allowance, self.key, self.map_constants = allowance, key, map_constants
        self.driver: Driver
        self.models: dict[int, Model] = {}
        self.prepared: dict[int, PreparedModel] = {}
        self.clock = memoryview(bytearray(8 * allowance.threads)).cast("Q") if clock is None else clock
        self._numbers = Numbers()
        self._channels: dict[int, Callable[[int], None]] = {}
        """By slot in the clock: the channel's function that forgets a prepared model."""
        self.recording = Recording()

    def enter_channel(self, forget: Callable[[int], None]) -> int:
        """Return the clock's slot for a new channel; raise ResourceExhaustedPersistentError at the limit."""
        self._allowance.need_fewer(len(self._channels), "threads")
        slot = next(slot for slot in range(len(self.clock)) if slot not in self._channels)
        self._channels[slot] = forget
        return slot

    def leave_channel(self, slot: int) -> None:
        self.clock[slot] = 0
        del self._channels[slot]

    def describe_error(self, error: Exception) -> Body:
        name = self.driver.info.name if hasattr(self, "driver") else "the driver"
        return {"error": plain_values.of_error(self._allowance.explain(error), name)}

    def to_options(self, values: Any) -> PrepareOptions:
        """Return the options of a preparation; raise ResourceExhaustedPersistentError if they have too many threads."""
        options: PrepareOptions = plain_values.to_value(PrepareOptions, values)
        self._allowance.need_fewer((options.threads or 1) - 1, "threads")
        return options

    def add(self, table: dict[int, T], value: T) -> int:
        number = next(self._numbers)
        table[number] = value
        return number

    def check_count(self, kept: dict[int, Any]) -> None:
        """Raise ResourceExhaustedPersistentError if the application has too many models."""
        self._allowance.need_fewer(len(kept), "models")

    def release(self, number: int) -> None:
        """Release a model, or a prepared model with its bindings."""
        self.models.pop(number, None)
        held = self.prepared.pop(number, None)
        if held is not None:
            for forget in list(self._channels.values()):
                forget(number)
            held.close()

    def trace(self, body: Body) -> AbstractContextManager[Any]:
        """Return the trace section of a request; an empty one if nothing is recorded."""
        if not spans.active:
            return spans.NOTHING
        if "trace" not in body:
            return spans.mute()
        if body["kind"] not in SECTIONS:
            return spans.NOTHING
        model = self.models[body["model"]] if "model" in body else self.prepared[body["prepared"]].model
        return section_of(body, self.driver.info, model)
