"""Devices: the drivers of this machine, loaded at first use from the entry points of ``nnapi.drivers``."""

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from nnapi.closeable import Closeable
from nnapi.codes import DeviceTypeCode, FeatureLevelCode
from nnapi.contract.driver import Breakable, Caches, DescribedDevices, Driver, Probed, Threaded
from nnapi.errors import BadDataError, UnavailableDeviceError, UnexpectedNullError, need, need_instance
from nnapi.garbage_collection import pause_collecting
from nnapi.host.installed_packages import Entry, find_entries
from nnapi.locks import make_lock
from nnapi.model.extension import EXTENSIONS
from nnapi.model.model import Model
from nnapi.runtime.device_queue import DeviceQueue
from nnapi.runtime.verdicts.composites import DriverAdapter
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record
from nnapi.trace import Layer
from nnapi.trace.log import Log

log = Log("nnapi.Manager")

GROUP = "nnapi.drivers"
REFERENCE = "nnapi-reference"
RUNTIME_FEATURE_LEVEL = 8
PREFERRED, PADDED_LEVEL = 64, 5
"""Alignment and padding that host devices prefer, in bytes; the feature level from which they prefer padding."""
RETRY = 3600.0
"""Seconds after which missing hardware is searched for again."""


class Device(Closeable):
    """A device (``ANeuralNetworksDevice``); one object per device for the life of the process."""

    def __init__(self, driver: Driver, queue: DeviceQueue | None = None) -> None:
        """``queue`` limits concurrent executions, by default to the number of processors. BadDataError if a driver's
        extension is not valid."""
        self.driver = driver
        self.queue = queue or DeviceQueue(os.cpu_count() or 1)
        for extension in self.driver.info.extensions:
            EXTENSIONS.describe(self.name, extension)

    @property
    def name(self) -> str:
        """``ANeuralNetworksDevice_getName``."""
        return self.driver.info.name

    @property
    def type(self) -> DeviceTypeCode:
        """``ANeuralNetworksDevice_getType``."""
        return self.driver.info.type

    @property
    def version(self) -> str:
        """``ANeuralNetworksDevice_getVersion``."""
        return self.driver.info.version

    @property
    def feature_level(self) -> FeatureLevelCode:
        """The lower of the runtime's level and the driver's (``ANeuralNetworksDevice_getFeatureLevel``)."""
        return FeatureLevelCode[f"FEATURE_LEVEL_{min(RUNTIME_FEATURE_LEVEL, self.driver.info.feature_level)}"]

    @property
    def extensions(self) -> tuple[str, ...]:
        """The names of the driver's extensions."""
        return tuple(extension.name for extension in self.driver.info.extensions)

    def supports_extension(self, name: str) -> bool:
        """Return whether the driver has extension ``name`` (``ANeuralNetworksDevice_getExtensionSupport``)."""
        need(name is not None, "the name of the extension is None", UnexpectedNullError)
        return name in self.extensions

    @cached_property
    def caches(self) -> Caches | None:
        """The driver if it can cache prepared models, else None."""
        return self.driver if isinstance(self.driver, Caches) else None

    @property
    def caches_constants(self) -> bool:
        """Whether cache entries of the driver are at least as large as the constants of their models."""
        return bool(getattr(self.driver, "caches_constants", False))

    @cached_property
    def adapter(self) -> DriverAdapter:
        """The driver, for calls about a model."""
        return DriverAdapter(self.driver)

    @property
    def is_remote(self) -> bool:
        """Whether the driver computes in another process, which may end."""
        return bool(getattr(self.driver, "is_remote", False))

    @property
    def layer(self) -> Layer:
        """The driver's layer in traces: IPC if it has its own process, where the other layers are recorded."""
        if self.is_remote:
            return Layer.IPC
        return Layer.CPU if self.type == DeviceTypeCode.DEVICE_CPU else Layer.DRIVER

    def wait(self) -> None:
        """Wait until the device can be used (``ANeuralNetworksDevice_wait``); DeadObjectError if it is gone."""
        if wait := getattr(self.driver, "wait", None):
            wait()

    def close(self) -> None:
        """Release resources that the driver holds between uses, such as a process. The next use acquires them again."""
        if close := getattr(self.driver, "close", None):
            close()

    @property
    def is_out(self) -> bool:
        """Whether the driver's engine does not work in this process, although it may in others."""
        return isinstance(self.driver, Breakable) and bool(self.driver.outage())

    @property
    def starts_slowly(self) -> bool:
        """Whether the first model has to wait for the start of an engine or process."""
        return bool(getattr(self.driver, "starts_slowly", False) or self.is_remote)

    def keeps_to(self, threads: int | None) -> bool:
        """Return whether runs take no more than a number of threads."""
        is_all = threads is None or threads >= len(os.sched_getaffinity(0))
        return is_all or not (isinstance(self.driver, Threaded) and self.driver.find_thread_fault())

    @property
    def is_measured(self) -> bool:
        """Whether timings of the device are measured; False for a simulated device, which declares costs."""
        return bool(getattr(self.driver, "is_measured", True))

    @property
    def substitute(self) -> str:
        """The program that replaces a device elsewhere, whose times nobody knows here; empty for the device itself."""
        return str(getattr(self.driver, "substitute", ""))

    @property
    def is_by_name(self) -> bool:
        """Whether only callers that name the device use it; the runtime never chooses it."""
        return bool(getattr(self.driver, "is_by_name", False))

    def supports(self, model: Model) -> Sequence[bool]:
        """Return whether the device supports each operation of the model, in order."""
        from nnapi.runtime.verdicts.verdicts import find_verdicts  # on demand: known models need none

        return [verdict.supported for verdict in find_verdicts(self.driver, model)]

    def __reduce__(self) -> tuple[Callable[[str], "Device"], tuple[str]]:
        """Pickle the name; the other process finds its own device of this name. BadDataError for a device that was made
        from a driver, which has no name there."""
        name = next((path for path, made in _described.items() if made is self), self.name)
        if self not in (*devices(), *_described.values()):
            raise BadDataError(f"{self.name} cannot be pickled: another process cannot find it by its name")
        return device, (name,)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<nnapi.Device {self.name} {self.version}, {self.type.name}, {self.feature_level.name}>"


