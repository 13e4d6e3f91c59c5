"""Rules 59 and 60 of validation.md: which device computes control flow, and what is inside."""

import numpy as np
import pytest

from nnapi import Device, DeviceTypeCode, Execution, OperationCode, compile, tensor
from nnapi.errors import BadDataError, MissedDeadlineTransientError
from nnapi.runtime.planning.plan import If, Run, While
from tests.runtime.control_cases import branch, counting
from tests.runtime.device_cases import ABS, NEG, REFERENCE, limited


def test_rule_059_control_flow_on_unknown_dimensions_runs_on_the_cpu() -> None:
    model = branch(tensor("float32", (0,)))
    with pytest.raises(BadDataError, match=r"IF \(#0\): control flow on unknown dimensions runs on the CPU only"):
        compile(model, limited())
    compilation = compile(model, [limited(), REFERENCE])
    assert compilation.plan.devices == ("nnapi-reference",)
    assert isinstance(compilation.plan.steps[0], Run)
    assert compilation.run(np.array([0], np.uint8), np.array([1, -2], np.float32))[0].tolist() == [-1, 2]
    cpu = limited("other-cpu", type=DeviceTypeCode.DEVICE_CPU)
    assert compile(model, cpu).plan.devices == ("other-cpu",)


def test_rule_060_what_is_inside_goes_to_the_best_device() -> None:
    compilation = compile(branch(), [limited("positive", [ABS]), limited("negative", [NEG]), REFERENCE])
    (step,) = compilation.plan.steps
    assert isinstance(step, If)
    assert (step.then.devices, step.otherwise.devices) == (("positive",), ("negative",))
    for flag, wanted in ((1, [1, 2]), (0, [-1, 2])):
        assert compilation.run(np.array([flag], np.uint8), np.array([1, -2], np.float32))[0].tolist() == wanted


def test_rule_060_a_device_that_takes_all_of_it_keeps_it_whole() -> None:
    compilation = compile(branch(), [limited(), REFERENCE])
    assert compilation.plan.is_simple
    assert compilation.plan.devices == ("quick",)


def test_loops_are_interpreted_by_the_plan() -> None:
    compilation = compile(counting(5), [limited("adder", [OperationCode.ADD]), REFERENCE])
    (step,) = compilation.plan.steps
    assert isinstance(step, While)
    assert (step.condition.devices, step.body.devices) == (("nnapi-reference",), ("adder",))
    assert compilation.run(np.array([1, 0], np.float32))[0].tolist() == [5, 4]
    assert compilation.run(np.array([7, 0], np.float32))[0].tolist() == [7, 0]


@pytest.mark.parametrize("found", [[REFERENCE], [limited("adder", [OperationCode.ADD]), REFERENCE]])
def test_a_loop_stops_at_its_limit_wherever_it_runs(found: list[Device]) -> None:
    execution = Execution(compile(counting(np.inf), found))
    execution.set_input(0, np.zeros(2, np.float32))
    execution.set_output(0, np.zeros(2, np.float32))
    execution.set_loop_timeout(20_000_000)
    with pytest.raises(MissedDeadlineTransientError, match="the loop ran longer than 20000000 ns"):
        execution.compute()
