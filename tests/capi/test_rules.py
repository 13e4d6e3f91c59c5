"""The ordered error rules of the specification, each broken through C, alone and together with each later one."""

from __future__ import annotations

import ctypes
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from nnapi.capi import installation
from nnapi.capi.client import library
from nnapi.capi.functions import FUNCTIONS
from nnapi.capi.prototype import Function
from nnapi.codes import ResultCode
from tests.capi.capi_rules import CASES, Arguments
from tests.capi.capi_world import P, World

pytestmark = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))

BY_NAME = {function.name.removeprefix(P): function for function in FUNCTIONS}
NULL = int(ResultCode.UNEXPECTED_NULL)

ELSEWHERE = {
    "allocation failed": "memory that cannot be had",
    "device": "tested with devices made to fail (tests/runtime)",
    "prefixes are in use": "65535 extensions",
    "AHardwareBuffer": "only BLOB buffers exist here",
    "not supported on the platform": "BLOB buffers are supported here",
    "WHILE loop": "the endless loops of the conformance examples",
    "during the run": "a matter of timing (tests/runtime)",
    "another thread": "a matter of timing (tests/runtime)",
    "no longer validates": "only a change of scales could do it, and none is left to make",
    "put into shared memory": "constants are not put there",
    "above that of the runtime": "the runtime has the highest level",
    "no way of copying": "every memory here can be copied",
    "memory cannot be mapped": "what passes through an event becomes OP_FAILED",
    "result of the computation": "each way to compute is tested by its event's result",
    "has no FeatureLevelCode": "tested with devices made to fail (tests/runtime)",
    "scalar operand while dimensions": "no operation has a scalar output of a type that a role before can have",
}
"""Rules that a sound machine cannot be made to break through C, by what they speak of."""


def invoke(function: Function, world: World, given: Arguments) -> int:
    values = []
    for parameter in function.parameters:
        if parameter.name in given:
            values.append(given[parameter.name])
        else:
            assert parameter.is_output, f"{function.name}: no value for {parameter.name}"
            values.append(world.room())
    code: int = getattr(library(), function.name)(*values)
    if not code and function.output and function.output.kind == "Event":
        code = library().ANeuralNetworksEvent_wait(values[-1][0])
    return code


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def specification(shared: Path) -> dict[str, Any]:
    described = json.loads((shared / "reference" / "api.json").read_text())
    return {function["name"].removeprefix(P): function["errors"] for function in described["functions"]}


@pytest.mark.parametrize("name", [name for name in CASES if name != "Model_setOperandExtensionData"])
def test_succeeds(name: str, world: World) -> None:
    assert invoke(BY_NAME[name], world, CASES[name].arguments(world)) == 0


@pytest.mark.parametrize("name", CASES)
def test_null(name: str, world: World) -> None:
    """Each pointer that must be given, in turn; the reason names it and stays until the next failure."""
    function = BY_NAME[name]
    given = CASES[name].arguments(world)
    optional = {*function.nullable, "dependencies"}
    for parameter in function.parameters:
        if parameter.is_pointer and parameter.name not in optional:
            code = invoke(function, world, given | {parameter.name: None})
            assert code == NULL, parameter.name
            said = library().nnapi_last_error().decode()
            assert said.startswith(function.name)
            assert f"{parameter.name} is null" in said


@pytest.mark.shared
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].breaks])
def test_each_rule(name: str, world: World, specification: dict[str, Any]) -> None:
    for number, change in CASES[name].breaks.items():
        given = CASES[name].arguments(world)
        change(world, given)
        assert invoke(BY_NAME[name], world, given) in codes(specification[name][number]), specification[name][number]


@pytest.mark.shared
@pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name].breaks) > 1])
def test_first_rule_decides(name: str, world: World, specification: dict[str, Any]) -> None:
    """Where two rules are broken the code is that of the earlier one."""
    for first, second in combinations(sorted(CASES[name].breaks), 2):
        given = CASES[name].arguments(world)
        CASES[name].breaks[second](world, given)
        try:
            CASES[name].breaks[first](world, given)
        except Exception:
            continue  # the second break leaves nothing to break
        code = invoke(BY_NAME[name], world, given)
        assert code in codes(specification[name][first]), (specification[name][first], specification[name][second])


@pytest.mark.shared
def test_every_rule_has_a_case_or_a_reason(specification: dict[str, Any]) -> None:
    missing = []
    for name, rules in specification.items():
        for number, rule in enumerate(rules):
            is_null = rule["code"] == "ANEURALNETWORKS_UNEXPECTED_NULL" and name in CASES
            known = is_null or (name in CASES and number in CASES[name].breaks)
            if not known and not any(words in rule["when"] for words in ELSEWHERE):
                missing.append(f"{name} {number}: {rule['when']}")
    assert missing == []


def codes(rule: dict[str, str]) -> set[int]:
    return {
        int(ResultCode[word.removeprefix("ANEURALNETWORKS_")])
        for word in rule["code"].replace(",", " ").split()
        if word.startswith("ANEURALNETWORKS_") or word in ResultCode.__members__
    }


def test_answers_of_failing_calls(world: World) -> None:
    """Values that are stored although the call fails."""
    rank, dimensions = ctypes.c_uint32(), (ctypes.c_uint32 * 1)()
    execution = world.too_small()
    insufficient = int(ResultCode.OUTPUT_INSUFFICIENT_SIZE)
    assert library().ANeuralNetworksExecution_getOutputOperandRank(execution, 0, ctypes.byref(rank)) == insufficient
    assert library().ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dimensions) == insufficient
    assert (rank.value, list(dimensions)) == (1, [2])
    duration = ctypes.c_uint64()
    assert library().ANeuralNetworksExecution_getDuration(world.execution(), 0, ctypes.byref(duration))
    assert duration.value == 2**64 - 1
    fence = ctypes.c_int(7)
    assert library().ANeuralNetworksEvent_getSyncFenceFd(None, ctypes.byref(fence)) == NULL
    assert fence.value == -1
    handle = ctypes.c_size_t(7)
    assert library().ANeuralNetworksCompilation_create(world.model(), ctypes.byref(handle))
    assert handle.value == 0
