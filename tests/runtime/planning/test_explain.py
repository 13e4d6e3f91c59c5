"""Explanations of a plan: the guide's messages, text, data."""

import json
import logging

import pytest

from nnapi import Builder, Device, OperationCode, PreferenceCode, compile, tensor
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.model.model import DYNAMIC_RANGE
from nnapi.runtime.planning.explain import as_data, as_text, summary
from tests.runtime.control_cases import branch, counting
from tests.runtime.device_cases import ABS, NEG, REFERENCE, capabilities, chain, limited


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if (r.name, r.levelno) == ("nnapi.ExecutionPlan", logging.INFO)]


@pytest.fixture
def halves() -> list[Device]:
    return [REFERENCE, limited("positive", [ABS]), limited("negative", [NEG])]


def test_the_guide_s_messages(caplog: pytest.LogCaptureFixture, halves: list[Device]) -> None:
    with caplog.at_level(logging.INFO, "nnapi.ExecutionPlan"):
        compile(chain(), halves)
    assert messages(caplog) == [
        "ModelBuilder::findBestDeviceForEachOperation(ABS): = 1",
        "ModelBuilder::findBestDeviceForEachOperation(NEG): = 2",
        "ModelBuilder::findBestDeviceForEachOperation(ABS): = 1",
    ]


def test_the_guide_s_message_about_one_best_device(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "nnapi.ExecutionPlan"):
        compile(chain(1), [REFERENCE, limited()])
    assert messages(caplog) == [
        "ModelBuilder::partitionTheWork: only one best device: quick",
        "ModelBuilder::findBestDeviceForEachOperation(ABS): = 1",
    ]


def test_one_line(halves: list[Device]) -> None:
    refusing = limited("quick", [ABS])
    assert summary(compile(chain(), [refusing, REFERENCE]).plan) == (
        "quick 2 of 3 operations in 2 parts; 1 on nnapi-reference: NEG (#1): not for quick"
    )
    divided = compile(chain(5), [refusing, limited("slow", [NEG])]).plan
    assert summary(divided).endswith("; 2 on slow: NEG (#1): not for quick (and 1 more reason)")
    assert summary(compile(chain(), REFERENCE.name).plan) == "nnapi-reference 3 of 3 operations in 1 part"


def test_the_text_says_where_why_and_at_what_cost() -> None:
    quick = limited("quick", [ABS], capabilities(0.25))
    lines = compile(chain(), [quick, REFERENCE]).explain().splitlines()
    assert lines[0].startswith("quick 2 of 3 operations")
    assert "predicted " in lines[2]
    assert any(line.startswith("  or everything on nnapi-reference: ") for line in lines)
    assert "  1. quick: 1 operation" in lines
    assert any("#1 NEG  → nnapi-reference (2.0 µs)" in line for line in lines)
    assert any("not quick: NEG (#1): not for quick" in line for line in lines)
    assert any("#0 ABS  → quick (0.5 µs)" in line for line in lines)
    assert any("not nnapi-reference (2.0 µs)" in line for line in lines)


def test_a_broken_promise_is_told() -> None:
    liar = Device(Faulty(limited().driver, Fault.LIES, Phase.PREPARE, operation=NEG))
    compilation = compile(chain(), [liar, REFERENCE])
    message = "quick claimed operation #1, but failed to prepare: quick reports a general failure"
    assert message in compilation.explain().partition("\nnotes\n")[2]
    decision = compilation.explanation()["operations"][1]
    assert decision["verdicts"]["quick"] == {"supported": False, "reason": message}


def test_the_data_are_plain(halves: list[Device]) -> None:
    compilation = compile(chain(), halves)
    data = json.loads(json.dumps(compilation.explanation(), allow_nan=False))
    assert [step["run"] for step in data["steps"]] == ["positive", "negative", "positive"]
    assert [step["operations"] for step in data["steps"]] == [[0], [1], [2]]
    assert [operation["device"] for operation in data["operations"]] == ["positive", "negative", "positive"]
    assert data["operations"][0]["seconds"]["negative"] is None
    assert data["alternatives"][0]["description"] == "everything on nnapi-reference"
    assert 0 < data["predicted_seconds"] <= data["alternatives"][0]["seconds"]


def test_control_flow_is_explained_inside(halves: list[Device]) -> None:
    compilation = compile(branch(), halves)
    (step,) = compilation.explanation()["steps"]
    assert step["then"]["operations"][0]["device"] == "positive"
    assert step["else"]["operations"][0]["device"] == "negative"
    assert "IF #0: positive 1 of 1 operation in 1 part | negative 1 of 1 operation" in compilation.explain()
    loop = compile(counting(3), [limited("adder", [OperationCode.ADD]), REFERENCE])
    assert "WHILE #0: nnapi-reference 2 of 2 operations in 1 part | adder 1 of 1" in loop.explain()
    assert as_data(loop.plan)["steps"][0]["body"]["operations"][0]["device"] == "adder"


def test_costs_follow_the_preference() -> None:
    frugal = limited("frugal", declared=capabilities(time=2.0, power=0.5))
    for preference, seconds in ((PreferenceCode.PREFER_LOW_POWER, 1e-6), (PreferenceCode.PREFER_SUSTAINED_SPEED, 4e-6)):
        data = compile(chain(1), [frugal, REFERENCE], preference).explanation()
        assert data["operations"][0]["seconds"]["frugal"] == pytest.approx(seconds, rel=0.01)


def test_supported_operations_are_those_of_any_device(halves: list[Device]) -> None:
    model = chain()
    assert model.supported_operations([halves[1]]) == [True, False, True]
    assert model.supported_operations([halves[2]]) == [False, True, False]
    assert model.supported_operations(halves[1:]) == [True] * 3
    assert halves[1].supports(model) == [True, False, True]


def test_what_the_model_permits_is_said() -> None:
    b = Builder()
    b.output(b.abs(b.input(tensor("float32", (2,)))))
    b.model.permit_dynamic_range(True)
    plan = compile(b.finish(), REFERENCE).plan
    assert DYNAMIC_RANGE in as_text(plan)
    assert as_data(plan)["notes"] == [DYNAMIC_RANGE]
    assert DYNAMIC_RANGE not in as_text(compile(chain(), REFERENCE).plan)


@pytest.mark.parametrize(("threads", "said"), [(None, ""), (1, " on 1 thread"), (4, " on 4 threads")])
def test_times_are_given_with_their_threads(threads: int | None, said: str) -> None:
    plan = compile(chain(), REFERENCE.name).plan.with_times(1e-3, 2e-3, ()).on_threads(threads)
    line = as_text(plan).splitlines()[2]
    assert line == f"predicted 1.000 ms, measured 2.000 ms{said}"
    assert as_data(plan)["threads"] == threads
