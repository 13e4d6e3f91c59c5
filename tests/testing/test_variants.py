"""Each way of running an example, on a device that is right and on devices that are not."""

from dataclasses import replace

import numpy as np
import pytest

from nnapi.testing.example import Criterion, Example, ExampleGraph, Harness, OperandSource, OperandSpec, OperationSpec
from nnapi.testing.variants import VARIANTS, Setting, Skip
from tests.testing.testing_cases import REFERENCE, add, constant, endless, given, refusing, relu, spoilt, taken, tensor

HERE = Setting((REFERENCE,))
COMPUTING = ("plain", "dynamic", "memory", "fenced", "async", "burst", "cached")


def violation(variant: str, example: Example, setting: Setting = HERE) -> object:
    return VARIANTS[variant].check(example, setting)


def test_the_table_names_every_variant() -> None:
    assert list(VARIANTS) == [
        "plain",
        "dynamic",
        "signed",
        "memory",
        "fenced",
        "async",
        "burst",
        "cached",
        "compliance",
        "validation",
    ]


@pytest.mark.parametrize(
    ("flag", "variants"),
    [
        ("generated", {"plain", "async", "burst", "cached"}),
        ("dynamic_output_shape", {"dynamic"}),
        ("quantization_coupling", {"signed"}),
        ("device_memory", {"memory"}),
        ("fenced", {"fenced"}),
        ("compliance", {"compliance"}),
        ("validation", {"validation"}),
        ("infinite_loop_timeout", {"plain"}),
    ],
)
def test_each_flag_asks_for_its_variants(flag: str, variants: set[str]) -> None:
    harness = replace(Harness(generated=False), **{flag: True})
    assert {name for name, variant in VARIANTS.items() if variant.applies(harness)} == variants


@pytest.mark.parametrize("variant", COMPUTING)
def test_right_outputs_pass(variant: str) -> None:
    assert violation(variant, add()) is None


@pytest.mark.parametrize("variant", COMPUTING)
def test_wrong_outputs_are_found(variant: str) -> None:
    assert "[0] is 11.5, expected 11 " in str(violation(variant, add(), Setting((spoilt(0.5),))))


def test_signed_runs_signed_codes() -> None:
    assert violation("signed", relu()) is None
    assert violation("signed", relu(), Setting((spoilt(2),)))


def test_cached_lets_codes_be_three_off() -> None:
    off = Setting((spoilt(-3),))
    shifted = relu(inputs={0: np.array([140, 150, 255], np.uint8)}, outputs={1: np.array([140, 150, 255], np.uint8)})
    assert violation("plain", shifted, off)
    assert violation("cached", shifted, off) is None
    assert violation("cached", shifted, Setting((spoilt(-4),)))


@pytest.mark.parametrize("variant", ["plain", "dynamic"])
def test_dimensions_must_be_those_expected(variant: str) -> None:
    wrong = add(outputs={3: np.array([[11], [22]], np.float32)})
    assert "has dimensions [2], expected [2, 1]" in str(violation(variant, wrong))


@pytest.mark.parametrize("variant", COMPUTING)
def test_what_the_device_does_not_take_is_skipped_with_its_reason(variant: str) -> None:
    with pytest.raises(Skip, match="no additions today"):
        violation(variant, add(), Setting((refusing("no additions today"),)))


def test_an_operation_is_skipped_only_if_no_device_takes_it() -> None:
    assert violation("plain", add(), Setting((refusing("not I"), REFERENCE))) is None


def test_a_loop_without_end_must_miss_its_deadline() -> None:
    assert violation("plain", endless()) is None
    never = replace(endless(), inputs={2: np.array([False])})
    assert violation("plain", never) == "the loop never ends, but the execution succeeded"


def test_strict_reaches_the_judge() -> None:
    numbers = OperandSpec("TENSOR_INT32", (2,))
    one, none = constant("TENSOR_INT32", np.array([1, 1], np.int32)), constant("INT32", np.int32(0))
    operands = (taken(numbers), one, none, given(numbers))
    main = ExampleGraph(operands, (OperationSpec("ADD", (0, 1, 2), (3,)),), (0,), (3,))
    one_off = Example("sum", main, {0: np.array([1, 2], np.int32)}, {3: np.array([2, 4], np.int32)})
    for variant in COMPUTING[:2]:
        assert violation(variant, one_off) is None
        assert violation(variant, one_off, Setting((REFERENCE,), strict=True))


def test_compliance_wants_exactly_the_stated_level() -> None:
    assert violation("compliance", add()) is None
    assert violation("compliance", add(min_feature="V1_1")) == (
        "needs feature level 1 (ADD (#0): lhs is TENSOR_FLOAT32), stated is V1_1, level 2"
    )
    half = tensor("TENSOR_FLOAT16", 2)
    operands = tuple(
        replace(half, lifetime=operand.lifetime, data=None if operand.data is None else operand.data.astype(np.float16))
        if operand.type == "TENSOR_FLOAT32"
        else operand
        for operand in add().main.operands
    )
    needs_three = add(main=replace(add().main, operands=operands))
    assert violation("compliance", replace(needs_three, min_feature="V1_2")) is None
    assert "needs feature level 3" in str(violation("compliance", needs_three))


def test_validation_wants_a_refusal() -> None:
    assert violation("validation", add()) == "the execution succeeded, but the model is wrong on purpose"
    one_input = add(main=replace(add().main, operations=(OperationSpec("ADD", (0, 1), (3,)),)))
    assert violation("validation", one_input) is None
    bad_activation = replace(add().main.operands[2], data=np.array(99, np.int32))
    operands = (*add().main.operands[:2], bad_activation, add().main.operands[3])
    assert violation("validation", add(main=replace(add().main, operands=operands))) is None
    assert violation("validation", add(), Setting((refusing("anything"),))) is None


def test_finish_is_not_the_place_to_refuse() -> None:
    unwritten = replace(add().main.operands[0], lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (*add().main.operands, unwritten)
    assert "finish refused" in str(violation("validation", add(main=replace(add().main, operands=operands))))


def test_criteria_of_the_example_hold() -> None:
    off = Setting((spoilt(0.002),))
    assert violation("plain", add(), off)
    assert violation("plain", add(tolerance=Criterion("fp16")), off) is None


def test_memory_that_cannot_be_allocated_is_skipped_with_the_reason() -> None:
    example = add()
    open_ended = replace(example.main.operands[3], dimensions=(0,))
    operands = (*example.main.operands[:3], open_ended)
    with pytest.raises(Skip, match="no memory for output 0: "):
        violation("memory", add(main=replace(example.main, operands=operands)))
