"""The devices ``ethos-u…``: Arm's NPUs for microcontrollers, planned by Arm's compiler Vela. They cannot run here."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from nnapi.host.installed_packages import version

if TYPE_CHECKING:
    from nnapi.drivers.ethos_u.driver import EthosUDriver

PACKAGE = "ethosu"
CONFIGURATIONS = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
)
"""Vela's names of the NPUs; the number is that of multiplications per cycle."""


def find_drivers() -> "list[EthosUDriver]":
    """Return a driver for each NPU if Vela is installed."""
    if find_spec(PACKAGE) is None:
        return []
    from nnapi.drivers.ethos_u.driver import EthosUDriver  # on demand: few machines have the package

    release = version("ethos-u-vela")
    return [EthosUDriver(configuration, release) for configuration in CONFIGURATIONS]
