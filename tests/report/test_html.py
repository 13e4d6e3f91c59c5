"""The pages: complete, of one file, and alive in a browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nnapi.printable import printable
from nnapi.report.html import benchmark_page, explain_page, metric, rate, render, seconds, timeline_view
from nnapi.report.result import Benchmark
from nnapi.report.timeline import timeline_data
from tests.report.browser import ask
from tests.report.report_cases import REASON, graph, spans, whole

PAGE = benchmark_page(whole())
EXPLAINED = explain_page(graph())


class Addresses(HTMLParser):
    """Everything a page refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data", "action")]


@pytest.mark.parametrize("page", [PAGE, EXPLAINED], ids=["bench", "explain"])
def test_one_file_is_all(page: str) -> None:
    assert all(address.startswith(("#", "data:")) for address in Addresses(page).found)
    assert "default-src 'none'" in page
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_size() -> None:
    assert len(PAGE) < 250_000


def test_what_is_said_of_a_run() -> None:
    for text in (
        "first.tflite",
        "Abacus",
        "there is no &lt;b&gt;.onnx&lt;/b&gt; file",
        "left out: not installed",
        "75.0 %",
        "≤ 2 steps",
        "4 labeled inputs",
    ):
        assert text in PAGE, text
    assert "<b>.onnx" not in PAGE
    assert "interrupted" not in PAGE
    assert "was interrupted" in benchmark_page(replace(whole(), is_interrupted=True))


def test_nothing_measured() -> None:
    empty = Benchmark("now", {"processor": "Abacus"}, {"requests": 1}, {}, ())
    assert "Abacus" in benchmark_page(empty)


def test_reasons_are_escaped() -> None:
    assert "<b>that</b>" not in EXPLAINED
    assert "&lt;b&gt;that&lt;/b&gt;" in EXPLAINED


@pytest.mark.parametrize("page", [PAGE, EXPLAINED], ids=["bench", "explain"])
def test_the_browser_fetches_nothing_and_complains_of_nothing(page: str, tmp_path: Path) -> None:
    script = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert ask(page, script, tmp_path) == []


def test_sorting(tmp_path: Path) -> None:
    script = """
        const table = document.querySelector(".figures");
        const names = () => [...table.tBodies[0].rows].map(row => row.querySelector("b").textContent);
        const head = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith("median"));
        const press = column => table.tHead.rows[0].cells[column].querySelector("button").click();
        press(head); const up = names(); press(head); const down = names();
        const sorted = table.tHead.rows[0].cells[head].getAttribute("aria-sort");
        press(0); return {up, down, sorted, words: names()};
    """
    found = ask(PAGE, script, tmp_path)
    assert found["up"] == ["nnapi", "slow", "litert"]
    assert found["down"] == ["litert", "slow", "nnapi"]
    assert found["sorted"] == "descending"
    assert found["words"] == ["litert", "nnapi", "slow"]


def test_empty_cells_are_sorted_last(tmp_path: Path) -> None:
    script = """
        const table = document.querySelector(".figures");
        const column = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith("top-1"));
        const button = table.tHead.rows[0].cells[column].querySelector("button");
        const last = () => table.tBodies[0].rows[2].querySelector("b").textContent;
        button.click(); const up = last(); button.click(); return [up, last()];
    """
    assert ask(PAGE, script, tmp_path) == ["slow", "slow"]


HOVER = """
    const over = element => {
        element.scrollIntoView({block: "center", behavior: "instant"});
        const box = element.getBoundingClientRect();
        const at = {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true};
        document.elementFromPoint(at.clientX, at.clientY).dispatchEvent(new PointerEvent("pointermove", at));
        const tip = document.getElementById("tip");
        const where = tip.getBoundingClientRect();
        const inside = where.left >= 0 && where.right <= innerWidth && where.top >= 0 && where.bottom <= innerHeight;
        return tip.hidden ? null : {text: tip.textContent, inside};
    };
"""


