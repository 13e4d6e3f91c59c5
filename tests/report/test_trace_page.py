"""The page of a recording: readable, alive in a browser, and still a trace."""

from pathlib import Path

import pytest

from nnapi.report.trace_page import median_execution, operations, trace_page
from nnapi.trace import Layer, Phase, Span
from nnapi.trace.labels import Label
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import parse
from tests.report.browser import ask


def one(layer: Layer, phase: Phase, name: str, start: int, end: int, depth: int, **args: object) -> Span:
    return Span(Label(layer, phase, name), start * 1000, end * 1000, 1, 7, "Main", args, depth)


def spans() -> list[Span]:
    """A run of three executions of 30, 50 and 90 µs, of two operations each; one more on an engine that tells less."""
    found = [one(Layer.APPLICATION, Phase.OVERALL, "model & <b>co</b>", 0, 400, 0)]
    for begin, length in ((10, 30), (100, 90), (200, 50)):
        found += [
            one(Layer.RUNTIME, Phase.EXECUTION, "compute", begin, begin + length, 1),
            one(Layer.CPU, Phase.COMPUTATION, "ADD", begin + 2, begin + 10, 2, operation=0, outputs=["sum"]),
            one(Layer.CPU, Phase.COMPUTATION, "MUL", begin + 10, begin + length - 2, 2, operation=1, outputs=[None]),
        ]
    held = one(Layer.DRIVER, Phase.COMPUTATION, "LiteRT", 300, 380, 2, holds=[4, 7], kinds=["CONV_2D", "SOFTMAX"])
    return [*found, held]


PAGE = trace_page(spans(), "model & co")


def test_the_median_execution_is_shown_with_all_that_is_in_it() -> None:
    shown = median_execution(spans())
    assert [span.label.name for span in shown] == ["compute", "ADD", "MUL"]
    assert [span.start for span in shown] == [200_000, 202_000, 210_000]
    assert median_execution(spans()[:1]) == []


def test_operations_are_summed() -> None:
    rows = {row["name"]: row for row in operations(spans())}
    assert rows["ADD"]["runs"] == 3
    assert rows["ADD"]["sum"] == pytest.approx(24e-6)
    assert (rows["ADD"]["median"], rows["ADD"]["outputs"]) == (pytest.approx(8e-6), "sum")
    assert rows["LiteRT"]["number"] is None
    assert rows["LiteRT"]["outputs"] == "2 operations: #4 CONV_2D, #7 SOFTMAX"
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)


def test_operators_of_an_engine_are_summed_in_each_of_its_calls() -> None:
    found = []
    for begin, length in ((0, 10), (20, 20), (50, 40)):
        found += [
            one(Layer.DRIVER, Phase.COMPUTATION, "engine", begin, begin + length, 2),
            one(Layer.DRIVER, Phase.COMPUTATION, "ADD", begin, begin + length // 2, 3, operation=0, engine="Convert"),
            one(
                Layer.DRIVER,
                Phase.COMPUTATION,
                "ADD",
                begin + length // 2,
                begin + length,
                3,
                operation=0,
                engine="Add",
            ),
        ]
    (row,) = operations(found)
    assert (row["runs"], row["engine"]) == (3, "Convert + Add")
    assert (row["median"], row["sum"]) == (pytest.approx(20e-6), pytest.approx(70e-6))
    assert "computed as" in trace_page(found, "x")
    assert "computed as" not in PAGE


def test_the_page_is_a_trace() -> None:
    (run,) = parse(from_ftrace(PAGE)).runs
    assert run.statistics.times[Phase.EXECUTION][Layer.RUNTIME] == pytest.approx(0.17)
    assert run.statistics.times[Phase.COMPUTATION][Layer.DRIVER] == pytest.approx(0.08)


def test_names_are_escaped() -> None:
    assert "<b>co</b>" not in PAGE.replace("B|1|[NN_LA_PO]model & <b>co< /b>", "")
    assert "<h1>model &amp; co</h1>" in PAGE


def test_nothing_recorded() -> None:
    assert "0 sections" in trace_page([], "nothing")


def test_the_browser_fetches_nothing_and_shows_the_table(tmp_path: Path) -> None:
    script = """
        const rows = [...document.querySelector("table").tBodies[0].rows].map(row => row.cells[0].textContent);
        const fetched = performance.getEntriesByType("resource").map(entry => entry.name);
        const text = document.body.innerText;
        return {rows, fetched, hidden: !text.includes("tracing_mark_write")};
    """
    found = ask(PAGE, script, tmp_path)
    assert found == {"rows": ["Application", "Runtime", "Driver", "CPU", "Total"], "fetched": [], "hidden": True}


def test_sorting_and_zooming(tmp_path: Path) -> None:
    script = """
        const table = document.querySelector("table.sortable");
        table.tHead.rows[0].cells[4].querySelector("button").click();
        const names = [...table.tBodies[0].rows].map(row => row.cells[1].textContent);
        const range = document.querySelector(".zoom input");
        const timeline = document.querySelector(".timeline");
        const before = timeline.clientWidth;
        range.value = 40; range.dispatchEvent(new Event("input"));
        return {names, times: Math.round(timeline.clientWidth / before)};
    """
    assert ask(PAGE, script, tmp_path) == {"names": ["ADD", "LiteRT", "MUL"], "times": 10}


def test_an_engine_says_what_it_holds(tmp_path: Path) -> None:
    script = """
        const span = document.querySelector(".lane .driver");
        return [span.textContent, span.dataset.tip.split("\\n").at(-1)];
    """
    found = ask(PAGE, script, tmp_path)
    assert found == ["LiteRT (2 operations)", "2 operations: #4 CONV_2D, #7 SOFTMAX"]


def test_a_phone_scrolls_tables_but_not_the_page(tmp_path: Path) -> None:
    script = """document.body.style.width = "390px"; document.body.style.overflow = "visible";
        return document.body.scrollWidth;"""
    assert ask(PAGE, script, tmp_path, "--window-size=500,900") <= 390
