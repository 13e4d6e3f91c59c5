"""Spans as lanes."""

import pytest

from nnapi.report import timeline
from nnapi.report.timeline import timeline_data
from tests.report.report_cases import spans


def test_times_begin_at_zero() -> None:
    found = timeline_data(spans())
    assert found["microseconds"] == 50
    first, second = found["spans"][:2]
    assert (first["name"], first["layer"], first["start"], first["duration"]) == ("compute", "runtime", 0, 50)
    assert (second["operation"], second["depth"], second["start"], second["duration"]) == (0, 1, 1, 8)


def test_threads_are_numbered() -> None:
    both = [*spans(), *(span._replace(thread=99) for span in spans())]
    assert {span["thread"] for span in timeline_data(both)["spans"]} == {0, 1}


def test_the_shortest_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST", 2)
    found = timeline_data(spans())
    assert [span["name"] for span in found["spans"]] == ["compute", "ADD"]
    assert found["left_out"] == 4


def test_no_spans() -> None:
    assert timeline_data([]) == {"microseconds": 0, "left_out": 0, "spans": []}
