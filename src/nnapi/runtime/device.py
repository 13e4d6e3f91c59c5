"""Devices: what the drivers found on this machine offer.

Drivers register in the entry-point group ``nnapi.drivers``; the object behind an entry point is a Driver, or a
callable that makes one or a list of them. They are loaded at first use; one that fails to load is reported with its
reason and harms nobody else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

from nnapi.codes import DeviceTypeCode, FeatureLevelCode
from nnapi.collecting import pause_collecting
from nnapi.drivers.base import Breakable, Caches, Driver
from nnapi.drivers.installed import Entry, entries
from nnapi.errors import BadDataError, UnavailableDeviceError, UnexpectedNullError, need
from nnapi.locks import make_lock
from nnapi.model.extension import EXTENSIONS
from nnapi.model.model import Model
from nnapi.runtime.probing import make_drivers
from nnapi.runtime.turnstile import Turnstile
from nnapi.trace import Layer
from nnapi.trace.log import Log

log = Log("nnapi.Manager")

GROUP = "nnapi.drivers"
REFERENCE = "nnapi-reference"
PROFILE = ".toml"
"""Suffix of devices' names that are files of profiles."""
RUNTIME_FEATURE_LEVEL = 8


class Device:
    """A device of this machine (``ANeuralNetworksDevice``); the same object for the life of the process."""

    def __init__(self, driver: Driver, queue: Turnstile | None = None) -> None:
        """``queue`` is who may compute on it: by default as many at a time as there are processors.

        The driver's extensions are made known; BadDataError for a description that no driver may give.
        """
        self.driver = driver
        self.queue = queue or Turnstile(os.cpu_count() or 1)
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
        """Names of the extensions that the driver describes."""
        return tuple(extension.name for extension in self.driver.info.extensions)

    def supports_extension(self, name: str) -> bool:
        """Whether the driver describes the extension (``ANeuralNetworksDevice_getExtensionSupport``)."""
        need(name is not None, "the name of the extension is None", UnexpectedNullError)
        return name in self.extensions

    @cached_property
    def caches(self) -> Caches | None:
        """The driver, if what it prepares can be kept."""
        return self.driver if isinstance(self.driver, Caches) else None

    @property
    def layer(self) -> Layer:
        """The layer of its driver in traces: the CPU's, as that of Android's CPU fallback, or a driver's; that of
        the way there and back where the driver is in a process of its own, which tells the rest."""
        if getattr(self.driver, "is_remote", False):
            return Layer.IPC
        return Layer.CPU if self.type == DeviceTypeCode.DEVICE_CPU else Layer.DRIVER

    def wait(self) -> None:
        """Return when the device can be used (``ANeuralNetworksDevice_wait``); DeadObjectError when it is gone."""
        wait = getattr(self.driver, "wait", None)
        if wait is not None:
            wait()

    def close(self) -> None:
        """Give back what the driver holds between uses, as a process of its own; the next use takes it anew."""
        close = getattr(self.driver, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_out(self) -> bool:
        """Whether its engine is out of use in this process, so that what is found out here holds nowhere else."""
        return isinstance(self.driver, Breakable) and bool(self.driver.outage())

    @property
    def starts_slowly(self) -> bool:
        """Whether the first model takes it long to prepare: its engine or its process has to be started."""
        return bool(getattr(self.driver, "starts_slowly", False) or getattr(self.driver, "is_remote", False))

    @property
    def is_measured(self) -> bool:
        """Whether plans go by what is measured of it; by what it declares where it stands for a device elsewhere."""
        return bool(getattr(self.driver, "is_measured", True))

    @property
    def is_by_name(self) -> bool:
        """Whether only those are given it who name it, and nobody whom the runtime chooses for."""
        return bool(getattr(self.driver, "is_by_name", False))

    def supports(self, model: Model) -> Sequence[bool]:
        """For each operation of the model, in its order: would the device take it, by its level and by its driver?"""
        from nnapi.runtime.verdicts.verdicts import find_verdicts  # which known models need not be asked

        return [verdict.supported for verdict in find_verdicts(self.driver, model)]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<nnapi.Device {self.name} {self.version}, {self.type.name}, {self.feature_level.name}>"


class Unavailable(NamedTuple):
    """A registered driver that could not be loaded, and why."""

    name: str
    reason: str


_lock = make_lock()
_found: tuple[list[Device], list[Unavailable]] | None = None
_profiled: dict[str, Device] = {}
"""The devices of profiles that were asked for, by their files."""


def _is_enabled(entry: Entry) -> bool:
    """Whether a registered driver is looked at: DEBUG_NN_CPUONLY=1 leaves only the reference, and
    DEBUG_NN_ENABLED_DEVICES is a regular expression that the names of all others must match."""
    if entry.name == REFERENCE:
        return True
    pattern = os.environ.get("DEBUG_NN_ENABLED_DEVICES", "")
    return os.environ.get("DEBUG_NN_CPUONLY") != "1" and (not pattern or re.search(pattern, entry.name) is not None)


def _is_isolated(driver: Driver) -> bool:
    """Whether a driver is used in another process: NNAPI_ISOLATED names its device, or all but the reference, or the
    driver asks for it, or NNAPI_SERVICE names a service that has it. One that is in another process stays there."""
    if getattr(driver, "is_remote", False):
        return False
    name, wanted = driver.info.name, _isolated_names()
    if os.environ.get("NNAPI_SERVICE") and not wanted:
        wanted = {"all"}
    return name in wanted or ("all" in wanted and name != REFERENCE) or bool(getattr(driver, "isolated", False))


def _isolated_names() -> set[str]:
    return {name for part in os.environ.get("NNAPI_ISOLATED", "").split(",") if (name := part.strip())}


def _apart(driver: Driver, entry: Entry) -> Driver:
    from nnapi.drivers.isolated import Isolated  # which few ask for

    if service := os.environ.get("NNAPI_SERVICE"):
        return Isolated(driver.info.name, known=driver, service=service)
    source = driver if getattr(driver, "travels", False) else entry.value
    return Isolated(source, device=driver.info.name, known=driver, patience=getattr(driver, "patience", None))


def _explain(name: str, error: Exception) -> Unavailable:
    is_sentence = isinstance(error, UnavailableDeviceError)
    unavailable = Unavailable(name, str(error) if is_sentence else f"{type(error).__name__}: {error}")
    log.debug("%s is unavailable: %s", *unavailable)
    return unavailable


def _discover() -> tuple[list[Device], list[Unavailable]]:
    global _found
    with _lock, pause_collecting():
        if _found is None:
            available: list[Device] = []
            broken: list[Unavailable] = []
            for entry in sorted(filter(_is_enabled, entries(GROUP)), key=lambda entry: entry.name):
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
            available.sort(key=lambda device: device.name == REFERENCE)
            _found = available, broken
        return _found


EXTENSIONS.discover = _discover


def devices() -> list[Device]:
    """The devices of this machine, the CPU reference last (``ANeuralNetworks_getDeviceCount``, ``_getDevice``)."""
    return list(_discover()[0])


def unavailable_devices() -> list[Unavailable]:
    """Drivers that are registered but could not be loaded."""
    return list(_discover()[1])


def device(name: str) -> Device:
    """The device of that name; UnavailableDeviceError, naming those there are, if there is none.

    A name that ends with ``.toml`` is that of a profile: a file, or one that comes with nnapi (docs/profiles.md).
    """
    if name.endswith(PROFILE):
        return _find_profiled(name)
    found = next((device for device in devices() if device.name == name), None)
    if found is None:
        names = ", ".join(device.name for device in devices())
        reasons = "".join(f"; {u.name} is unavailable: {u.reason}" for u in unavailable_devices())
        raise UnavailableDeviceError(f"no device {name!r}; there are: {names}{reasons}")
    return found


Devices = Sequence[Device | str] | Device | str
"""One device or several, each by its name or itself."""


def list_candidates(named: Devices | None) -> list[Device]:
    """The devices that are named, else those that the runtime may choose; errors as of :func:`device`."""
    if named is None:
        return [each for each in devices() if not each.is_by_name]
    several = [named] if isinstance(named, str | Device) else named
    return [device(each) if isinstance(each, str) else each for each in several]


def _find_profiled(name: str) -> Device:
    """The device of a profile, the same for each call; BadDataError for what is none."""
    from nnapi.drivers.profiles.reading import find_profile  # which few ask for

    path = os.path.realpath(find_profile(name))
    with _lock:
        found = _profiled.get(path)
    if found is None:
        found = _make_profiled(path)
    with _lock:
        return _profiled.setdefault(path, found)


def _make_profiled(path: str) -> Device:
    from nnapi.drivers.profiles.driver import make_driver
    from nnapi.drivers.profiles.reading import read_profile

    profile = read_profile(path)
    if profile.name in {each.name for each in devices()}:
        raise BadDataError(f"{path}: name is {profile.name!r}, which is a device of this machine")
    if profile.computed_by and profile.computed_by.endswith(PROFILE):
        raise BadDataError(f"{path}: computed_by is {profile.computed_by!r}, must be a device of this machine")
    try:
        computing = [device(each).driver for each in (profile.computed_by, REFERENCE) if each]
    except UnavailableDeviceError as error:
        raise BadDataError(f"{path}: computed_by: {error}") from None
    return Device(make_driver(profile, computing))
