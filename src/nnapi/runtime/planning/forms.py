"""Plans that differ from others in the form that a device gives the model, as drivers offer them."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.drivers.base import Forms
from nnapi.runtime.device import Device
from nnapi.runtime.planning.plan import Plan


def add_forms(plans: Sequence[Plan], devices: Sequence[Device]) -> list[Plan]:
    """The plans, and behind each that gives one device everything those for its other forms of the model.

    They are predicted to take as long: only running them tells which kernels are faster on this processor.
    """
    drivers = {device.name: device.driver for device in devices}
    found: list[Plan] = []
    for plan in plans:
        driver = drivers[plan.devices[0]]
        found.append(plan)
        if plan.is_simple and isinstance(driver, Forms):
            found += [plan.with_form(form) for form in driver.list_forms(plan.model)]
    return found
