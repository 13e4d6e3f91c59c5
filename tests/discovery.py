"""The devices that a test's machine has."""

from collections.abc import Sequence

import pytest

from nnapi.runtime.device import Device


def find_devices_anew(patch: pytest.MonkeyPatch) -> None:
    """Forget the devices that were found, so that a test's environment and drivers decide."""
    patch.setattr("nnapi.runtime.device._found", None)


def replace_devices(patch: pytest.MonkeyPatch, devices: Sequence[Device]) -> None:
    """Let the machine have these devices alone."""
    patch.setattr("nnapi.runtime.device._found", (devices, []))
