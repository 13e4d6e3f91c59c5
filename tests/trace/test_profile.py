"""Engines' calls, divided among their operators when the recording is read."""

import logging

import pytest

from nnapi import trace
from nnapi.trace import Layer, Part, Phase, Section, Span
from nnapi.trace.chrome import to_chrome
from nnapi.trace.profile import LEAST, MOST, Profile, divide_by_costs, measure_typical


def section(name: str, **args: object) -> Section:
    return Section(Layer.DRIVER, Phase.COMPUTATION, name, **args)


def engine() -> Section:
    return section("engine", model="net", holds=[0, 1], kinds=["ADD", "MUL"])


ADD, MUL = section("ADD", operation=0, model="net"), section("MUL", operation=1, model="net")


def recorded(whole: Profile[str] | Section) -> list[Span]:
    """A step of operations 4 and 7 with the engine's call in it."""
    step = Section(Layer.DRIVER, Phase.EXECUTION, "net", model="net", operations=[4, 7])
    with trace.recording() as recorder, step, whole.of("x") if isinstance(whole, Profile) else whole:
        sum(range(10_000))
    return recorder.spans()


def test_parts_fill_their_section() -> None:
    first, second = divide_by_costs([(ADD, 3e-6), (MUL, 1e-6)])
    assert (first.section, first.start, first.end) == (ADD, 0.0, 0.75)
    assert (second.section, second.start, second.end) == (MUL, 0.75, 1.0)


def test_parts_without_costs() -> None:
    assert [(part.start, part.end) for part in divide_by_costs([(ADD, 0.0)])] == [(0.0, 0.0)]
    assert divide_by_costs([]) == []


def test_typical_is_the_mean_of_the_least_half_of_each() -> None:
    runs = iter([[9.0, 1.0], [2.0, 5.0], [4.0, 3.0], *[[100.0, 100.0]] * MOST])
    figures = measure_typical(lambda: next(runs), most=LEAST)
    assert figures == [3.0, 2.0]
    assert measure_typical(lambda: [2.5, 0.5]) == [2.5, 0.5]


def test_a_call_is_divided_and_its_operations_have_the_numbers_of_the_whole() -> None:
    step, call, add, mul = recorded(Profile(engine(), lambda given: [(ADD, 3.0), (MUL, 1.0)]))
    assert [span.label.name for span in (step, call, add, mul)] == ["net", "engine", "ADD", "MUL"]
    assert [span.depth for span in (step, call, add, mul)] == [0, 1, 2, 2]
    assert (add.args["operation"], mul.args["operation"]) == (4, 7)
    assert (add.start, mul.end) == (call.start, call.end)
    assert add.end == mul.start
    assert add.seconds == pytest.approx(0.75 * call.seconds, abs=2e-9)
    assert call.args == {"model": "net"}, "the parts say what it holds"
    assert len(to_chrome([step, call, add, mul])["traceEvents"]) == 5


def test_nothing_is_measured_before_the_recording_is_read_and_then_once() -> None:
    measured: list[str] = []

    def measure(given: str) -> list[tuple[Section, float]]:
        assert not trace.is_enabled()
        measured.append(given)
        return [(ADD, 1.0)]

    profile = Profile(engine(), measure)
    with trace.recording() as recorder:
        for given in ("first", "last"):
            with profile.of(given):
                pass
        assert measured == []
    assert [span.label.name for span in recorder.spans()] == ["engine", "ADD", "engine", "ADD"]
    assert len(recorder.spans()) == 4
    assert measured == ["last"]


def test_an_engine_that_fails_to_tell_is_left_in_one_piece(caplog: pytest.LogCaptureFixture) -> None:
    def measure(given: str) -> list[tuple[Section, float]]:
        raise OSError("no library")

    profile = Profile(engine(), measure)
    with caplog.at_level(logging.WARNING):
        _, call = recorded(profile)
        assert len(recorded(profile)) == 2
    assert call.args == {"model": "net", "holds": [4, 7], "kinds": ["ADD", "MUL"]}
    assert [record.message for record in caplog.records] == [
        "engine cannot be profiled, its operations share one section: no library"
    ]


def test_a_section_that_has_not_ended_is_not_divided() -> None:
    whole = section("whole")
    whole.parts = lambda: [Part(ADD, 0.0, 1.0)]
    with trace.recording() as recorder, whole:
        assert [span.label.name for span in recorder.spans()] == ["whole"]
    assert [span.label.name for span in recorder.spans()] == ["whole", "ADD"]


def test_trial_runs_leave_no_trace() -> None:
    with trace.recording() as recorder, ADD:
        with trace.mute():
            with trace.mute(), MUL:
                pass
            with MUL:
                pass
        with section("after"):
            pass
    assert [(span.label.name, span.is_complete) for span in recorder.spans()] == [("ADD", True), ("after", True)]
