"""Refusals of a profile, with their messages."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, OperandCode, OperationCode, tensor
from nnapi.drivers.profiles.profile import OperandLimits, OperationLimits, Profile

FLOAT = OperandLimits((OperandCode.TENSOR_FLOAT32,))


def two_operations() -> Any:
    b = Builder("two")
    x = b.input(tensor("float32", (1, 4)))
    b.output(b.relu(b.add(x, np.ones((1, 4), np.float32))))
    return b.finish()


def refusals(profile: Profile, model: Any) -> list[str | None]:
    return [profile.find_refusal(model, call) for call in model.operations]


def test_what_it_does_not_name_is_refused() -> None:
    profile = Profile("phone", operations={OperationCode.ADD: OperationLimits()})
    assert refusals(profile, two_operations()) == [None, "RELU (#1): phone has no such operation"]


def test_what_holds_for_others_holds_for_what_is_not_named() -> None:
    few = {OperationCode.ADD: OperationLimits(OperandLimits(ranks=(4,)))}
    profile = Profile("phone", operations=few, others=OperationLimits(FLOAT))
    assert refusals(profile, two_operations()) == ["ADD (#0): phone takes lhs with 4 dimensions, not with 2", None]


@pytest.mark.parametrize(
    ("limits", "violation"),
    [
        (OperandLimits((OperandCode.TENSOR_INT32,)), "takes lhs as TENSOR_INT32, not as TENSOR_FLOAT32"),
        (OperandLimits(ranks=(3, 4)), "takes lhs with 3 or 4 dimensions, not with 2"),
        (OperandLimits(largest_dimension=3), "takes dimensions up to 3, lhs has one of 4"),
        (OperandLimits(constant=True), "takes lhs as a constant only"),
        (OperandLimits(ranks=(2,), largest_dimension=4), None),
        (FLOAT, None),
    ],
)
def test_limits_of_the_first_operand(limits: OperandLimits, violation: str | None) -> None:
    profile = Profile("phone", operations={OperationCode.ADD: OperationLimits(limits)})
    found = refusals(profile, two_operations())[0]
    assert found == (None if violation is None else f"ADD (#0): phone {violation}")


def test_limits_of_other_operands_inputs_and_outputs() -> None:
    for name, limits, violation in (
        ("rhs", OperandLimits(constant=True), None),
        ("rhs", OperandLimits(ranks=(1,)), "takes rhs with 1 dimension, not with 2"),
        ("out", OperandLimits(largest_dimension=2), "takes dimensions up to 2, out has one of 4"),
    ):
        profile = Profile("phone", operations={OperationCode.ADD: OperationLimits(operands={name: limits})})
        found = refusals(profile, two_operations())[0]
        assert found == (None if violation is None else f"ADD (#0): phone {violation}")


def test_control_flow_is_taken_where_all_inside_is() -> None:
    b = Builder("outer")
    x, condition = b.input(tensor("float32", (1, 4))), b.input(tensor("bool", (1,)))
    b.output(*b.if_(condition, two_operations(), two_operations(), x))
    model = b.finish()
    operations = {code: OperationLimits() for code in (OperationCode.IF, OperationCode.ADD, OperationCode.RELU)}
    assert refusals(Profile("phone", operations=operations), model) == [None]
    del operations[OperationCode.RELU]
    refused = "IF (#0): RELU (#1) inside: phone has no such operation"
    assert refusals(Profile("phone", operations=operations), model) == [refused]
