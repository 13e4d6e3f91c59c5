"""Refusals of a profile, with their messages."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, OperandCode, OperationCode, tensor
from nnapi.profiles.profile import OperandLimits, OperationLimits, Profile, name_operands

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


def convolution(nchw: bool | None) -> Any:
    """A convolution whose layout is given, or omitted."""
    b = Builder("conv")
    x = b.input(tensor("float32", (1, 3, 5, 5) if nchw else (1, 5, 5, 3)))
    more: Any = {} if nchw is None else {"layout": nchw}
    b.output(b.conv_2d(x, np.ones((2, 1, 1, 3), np.float32), np.ones(2, np.float32), 0, 0, 0, 0, 1, 1, **more))
    return b.finish()


@pytest.mark.parametrize(
    ("values", "nchw", "violation"),
    [
        ((False,), False, None),
        ((False,), None, None),
        ((False,), True, "takes layout as false only"),
        ((True,), True, None),
        ((True,), False, "takes layout as true only"),
        ((True,), None, "takes layout as true only"),
        ((True, False), True, None),
        (None, True, None),
    ],
)
def test_a_flag_that_is_omitted_is_false(values: Any, nchw: bool | None, violation: str | None) -> None:
    limits = OperationLimits(operands={"layout": OperandLimits(values=values)})
    (found,) = refusals(Profile("phone", operations={OperationCode.CONV_2D: limits}), convolution(nchw))
    assert found == (None if violation is None else f"CONV_2D (#0): phone {violation}")


def test_limits_of_the_first_operand_do_not_hold_for_others() -> None:
    """The first violation is reported: in the order of the operands, each operand's own limits first."""
    model = convolution(True)
    for first, others, violation in (
        (OperandLimits(ranks=(4,)), {}, None),
        (OperandLimits(largest_dimension=5), {}, None),
        (OperandLimits(largest_dimension=4), {}, "takes dimensions up to 4, input has one of 5"),
        (OperandLimits(ranks=(4,)), {"bias": OperandLimits(ranks=(2,))}, "takes bias with 2 dimensions, not with 1"),
        (
            OperandLimits(),
            {"filter": OperandLimits(largest_dimension=2)},
            "takes dimensions up to 2, filter has one of 3",
        ),
        (OperandLimits(), {"filter": OperandLimits(largest_dimension=3, constant=True)}, None),
    ):
        limits = OperationLimits(first, others)
        (found,) = refusals(Profile("phone", operations={OperationCode.CONV_2D: limits}), model)
        assert found == (None if violation is None else f"CONV_2D (#0): phone {violation}")


def test_the_names_of_operands() -> None:
    (call,) = convolution(True).operations
    names = [name for name, _ in name_operands(call)]
    assert (names[:3], names[-2:], len(names)) == (["input", "filter", "bias"], ["layout", "out"], 12)
    assert [index for _, index in name_operands(call)] == [*call.inputs, *call.outputs]