def describe_substitutes(devices: Sequence[Device]) -> list[str]:
    """Return a sentence for each device that has a substitute here."""
    return [f"{device.name} is {device.substitute}" for device in devices if device.substitute]


def prefer_bytes(devices: Sequence[Device], least_level: int) -> int:
    """Return the alignment or padding that devices prefer, in bytes, if one of them has a level from which it does."""
    return PREFERRED if any(device.driver.info.feature_level >= least_level for device in devices) else 1


class Unavailable(NamedTuple):
    """A registered driver that could not be loaded, with the reason."""

    name: str
    reason: str


_lock = make_lock()
_found: tuple[list[Device], list[Unavailable]] | None = None
_described: dict[str, Device] = {}  # by path of the file


def _is_enabled(entry: Entry) -> bool:
    """Whether DEBUG_NN_CPUONLY=1 and the pattern DEBUG_NN_ENABLED_DEVICES permit an entry. The reference always is."""
    if entry.name == REFERENCE:
        return True
    pattern = os.environ.get("DEBUG_NN_ENABLED_DEVICES", "")
    return os.environ.get("DEBUG_NN_CPUONLY") != "1" and (not pattern or re.search(pattern, entry.name) is not None)


def _is_suffix(entry: Entry) -> bool:
    """Whether an entry makes devices of files with a suffix, on demand."""
    return entry.name.startswith(".")


def _is_isolated(driver: Driver) -> bool:
    """Whether NNAPI_ISOLATED (names, or "all" but the reference), NNAPI_SERVICE or the driver asks for a process."""
    if getattr(driver, "is_remote", False):
        return False
    name, wanted = driver.info.name, _isolated_names()
    if os.environ.get("NNAPI_SERVICE") and not wanted:
        wanted = {"all"}
    return name in wanted or ("all" in wanted and name != REFERENCE) or bool(getattr(driver, "isolated", False))


def _isolated_names() -> set[str]:
    return {name for part in os.environ.get("NNAPI_ISOLATED", "").split(",") if (name := part.strip())}


def _apart(driver: Driver, entry: Entry) -> Driver:
    from nnapi.drivers.isolated import Isolated  # on demand: rarely needed

    if service := os.environ.get("NNAPI_SERVICE"):
        return Isolated(driver.info.name, known=driver, service=service)
    source = driver if getattr(driver, "travels", False) else entry.value
    return Isolated(source, device=driver.info.name, known=driver, patience=getattr(driver, "patience", None))


def _explain(name: str, error: Exception) -> Unavailable:
    is_sentence = isinstance(error, UnavailableDeviceError)
    unavailable = Unavailable(name, str(error) if is_sentence else f"{type(error).__name__}: {error}")
    log.debug("%s is unavailable: %s", *unavailable)
    return unavailable


