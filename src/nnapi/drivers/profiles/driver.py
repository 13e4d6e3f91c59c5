"""The driver of a simulated device, and the entry point that makes devices of profiles."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from nnapi.contract.driver import Capabilities, DeviceInfo, Driver, Prepared, PrepareOptions, Verdict
from nnapi.drivers.faulty import Fault, Faulty
from nnapi.drivers.limited import Limited
from nnapi.errors import BadDataError, UnavailableDeviceError
from nnapi.model.model import Model
from nnapi.profiles.profile import Profile
from nnapi.profiles.reading import SUFFIX, find_profile, read_profile

LAST = "nnapi-reference"
"""The device that computes the models that no other device of a profile supports."""


class Profiled(Limited):
    """A driver that supports the operations of a profile. Its speed is another device's, so timings do not count."""

    is_measured: ClassVar[bool] = False

    @property
    def info(self) -> DeviceInfo:
        """Return the device's information, without extensions: phones know none of them."""
        return super().info._replace(extensions=())


@dataclass(frozen=True, eq=False)
class FirstOf:
    """Several drivers as one. The first that supports a whole model runs it, else the last."""

    drivers: Sequence[Driver]

    @property
    def info(self) -> DeviceInfo:
        return self.drivers[-1].info

    def capabilities(self) -> Capabilities:
        return self.drivers[-1].capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return self.drivers[-1].verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        able = (d for d in self.drivers[:-1] if all(verdict.supported for verdict in d.verdicts(model)))
        return next(able, self.drivers[-1]).prepare(model, options)


def make_driver(profile: Profile, drivers: Sequence[Driver]) -> Driver:
    """Return a profile's driver. The first of ``drivers`` that supports a model runs it, else the last."""
    computing: Driver = FirstOf(drivers)
    if profile.delay_seconds:
        computing = Faulty(computing, Fault.SLOW, seconds=profile.delay_seconds)
    return Profiled(
        computing,
        profile.name,
        profile.find_refusal,
        profile.capabilities,
        profile.feature_level,
        profile.type,
        profile.version,
    )


class Profiles:
    """Makes a device of a profile's path."""

    def find(self, name: str) -> str:
        return os.path.realpath(find_profile(name))

    def make(self, path: str, names: Collection[str], find_driver: Callable[[str], Driver]) -> Driver:
        profile = read_profile(path)
        if profile.name in names:
            raise BadDataError(f"{path}: name is {profile.name!r}, which is a device of this machine")
        if profile.computed_by and profile.computed_by.endswith(SUFFIX):
            raise BadDataError(f"{path}: computed_by is {profile.computed_by!r}, must be a device of this machine")
        try:
            computing = [find_driver(each) for each in (profile.computed_by, LAST) if each]
        except UnavailableDeviceError as error:
            raise BadDataError(f"{path}: computed_by: {error}") from None
        return make_driver(profile, computing)


profiles = Profiles()
