"""Traces of an engine's calls: one section for all operations, divided when it is read."""

from typing import Any

import pytest

from nnapi import Builder, tensor
from nnapi.contract.profiling import LACKING, LEAST, correct_seconds, operation_section, profile_engine
from tests.runtime.device_cases import build_reversed

PAIR = tensor("float32", (2,))


def model() -> Any:
    b = Builder()
    x = b.input(PAIR)
    b.output(b.relu(b.tanh(x)))
    return b.finish()


def test_a_call_holds_all_operations_of_the_model_in_proportion_to_what_they_take() -> None:
    subject, calls = model(), []

    def measure(engine: Any) -> Any:
        calls.append(engine)
        return [
            (operation_section(subject, number, f"kernel {number}"), seconds) for number, seconds in ((0, 3), (1, 1))
        ]

    section = profile_engine(subject, "Engine", measure).of("the engine")
    assert (section.label.name, calls) == ("Engine", [])
    first, second = section.parts()
    assert (first.start, first.end, second.start, second.end) == (0, 0.75, 0.75, 1)
    assert [part.section.label.name for part in (first, second)] == ["TANH", "RELU"]
    assert calls == ["the engine"]


@pytest.mark.parametrize(("told", "meant"), [(3e-6, 3e-6 + LACKING), (0.0, LEAST)])
def test_seconds_cut_down_to_microseconds(told: Any, meant: Any) -> None:
    assert correct_seconds(told) == meant


def test_sections_name_operations_by_number() -> None:
    """Not by position: operations are in run order."""
    found = [operation_section(build_reversed(), number) for number in (0, 1)]
    assert [section.label.name for section in found] == ["NEG", "ABS"]
