"""Output in notebooks: complete, self-contained, in the notebook's colors, and loaded only when shown."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import trace
from nnapi.report import notebook
from nnapi.trace.chrome import to_json
from nnapi.trace.parse import parse_file
from tests.report.report_cases import REASON, chain, fast, whole

X = np.zeros((1, 40, 40, 8), np.float32)


class Reader(HTMLParser):
    """The tags that are open at the end, those that were seen, and the words between them."""

    EMPTY = ("rect", "path", "circle", "i", "br")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.addresses: list[str | None] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(shown: object) -> Reader:
    """Return what Jupyter would show, after checks that hold for all output."""
    html = shown._repr_html_()  # type: ignore[attr-defined]
    reader = Reader(html)
    assert reader.open == []
    assert reader.seen.isdisjoint({"script", "link", "iframe", "img"})
    assert reader.addresses == []
    assert not re.search(r"url\(|@import|https?:", html)
    style = html.partition("<style>")[2].partition("</style>")[0]
    rules = re.findall(r"(?:^|\})\s*([^{}]+)\{", style)
    assert rules
    assert all(one.strip().startswith(".nnapi") for rule in rules for one in rule.split(","))
    return reader


@pytest.fixture(scope="module")
def compilation() -> nnapi.Compilation:
    return nnapi.compile(chain(5), [fast(), nnapi.device("nnapi-reference")])


def test_a_plan_is_colored_by_device(compilation: nnapi.Compilation) -> None:
    text = " ".join(read(compilation.plan).words)
    assert "fast" in text
    assert REASON in text
    html = compilation.plan._repr_html_()
    assert html.count("--color:var(--d0)") == 4
    assert html.count("--color:var(--d1)") == 1
    assert html.count('class="edge crosses"') == 2


def test_a_compilation_shows_its_plan(compilation: nnapi.Compilation) -> None:
    assert compilation._repr_html_() == compilation.plan._repr_html_()


def test_a_model_shows_its_graph_and_ends() -> None:
    text = " ".join(read(chain(5)).words)
    assert "5 operations" in text
    assert "1 × 40 × 40 × 8" in text
    assert "feature level 1" in text
    assert "t5: TENSOR_FLOAT32" in text


def test_what_is_unfinished_is_printed() -> None:
    assert nnapi.Model("begun")._repr_html_() is None
    assert nnapi.Compilation(chain(1))._repr_html_() is None


def test_names_are_escaped() -> None:
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", (2,)), name="<evil>")
    b.output(b.add(x, x))
    model = b.finish()
    model.name = "<evil>&"
    for shown in (model, nnapi.compile(model, "nnapi-reference")):
        assert "evil" not in read(shown).seen
        assert "<evil>" in " ".join(read(shown).words)


def test_too_large_a_graph_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "MOST_OPERATIONS", 2)
    model = chain(3, (2,))
    for shown in (model, nnapi.compile(model, "nnapi-reference")):
        assert "svg" not in read(shown).seen
        assert "too many to draw" in " ".join(read(shown).words)


def test_a_trace_shows_its_table_and_an_execution(compilation: nnapi.Compilation, tmp_path: Path) -> None:
    with trace.recording() as recorder:
        compilation.run(X)
    text = " ".join(read(recorder).words)
    assert "Ex. total" in text
    assert "One execution" in text
    assert "ADD" in text
    file = tmp_path / "trace.json"
    file.write_text(to_json(recorder.spans()))
    assert "Ex. total" in " ".join(read(parse_file(file)).words)


def test_a_trace_of_nothing() -> None:
    with trace.recording() as recorder:
        pass
    assert "0 sections" in " ".join(read(recorder).words)


def test_a_result_shows_its_outputs(compilation: nnapi.Compilation) -> None:
    result = compilation.start(X + 1)
    result.wait()
    text = " ".join(read(result).words)
    assert "t5" in text
    assert "32" in text


def test_a_benchmark_shows_its_table() -> None:
    text = " ".join(read(whole()).words)
    assert "first.tflite" in text
    assert "there is no <b>.onnx</b> file" in text
    assert "interrupted" not in text
    assert "interrupted" in " ".join(read(replace(whole(), is_interrupted=True)).words)


def test_nothing_is_loaded_before_it_is_shown() -> None:
    program = "import sys, nnapi; nnapi.compile; print('jinja2' in sys.modules, 'nnapi.report' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