@pytest.mark.parametrize("page", [PAGE, EXPLAINED], ids=["bench", "explain"])
def test_pointing_at_a_node_tells_the_reason(page: str, tmp_path: Path) -> None:
    script = f"""{HOVER}
        const node = over(document.querySelector('.node[data-operation="2"]'));
        document.dispatchEvent(new PointerEvent("pointermove", {{bubbles: true}}));
        return [node, document.getElementById("tip").hidden];
    """
    (node, hidden) = ask(page, script, tmp_path)
    assert node["text"].startswith("#2 ADD\non nnapi-reference, predicted ")
    assert f"not fast: ADD (#2): {REASON}" in node["text"]
    assert node["inside"]
    assert hidden


def test_the_timeline_tells_too(tmp_path: Path) -> None:
    found = ask(PAGE, f"{HOVER} return over(document.querySelector('.lane .cpu'))", tmp_path)
    assert found["text"] == "ADD\nCPU, computation, Main\n8 µs from 1 µs on\noperation #0"


GROUND = "getComputedStyle(document.body).backgroundColor"


def test_dark_and_light(tmp_path: Path) -> None:
    script = f"""const colors = [{GROUND}]; const button = document.getElementById("theme");
        button.click(); colors.push({GROUND}); button.click(); colors.push({GROUND}); return colors;"""
    light, dark, again = ask(PAGE, script, tmp_path)
    assert light == again == "rgb(244, 245, 248)"
    assert dark == "rgb(15, 18, 24)"


def test_the_system_s_dark_mode_is_followed(tmp_path: Path) -> None:
    assert ask(PAGE, f"return {GROUND}", tmp_path, "--blink-settings=preferredColorScheme=0") == "rgb(15, 18, 24)"


def test_a_phone_scrolls_tables_and_graphs_but_not_the_page(tmp_path: Path) -> None:
    script = """document.body.style.width = "390px"; document.body.style.overflow = "visible";
        return document.body.scrollWidth;"""
    assert ask(PAGE, script, tmp_path, "--window-size=500,900") <= 390


def test_numbers_for_people() -> None:
    assert [seconds(s) for s in (2.5, 0.9999, 0.01234, 0.99954e-3, 3.21e-7)] == [
        "2.5 s",
        "1 s",
        "12.3 ms",
        "1 ms",
        "0.321 µs",
    ]
    assert [rate(r) for r in (12_345.6, 8.333)] == ["12,346 /s", "8.33 /s"]
    assert [metric("top-1", 0.7134), metric("mean squared error", 0.00123)] == ["71.3 %", "0.00123"]


def test_control_characters_in_names_are_shown() -> None:
    page = render("trace.html.jinja", **{**EMPTY_TRACE, "title": "x\x1b[31m\u202e<!-- <script>"})
    assert "x\\x1b[31m\\u202e&lt;!-- &lt;script&gt;" in page
    assert [c for c in set(page) if c != "\n" and printable(c) != c] == []


EMPTY_TRACE = {
    "count": 0,
    "columns": [],
    "runs": [],
    "execution": None,
    "whole": {"whole": 0.0, "lanes": [], "layers": [], "left_out": 0},
    "operations": [],
    "data": "",
}


def test_threads_are_named_where_there_are_several() -> None:
    """Each on its outermost lane; one that is alone needs no name."""
    main = [span._replace(thread=1, thread_name="main") for span in spans()]
    other = [span._replace(thread=2, thread_name="worker") for span in spans()]
    alone, both = timeline_view(timeline_data(main)), timeline_view(timeline_data([*main, *other]))
    assert [lane["thread"] for lane in alone["lanes"]] == [""] * len(alone["lanes"])
    assert len(alone["lanes"]) > 1
    assert [lane["thread"] for lane in both["lanes"]] == [
        *("main", *[""] * (len(alone["lanes"]) - 1)),
        *("worker", *[""] * (len(alone["lanes"]) - 1)),
    ]
