"""The driver of a simulated device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nnapi.contract.driver import Capabilities, DeviceInfo, Driver, Prepared, PrepareOptions, Verdict
from nnapi.drivers.faulty import Fault, Faulty
from nnapi.drivers.limited import Limited
from nnapi.model.model import Model
from nnapi.profiles.profile import Profile


class Profiled(Limited):
    """A driver that supports the operations of a profile. Its speed is another device's, so timings do not count."""

    is_measured: ClassVar[bool] = False


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
