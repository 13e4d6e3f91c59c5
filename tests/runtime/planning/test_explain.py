"""Explanations of a plan: the guide's messages, text, data."""

import json
import logging
import math

import numpy as np
import pytest

from nnapi import Builder, Device, OperationCode, PreferenceCode, compile, tensor
from nnapi.contract.driver import Capabilities, Performance, Verdict
from nnapi.contract.precision import Offer, refuse_precision
from nnapi.drivers.faulty import Fault, Faulty, Phase
from nnapi.model.model import DYNAMIC_RANGE
from nnapi.model.precision import Precision
from nnapi.runtime.planning.explain import add_notes, as_data, as_text, describe_wait, list_times, summary
from nnapi.runtime.planning.plan import Alternative, Decision, Explanation, Plan, Run
from tests.lowering.winograd.winograd_cases import make_convolution, make_quantized
from tests.runtime.control_cases import branch, counting
from tests.runtime.device_cases import ABS, NEG, REFERENCE, Scripted, as_it_is, capabilities, chain, limited


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
        "quick 2 of 3 operations in 2 partitions; 1 on nnapi-reference: NEG (#1): not for quick"
    )
    divided = compile(chain(5), [refusing, limited("slow", [NEG])]).plan
    assert summary(divided).endswith("; 2 on slow: NEG (#1): not for quick (and 1 more reason)")
    assert summary(compile(chain(), REFERENCE.name).plan) == "nnapi-reference 3 of 3 operations in 1 partition"
    assert summary(compile(branch(), halves).plan) == "nnapi-reference 1 of 1 operation in 1 partition"


def divided(*operations: tuple[str, str, str], threads: int | None = None) -> Plan:
    """A plan of operations with their device, and the reason why "quick" refuses each."""
    decisions = [
        Decision(
            number,
            name,
            chosen,
            (("quick", Verdict(not reason, reason)), ("slow", Verdict(True))),
            (("quick", math.inf if reason else 5e-4), ("slow", 1e-3)),
        )
        for number, (name, chosen, reason) in enumerate(operations)
    ]
    model = chain(len(operations))
    steps = tuple(Run(each.chosen, model, (each.number,), (), ()) for each in decisions)
    explanation = Explanation(decisions, 1.5e-3, (Alternative("everything on slow", 3e-3, 2.5e-3),))
    return Plan(model, steps, lambda: explanation).on_threads(threads)


@pytest.mark.parametrize(
    ("operations", "line"),
    [
        ([("ABS", "quick", ""), ("NEG", "quick", "")], "quick 2 of 2 operations in 2 partitions"),
        (
            [("ABS", "slow", ""), ("NEG", "quick", ""), ("ABS", "quick", "")],
            "quick 2 of 3 operations in 2 partitions; 1 on slow",
        ),
        (
            [("ABS", "quick", ""), ("NEG", "slow", "no"), ("ABS", "quick", ""), ("NEG", "quick", "not asked")],
            "quick 3 of 4 operations in 3 partitions; 1 on slow: no",
        ),
        (
            [("ABS", "quick", "")] * 4 + [("NEG", "slow", reason) for reason in ("one", "two", "one")],
            "quick 4 of 7 operations in 4 partitions; 3 on slow: one (and 1 more reason)",
        ),
        (
            [("ABS", "quick", "")] * 4 + [("NEG", "slow", reason) for reason in ("one", "two", "three")],
            "quick 4 of 7 operations in 4 partitions; 3 on slow: one (and 2 more reasons)",
        ),
    ],
)
def test_one_line_with_the_reasons_of_the_rest(operations: list[tuple[str, str, str]], line: str) -> None:
    assert summary(divided(*operations)) == line


def test_one_line_with_times_and_variant() -> None:
    plan = compile(chain(), REFERENCE.name).plan.with_variant("upside down")
    line = "nnapi-reference 3 of 3 operations in 1 partition; upside down"
    assert summary(plan) == line
    assert summary(plan.with_times(1e-3, 0.9994e-3, ())) == f"{line}; predicted 1.000 ms, measured 999.4 µs"
    compared = (Alternative("everything on slow", math.inf), Alternative("everything on third", 1.0))
    assert summary(plan.with_times(1e-3, 2e-3, compared)) == (
        f"{line}; predicted 1.000 ms, measured 2.000 ms; next: everything on slow: predicted impossible"
    )


