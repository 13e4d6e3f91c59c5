"""Trials of a model with control flow, and of executions of the C library."""

import numpy as np
import pytest

from nnapi import device
from nnapi.capi import installation
from nnapi.capi.client import call, device_handle, make_handle
from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.schedule import Stage
from tests.capi.capi_world import World
from tests.discovery import replace_devices
from tests.runtime.choice.trial_cases import Machine
from tests.runtime.control_cases import branch


def test_both_branches_of_control_flow_are_right_during_a_trial_and_after(machine: Machine) -> None:
    compilation, x = machine.compile(branch()), np.array([-1, 2], np.float32)
    for number in range(100):
        is_first = number % 3 == 0
        (found,) = compilation.run(np.array([is_first]), x)
        np.testing.assert_array_equal(found, np.abs(x) if is_first else -x)
        machine.clock.now += number == 0
        if number % 5 == 0:
            tuner.TUNER.step()
        if number == 10:
            assert machine.trial(compilation).stage is Stage.COMPARING
    assert compilation.plan.devices == ("second",)


@pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))
def test_executions_of_the_c_library_take_part_in_a_trial(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    device_handle(device("nnapi-reference"))  # the library caches its list of devices: not that of this test
    replace_devices(monkeypatch, machine.devices)
    world, runs = World(), []
    compilation, x, y = world.compilation(explicit=False), np.array([1, 2], np.float32), np.zeros(2, np.float32)
    for number in range(100):
        execution = make_handle("ANeuralNetworksExecution_create", compilation)
        for index in range(2):
            call("ANeuralNetworksExecution_setInput", execution, index, None, x.ctypes.data, x.nbytes)
        call("ANeuralNetworksExecution_setOutput", execution, 0, None, y.ctypes.data, y.nbytes)
        call("ANeuralNetworksExecution_compute", execution)
        np.testing.assert_array_equal(y, x + x)
        y[:] = 0
        runs.append(machine.first.runs)
        machine.clock.now += number == 0
        if number % 5 == 0:
            tuner.TUNER.step()
    assert runs[0] == 1
    assert runs[-20] == runs[-1]
    assert machine.second.runs > 50
