"""Plans: the devices that read or write an operand."""

import pytest

from nnapi import Model, compile
from tests.runtime.control_cases import branch, counting
from tests.runtime.device_cases import ABS, NEG, REFERENCE, chain, limited

CPU = REFERENCE.name


@pytest.mark.parametrize(
    ("model", "inputs", "output"),
    [
        (chain(2), [{"first"}], {"last"}),
        (branch(), [set(), {"first", "last"}], {"first", "last"}),  # the plan itself reads the condition
        (counting(3.0, states=1), [{CPU}, {CPU, "last"}], {CPU}),  # the loop's condition gets the second state, too
    ],
    ids=lambda value: value.name if isinstance(value, Model) else "",
)
def test_devices_that_touch_an_operand(model: Model, inputs: list[set[str]], output: set[str]) -> None:
    plan = compile(model, [limited("first", [ABS]), limited("last", [NEG]), REFERENCE]).plan
    assert [plan.devices_of(operand) for operand in model.inputs] == inputs
    assert plan.devices_of(*model.outputs) == output