def make_drivers(loaded: Any) -> Any:
    """Return the driver or drivers of an entry point: a Driver, or the result of a callable, one driver or a list."""
    if isinstance(loaded, Probed):
        return loaded.make(_find_answer(loaded))
    return loaded() if isinstance(loaded, type) or not isinstance(loaded, Driver) else loaded


def _find_answer(search: Probed) -> Any:
    """Return the recorded result of a search for hardware, or search now and record it."""
    key = search.identify()
    recorded = recall_record(RecordKind.PROBES, key, dict)
    if recorded is not None and "answer" in recorded:
        return recorded["answer"]
    if recorded is not None and time.time() - float(recorded["time"]) < RETRY:
        raise UnavailableDeviceError(recorded["reason"])
    try:
        answer = search.ask()
    except UnavailableDeviceError as error:
        keep_record(RecordKind.PROBES, key, {"reason": str(error), "time": time.time()})
        raise
    keep_record(RecordKind.PROBES, key, {"answer": answer})
    return answer


def _discover() -> tuple[list[Device], list[Unavailable]]:
    global _found
    with _lock, pause_collecting():
        if _found is None:
            available: list[Device] = []
            broken: list[Unavailable] = []
            entries = [entry for entry in find_entries(GROUP) if not _is_suffix(entry) and _is_enabled(entry)]
            for entry in sorted(entries, key=lambda entry: entry.name):
                try:
                    made = make_drivers(entry.load())
                except Exception as error:
                    broken.append(_explain(entry.name, error))
                    continue
                for driver in made if isinstance(made, list) else [made]:
                    try:
                        available.append(Device(_apart(driver, entry) if _is_isolated(driver) else driver))
                        log.debug("found %s", available[-1])
                    except Exception as error:
                        broken.append(_explain(getattr(driver, "name", entry.name), error))
            for name in sorted(_isolated_names() - {"all", *(device.name for device in available)}):
                log.warning("NNAPI_ISOLATED names %s, which is not a device here", name)
            available.sort(key=lambda device: (device.name == REFERENCE, device.is_by_name))
            _found = available, broken
        return _found


EXTENSIONS.discover = _discover


def devices() -> list[Device]:
    """Return all devices: those that must be named after the others, the CPU reference last
    (``ANeuralNetworks_getDeviceCount``, ``_getDevice``)."""
    return list(_discover()[0])


def unavailable_devices() -> list[Unavailable]:
    """Return the registered drivers that could not be loaded, with the reasons."""
    return list(_discover()[1])


def device(name: str) -> Device:
    """Return the device with a ``name``; UnavailableDeviceError, with the names of all devices, if there is none.

    If a library in NNAPI_FOREIGN has only one device, the library's name is enough. A name that ends with ``.toml`` is
    a profile: the path of a file, or a profile that comes with nnapi (docs/profiles.md).
    """
    need(isinstance(name, str), f"the name of a device is {name!r}, must be text", BadDataError)
    for entry in find_entries(GROUP) if "." in name else ():
        if _is_suffix(entry) and name.endswith(entry.name):
            return _find_described(entry, name)
    found = next((device for device in devices() if device.name == name), None)
    if found is None:
        of_library = [device for device in devices() if getattr(device.driver, "library", None) == name]
        if len(of_library) == 1:
            return of_library[0]
        names = ", ".join(device.name for device in devices())
        reasons = "".join(f"; {u.name} is unavailable: {u.reason}" for u in unavailable_devices())
        raise UnavailableDeviceError(f"no device {name!r}; there are: {names}{reasons}")
    return found


Devices = Sequence[Device | str] | Device | str
"""One device or several, as names or objects."""


def list_candidates(named: Devices | None) -> list[Device]:
    """Return the named devices, or those that the runtime may choose; raise the errors of :func:`device`."""
    if named is None:
        return [each for each in devices() if not each.is_by_name]
    several = [named] if isinstance(named, str | Device) else named
    need(isinstance(several, Iterable), f"devices is {several!r}, must be names or nnapi.Device", BadDataError)
    found = [device(each) if isinstance(each, str) else each for each in several]
    for each in found:
        need_instance(each, Device, "a device", "its name is enough")
    return found


def _find_described(entry: Entry, name: str) -> Device:
    """Return the device that a file describes, the same at each call; BadDataError for an invalid file."""
    files: DescribedDevices = entry.load()
    path = files.find(name)
    if path not in _described:
        names = {each.name for each in devices()}
        made = Device(files.make(path, names, lambda other: device(other).driver))
        return _described.setdefault(path, made)
    return _described[path]
