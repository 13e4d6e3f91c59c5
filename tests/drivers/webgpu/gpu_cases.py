"""What tests of the accelerator share: an adapter, or why there is none."""

import pytest

from nnapi import Device
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.webgpu import SOFTWARE, search
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.errors import UnavailableDeviceError


def open_device() -> Device:
    """The device in a process of its own, on whatever adapter there is; skips with the reason where there is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOFTWARE, "1")
        try:
            driver = search()
        except (ImportError, UnavailableDeviceError) as error:
            pytest.skip(f"needs a GPU, or Mesa's lavapipe from 25.0 on: {error}")
    return Device(Isolated(driver, known=driver, patience=WebGpuDriver.patience))
