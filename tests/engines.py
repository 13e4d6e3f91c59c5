"""The devices of engines by name, for tests on several devices: by default, tests see only the reference."""

from importlib import import_module

import pytest

import nnapi
from nnapi.runtime.device import Device

DRIVERS = {"xnnpack-cpu": ("ai_edge_litert", "XnnpackDriver"), "openvino-cpu": ("openvino", "OpenVinoDriver")}
"""An engine's requirement and its driver."""
DEVICES = ["nnapi-reference", *(pytest.param(name, marks=pytest.mark.engine) for name in DRIVERS)]
"""The names of all devices, as parameters of a test."""


def find_device(name: str) -> Device:
    """Return a device; skip the test if its engine is not installed."""
    if name not in DRIVERS:
        return nnapi.device(name)
    needed, driver = DRIVERS[name]
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    return Device(getattr(import_module(f"nnapi.drivers.{name.removesuffix('-cpu')}"), driver)(threads=1))
