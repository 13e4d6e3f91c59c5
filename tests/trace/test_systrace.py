"""Writing Android's systrace, and reading it back."""

import re
from collections import defaultdict
from collections.abc import Callable

import pytest

from nnapi.trace.labels import Label, Layer, Phase
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import parse
from nnapi.trace.recorder import Span
from nnapi.trace.spans import recording, section
from nnapi.trace.systrace import to_ftrace, trace_data
from tests.trace.span_cases import recorded


def spans_of(text: str) -> list[tuple[int, float, float, str]]:
    """(thread, begin, end, mark) of the sections in a trace, for each thread in the order of beginning."""
    stacks: defaultdict[int, list[int]] = defaultdict(list)
    found = []  # type: ignore[var-annotated]
    for mark in from_ftrace(text).marks:
        if mark.is_begin:
            stacks[mark.thread].append(len(found))
            found.append((mark.thread, mark.seconds, mark.seconds, mark.name))
        else:
            place = stacks[mark.thread].pop()
            thread, begin, _, name = found[place]
            found[place] = thread, begin, mark.seconds, name
    assert not any(stacks.values())
    return sorted(found, key=lambda one: one[0])


@pytest.mark.parametrize("write", [to_ftrace, trace_data])
def test_durations_come_back(write: Callable[[list[Span]], str]) -> None:
    spans = recorded()
    found = spans_of(write(spans))
    expected = sorted((one for one in spans if one.cookie is None), key=lambda one: one.thread)
    assert len(found) == len(expected)
    for (thread, begin, end, name), one in zip(found, expected, strict=True):
        assert thread == one.thread
        assert begin == pytest.approx(one.start / 1e9, abs=10e-6)
        assert end - begin == pytest.approx(one.seconds, abs=10e-6)
        assert name.startswith(str(one.label)) or "script" in name


def test_statistics_agree_with_the_spans() -> None:
    spans = recorded()
    found = parse(from_ftrace(trace_data(spans)))
    assert [run.mark.rpartition("]")[2] for run in found.runs] == ["run 0", "run 1"]
    for run in found.runs:
        assert run.is_complete
        assert run.notes == ()
    for layer, phase in ((Layer.APPLICATION, Phase.EXECUTION), (Layer.CPU, Phase.COMPUTATION)):
        ours = sum(
            one.seconds for one in spans if (one.label.layer, one.label.phase) == (layer, phase) and one.cookie is None
        )
        theirs = sum(run.statistics.times[phase][layer] for run in found.runs)
        assert theirs == pytest.approx(ours * 1000, abs=0.02)


def test_lines() -> None:
    one = Span(Label(Layer.CPU, Phase.COMPUTATION, "ADD"), 1_234_567_890, 2_000_000_999, 7, 8, "main", {"operation": 3})
    lines = to_ftrace([one]).splitlines()[-2:]
    assert lines == [
        "                main-8 (    7) [000] .... 1.234567: tracing_mark_write: B|7|[NN_LC_PCO]ADD #3",
        "                main-8 (    7) [000] .... 2.000000: tracing_mark_write: E|7",
    ]


def test_asynchronous_sections() -> None:
    text = to_ftrace(recorded())
    assert len(re.findall(r": S\|\d+\|\[NN_LR_PE\]flight\|[01]\n", text)) == 2
    assert len(re.findall(r": F\|\d+\|\[NN_LR_PE\]flight\|[01]\n", text)) == 2


def test_sections_that_outlast_the_one_around_them_are_cut_off() -> None:
    label = Label(Layer.APPLICATION, Phase.EXECUTION, "x")
    spans = [Span(label, 0, 10_000, 1, 1, "main"), Span(label, 5_000, 20_000, 1, 1, "main", depth=1)]
    assert [(begin, end) for _, begin, end, _ in spans_of(to_ftrace(spans))] == [
        (0.0, pytest.approx(1e-5)),
        (pytest.approx(5e-6), pytest.approx(1e-5)),
    ]


def test_the_element_of_a_page_survives_any_name() -> None:
    element = trace_data(recorded())
    assert element.count("</") == 1
    assert "<!--" not in element.partition("<script")[2].partition("</script>")[0]
    assert element.index("BEGIN TRACE") < element.index("tracing_mark_write") < element.index("</script>")


def test_layers_are_named_as_they_are_and_not_guessed() -> None:
    with recording() as recorder, section("[NN_LA_PO]x"), section("[NN_LA_PE]run"), section("[NN_LD_PE]device"):
        pass
    for text in (to_ftrace(recorder.spans()), trace_data(recorder.spans())):
        (run,) = parse(from_ftrace(text)).runs
        assert run.statistics.times[Phase.EXECUTION][Layer.DRIVER] >= 0
        assert not run.statistics.has_cpu