def test_the_whole_text() -> None:
    plan = divided(("ABS", "quick", ""), ("RESHAPE", "slow", "no"), threads=2).with_notes(("a note", "another"))
    assert as_text(plan).splitlines() == [
        "quick 1 of 2 operations in 1 partition; 1 on slow: no",
        "",
        "chosen: 1 on quick and 1 on slow (#1): predicted 1.500 ms on 2 threads; predicted to be fastest",
        "  or everything on slow: predicted 3.000 ms, measured 2.500 ms",
        "",
        "steps",
        "  1. quick: 1 operation",
        "  2. slow: 1 operation",
        "",
        "operations",
        "  #0 ABS      → quick (500.0 µs)",
        "                not slow (1.000 ms)",
        "  #1 RESHAPE  → slow (1.000 ms)",
        "                not quick: no",
        "",
        "notes",
        "  a note",
        "  another",
    ]
    assert list_times(plan) == [
        "chosen: 1 on quick and 1 on slow (#1): predicted 1.500 ms on 2 threads; predicted to be fastest",
        "or everything on slow: predicted 3.000 ms, measured 2.500 ms",
    ]


def test_the_whole_data() -> None:
    assert as_data(divided(("ABS", "quick", ""), ("NEG", "slow", "no"))) == {
        "model": "chain",
        "summary": "quick 1 of 2 operations in 1 partition; 1 on slow: no",
        "predicted_seconds": 1.5e-3,
        "measured_seconds": None,
        "threads": None,
        "variant": "",
        "alternatives": [{"description": "everything on slow", "seconds": 3e-3, "measured_seconds": 2.5e-3}],
        "steps": [{"run": "quick", "operations": [0]}, {"run": "slow", "operations": [1]}],
        "operations": [
            {
                "number": 0,
                "operation": "ABS",
                "device": "quick",
                "verdicts": {
                    "quick": {"supported": True, "reason": ""},
                    "slow": {"supported": True, "reason": ""},
                },
                "seconds": {"quick": 5e-4, "slow": 1e-3},
            },
            {
                "number": 1,
                "operation": "NEG",
                "device": "slow",
                "verdicts": {
                    "quick": {"supported": False, "reason": "no"},
                    "slow": {"supported": True, "reason": ""},
                },
                "seconds": {"quick": None, "slow": 1e-3},
            },
        ],
        "notes": [],
    }


def test_the_precision_of_each_device_is_a_note() -> None:
    """Where the model permits less than float32: of a CPU, of another device, of one that chooses."""
    driver = Scripted(as_it_is, "choosing")
    driver.offer_precision = lambda model: Offer(model.precision)  # type: ignore[attr-defined]
    devices = [REFERENCE, limited("fast"), Device(driver)]
    model = chain().with_precision(Precision.FLOAT16)
    plan = compile(model, REFERENCE.name).plan.with_notes(("first",))
    refused = refuse_precision("not here").describe("")
    for refusals, last in (({}, Offer(Precision.FLOAT16).describe("")), ({"choosing": "not here"}, refused)):
        assert add_notes(plan, devices, refusals, "on trial").notes == (
            "first",
            "on trial",
            "nnapi-reference computes float32 in float32: it has no other precision",
            "fast computes float32 in float16 or better, as its driver decides",
            f"choosing {last}",
        )
    whole = compile(chain(), REFERENCE.name).plan
    assert add_notes(whole, devices, {}) is whole
    assert add_notes(whole, devices, {}, "on trial").notes == ("on trial",)


def test_a_substitute_is_a_note() -> None:
    driver = Scripted(as_it_is, "desk")
    driver.substitute = "only pretended"  # type: ignore[attr-defined]
    plan = compile(chain(), REFERENCE.name).plan
    (note,) = add_notes(plan, [REFERENCE, Device(driver)], {}).notes
    assert note == "desk is only pretended"


def test_no_time_of_a_substitute_is_shown() -> None:
    driver = Scripted(as_it_is, "desk")
    driver.substitute, driver.is_by_name = "only pretended", True  # type: ignore[attr-defined]
    driver.is_measured = False  # type: ignore[attr-defined]
    desk = Device(driver)
    plan = compile(chain(), [desk, REFERENCE]).plan
    assert list_times(plan)[0] == "chosen: everything on desk: no time is predicted"
    data = as_data(plan)
    assert data["predicted_seconds"] is None
    assert all(list(each["seconds"]) == [REFERENCE.name] for each in data["operations"])
    assert "→ desk\n" in as_text(plan)
    (other,) = as_data(compile(chain(), [REFERENCE]).plan.with_times(1.0, 1.0, plan.alternatives))["alternatives"]
    assert other["seconds"] > 0
    driver.capabilities = lambda: Capabilities(Performance(9, 9))  # type: ignore[method-assign]
    slow = compile(chain(), [desk, REFERENCE]).plan
    assert list_times(slow)[1:] == ["or everything on desk: no time is predicted"]
    assert as_data(slow)["alternatives"][0]["seconds"] is None


