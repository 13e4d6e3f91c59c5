"""Our own library as another's, under what every driver must stand."""

from collections.abc import Iterator

import pytest

from nnapi import Device
from nnapi.capi import installation
from nnapi.drivers.foreign.driver import list_devices
from tests.drivers.driver_suite import DriverSuite
from tests.drivers.foreign.agent_cases import needs_agent

pytestmark = [
    needs_agent,
    pytest.mark.skipif(installation.library_problem() is not None, reason="the C library is not built"),
    pytest.mark.slow,
]


class TestForeign(DriverSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def subject(cls) -> Iterator[Device]:
        drivers = list_devices("own", str(installation.library()))
        (driver,) = [each for each in drivers if each.info.name == "own-nnapi-reference"]
        with Device(driver) as found:
            yield found
