"""Shared by tests of the accelerator: an adapter, or the reason why it is missing."""

import os
import signal

import pytest

from nnapi import Device, Model
from nnapi.contract.driver import Outcome, PrepareOptions, Request
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.webgpu import SOFTWARE, search
from nnapi.drivers.webgpu.driver import PreparedModel, WebGpuDriver
from nnapi.errors import UnavailableDeviceError


def open_device(kind: type[WebGpuDriver] = WebGpuDriver) -> Device:
    """The device in a process of its own, on whatever adapter there is; skips with the reason where there is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOFTWARE, "1")
        try:
            driver = search()
        except (ImportError, UnavailableDeviceError) as error:
            pytest.skip(f"needs a GPU, or Mesa's lavapipe from 25.0 on: {error}")
    assert isinstance(driver, WebGpuDriver)
    driver = kind(driver.info.version, driver.is_software)
    return Device(Isolated(driver, known=driver, patience=WebGpuDriver.patience))


class Ending(WebGpuDriver):
    """One whose process is ended in the middle of every run, when the accelerator has computed."""

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedModel:
        prepared = super().prepare(model, options)
        assert isinstance(prepared, PreparedModel)
        return EndingModel(prepared.compiled)


class EndingModel(PreparedModel):
    """A model on the accelerator, whose process does not outlive a run."""

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        super().execute(request)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it has ended")