def test_direct_convolutions_are_explained() -> None:
    """Where a device has Winograd variants, but not for a plan with several partitions or dynamic dimensions."""
    driver = Scripted(as_it_is, "filtering")
    driver.predict_savings = lambda model: {}  # type: ignore[attr-defined]
    device = Device(driver)
    static, dynamic = make_convolution((1, 8, 8, 4), 4), make_convolution((1, 0, 8, 4), 4)
    assert add_notes(compile(static, [device]).plan, [device], {}).notes == ()
    assert add_notes(compile(dynamic, REFERENCE.name).plan, [REFERENCE], {}).notes == ()
    (note,) = add_notes(compile(dynamic, [device]).plan, [device], {}).notes
    assert note.startswith("convolutions are direct, without Winograd variants: the model has dynamic dimensions (load")
    plan = divided(("CONV_2D", "quick", ""), ("ABS", "slow", "no"))
    plan.model = static
    quick = Scripted(as_it_is, "quick")
    quick.predict_savings = driver.predict_savings  # type: ignore[attr-defined]
    (note,) = add_notes(plan, [Device(quick)], {}).notes
    assert note.endswith("the plan has several partitions")


def test_direct_8_bit_convolutions_are_explained_where_others_could_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Scripted(as_it_is, "filtering")
    driver.predict_savings = lambda model: {}  # type: ignore[attr-defined]
    model = make_quantized((0, 8, 8, 4), np.ones((4, 3, 3, 4)))
    plan = compile(model, [Device(driver)]).plan
    for is_fast, count in ((True, 0), (False, 1)):
        monkeypatch.setattr("nnapi.runtime.planning.explain.has_byte_products", lambda is_fast=is_fast: is_fast)
        assert len(add_notes(plan, [Device(driver)], {}).notes) == count


def test_the_wait_for_a_plan_is_in_milliseconds() -> None:
    plan = divided(("ABS", "quick", ""), ("NEG", "slow", ""))
    assert describe_wait(plan, 0.25) == "ready after 250.000 ms: until quick and slow were chosen and had prepared it"
    whole = compile(chain(), REFERENCE.name).plan
    assert describe_wait(whole, 0.25) == "ready after 250.000 ms: until nnapi-reference was chosen and had prepared it"


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
    assert "IF #0: positive 1 of 1 operation in 1 partition | negative 1 of 1 operation" in compilation.explain()
    loop = compile(counting(3), [limited("adder", [OperationCode.ADD]), REFERENCE])
    assert "WHILE #0: nnapi-reference 2 of 2 operations in 1 partition | adder 1 of 1" in loop.explain()
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
    assert line == f"chosen: everything on nnapi-reference: predicted 1.000 ms, measured 2.000 ms{said}"
    assert as_data(plan)["threads"] == threads


@pytest.mark.parametrize(
    ("measured", "others", "why"),
    [
        (None, [], ""),
        (None, [Alternative("other", math.inf)], ""),
        (None, [Alternative("other", 2e-3), Alternative("third", 1e-3)], "; predicted to be fastest"),
        (None, [Alternative("other", 0.9e-3)], "; predicted to be nearly as fast, and sooner ready"),
        (2e-3, [Alternative("other", 0.9e-3)], "; no other plan was measured"),
        (2e-3, [Alternative("other", 0.9e-3, 3e-3), Alternative("third", 1.0)], "; measured to be fastest"),
        (2e-3, [Alternative("other", 0.9e-3, 1.99e-3)], "; no other plan is clearly faster"),
    ],
)
def test_the_chosen_plan_is_marked_with_the_reason(measured: float | None, others: list[Alternative], why: str) -> None:
    plan = compile(chain(), REFERENCE.name).plan.on_threads(None)
    plan = plan._change(_predicted=1e-3, measured=measured, _compared=tuple(others))
    times = "predicted 1.000 ms" + (", measured 2.000 ms" if measured else "")
    assert list_times(plan)[0] == f"chosen: everything on nnapi-reference: {times}{why}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1e-3, "1.000 ms"),
        (1e-7, "0.1 µs"),
        (9.9e-8, "99 ns"),
        (1e-9, "1 ns"),
        (9e-10, "under 1 ns"),
        (0.0, "under 1 ns"),
    ],
)
def test_times_are_never_shown_as_zero(seconds: float, text: str) -> None:
    plan = compile(chain(), REFERENCE.name).plan
    compared = (Alternative("other", 0.0, seconds),)
    assert list_times(plan.with_times(1.0, seconds, compared))[1] == f"or other: measured {text}"
    assert summary(plan.with_times(seconds, 1.0, ())).split("; ")[1] == (
        f"predicted {text}, measured 1000.000 ms" if seconds else "measured 1000.000 ms"
    )
