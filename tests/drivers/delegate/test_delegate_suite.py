"""The small delegate, and our own, under what every driver must stand."""

from collections.abc import Iterator

import pytest

from nnapi import Device
from nnapi.capi import installation
from nnapi.drivers.delegate.settings import DelegateDevice
from nnapi.drivers.isolated import Isolated
from tests.drivers.delegate.delegate_cases import COMPILER, build
from tests.drivers.driver_suite import DriverSuite

pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
class TestSmall(DriverSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def subject(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
        small = build(tmp_path_factory.mktemp("delegate") / "libsmall.so")
        with Device(Isolated(DelegateDevice("small", small))) as found:
            yield found


@pytest.mark.skipif(not installation.delegate().is_file(), reason="our own delegate is not built")
class TestOwn(DriverSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def subject(cls) -> Iterator[Device]:
        options = (("devices", "nnapi-reference"),)
        with Device(Isolated(DelegateDevice("own", str(installation.delegate()), options))) as found:
            yield found
