"""The driver of one device of another NNAPI library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import ENGINE, Capabilities, DeviceInfo, PrepareOptions, Verdict
from nnapi.drivers.foreign.library import Library
from nnapi.drivers.foreign.prepared import PreparedForeign
from nnapi.drivers.foreign.rebuilding import Rebuilt
from nnapi.errors import BadDataError, NnapiError, OpFailedError, UnavailableDeviceError, need
from nnapi.model.model import Model, OperationCall

LEVEL_1, LEVEL_5, LEVELS_FROM_6 = 27, 31, 1_000_000
"""FeatureLevelCode: 27 to 31 for levels 1 to 5, then 1000000 plus the level."""


class ForeignDriver:
    """A device, through the C functions of its library."""

    def __init__(self, library: Library, handle: int, info: DeviceInfo) -> None:
        self.info = info
        self._library, self._handle = library, handle

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        try:
            answers = self._ask(model, model.operations)
        except NnapiError:  # what one operation is refused for, all would be
            return [self._judge(model, call) for call in model.operations]
        return [self._as_verdict(*each) for each in zip(model.operations, answers, strict=True)]

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedForeign:
        return PreparedForeign(self._library, self._handle, model, options)

    def _judge(self, model: Model, call: OperationCall) -> Verdict:
        try:
            return self._as_verdict(call, *self._ask(model, [call]))
        except NnapiError as error:
            return Verdict(False, f"{call}: {error}")

    def _as_verdict(self, call: OperationCall, takes: bool) -> Verdict:
        return Verdict(takes, "" if takes else f"{call}: {self._library.path} does not take it")

    def _ask(self, model: Model, calls: Sequence[OperationCall]) -> list[bool]:
        for call in calls:
            need(call.match is not None, f"{call}: operations of extensions are not passed through", OpFailedError)
        takes = (ctypes.c_bool * len(calls))()
        devices = (ctypes.c_void_p * 1)(self._handle)
        with Rebuilt(self._library, model, None if len(calls) == len(model.operations) else calls) as rebuilt:
            self._library.call("Model_getSupportedOperationsForDevices", rebuilt.handle, devices, 1, takes)
        return list(takes)


def load_driver(name: str, path: str, index: int) -> ForeignDriver:
    """Return the driver of the device at an index; BadDataError without such a device, UnavailableDeviceError if the
    library is unusable."""
    library = Library(path)
    try:
        count = ctypes.c_uint32()
        library.call("_getDeviceCount", ctypes.byref(count))
        if index >= count.value:
            raise BadDataError(f"{path} has {count.value} devices")
        handle = library.make("_getDevice", index)
        level = min(read_level(path, _read(library, "FeatureLevel", handle, ctypes.c_int64())), library.level)
        kind = _read(library, "Type", handle, ctypes.c_int32())
        info = DeviceInfo(
            f"{name}-{_read_text(library, 'Name', handle)}",
            _read_text(library, "Version", handle),
            DeviceTypeCode(kind) if kind in (2, 3, 4) else DeviceTypeCode.DEVICE_OTHER,
            level,
        )
    except BadDataError:
        raise
    except NnapiError as error:
        raise UnavailableDeviceError(str(error)) from None
    return ForeignDriver(library, handle, info)


def read_level(path: str, number: int) -> int:
    """Return the feature level 1 to 8 of a FeatureLevelCode; 8 for newer ones."""
    level = number - LEVELS_FROM_6 if number > LEVELS_FROM_6 else number - LEVEL_1 + 1
    known = LEVEL_1 <= number <= LEVEL_5 or number >= LEVELS_FROM_6 + 6
    need(known, f"{path} says feature level {number}, which NNAPI does not have", UnavailableDeviceError)
    return min(level, 8)


def _read(library: Library, what: str, device: int, place: ctypes.c_int32 | ctypes.c_int64) -> int:
    library.call(f"Device_get{what}", device, ctypes.byref(place))
    return place.value


def _read_text(library: Library, what: str, device: int) -> str:
    text = ctypes.c_char_p()
    library.call(f"Device_get{what}", device, ctypes.byref(text))
    return (text.value or b"").decode("utf-8", "replace")
