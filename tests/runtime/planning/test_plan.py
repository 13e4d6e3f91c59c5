"""Plans: the devices that read or write an operand."""

import pytest

from nnapi import Model, compile
from nnapi.runtime.planning.plan import Explanation, Plan, Run, _describe_ranges
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


def test_a_plan_is_named_after_its_operations_by_device() -> None:
    first, last = limited("first", [ABS]), limited("last", [NEG])
    whole = compile(chain(3), CPU).plan
    assert whole.name == whole.identity == f"everything on {CPU}"
    assert whole.with_variant("upside down").name == f"everything on {CPU}, upside down"
    assert compile(chain(3), [first, last, REFERENCE]).plan.name == "2 on first and 1 on last"


@pytest.mark.parametrize(("devices", "name"), [(("one", "one"), "everything on one"), (("two", "one"), "one and two")])
def test_a_plan_whose_operations_are_placed_on_one_device_is_named_after_its_steps(
    devices: tuple[str, str], name: str
) -> None:
    divided = compile(chain(2), [limited("first", [ABS]), limited("last", [NEG]), REFERENCE]).plan
    steps = tuple(
        step._replace(device=device)
        for step, device in zip(divided.steps, devices, strict=True)
        if isinstance(step, Run)
    )
    decisions = tuple(decision._replace(chosen="one") for decision in divided.decisions)
    assert Plan(divided.model, steps, lambda: Explanation(decisions, 1.0, ())).name == name


def test_the_identity_of_a_divided_plan_is_the_same_for_the_same_assignment() -> None:
    first, last = limited("first", [ABS]), limited("last", [NEG])
    one, again, longer = (compile(chain(count), [first, last, REFERENCE]).plan for count in (4, 4, 6))
    assert one.identity == "2 on first and 2 on last (#1, #3)"
    assert longer.identity == "3 on first and 3 on last (#1, #3, #5)"
    assert again.identity == one.identity


def test_neighboring_operations_are_a_range() -> None:
    assert _describe_ranges([1, 3, 4, 5, 9]) == "#1, #3–5, #9"
