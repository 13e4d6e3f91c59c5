"""Charts of the documentation's tables."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tools import charts, pages
from tools.charts import CHARTS, Chart, Series, divide, draw, parse, read, read_table
from tools.size import REPOSITORY


@pytest.mark.parametrize("chart", CHARTS, ids=[chart.name for chart in CHARTS])
def test_a_chart_shows_the_numbers_of_its_table(chart: Chart) -> None:
    """If this fails: python -m tools.charts."""
    file = charts.FOLDER / f"{chart.name}.svg"
    assert file.read_text() == draw(chart)
    before, _, _ = (REPOSITORY / "docs" / chart.page).read_text().partition(f"\n{chart.table}")
    assert re.search(rf"!\[[^]]+\]\(charts/{chart.name}\.svg\)\n$", before)
    root = ElementTree.fromstring(file.read_text())
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    first = next(iter(chart.series))
    value = next(number for row in read_table(chart) if (number := first.value(row)))
    assert any(text and text.endswith((f"{value:.2f}", f"{value:.1f}")) for text in texts)


def test_all_charts_are_used_and_generated() -> None:
    assert {path.stem for path in charts.FOLDER.iterdir()} == {chart.name for chart in CHARTS}
    assert any(page.command == "-m tools.charts" for page in pages.PAGES)
    used = re.findall(r"charts/([\w-]+)\.svg", (REPOSITORY / "README.md").read_text())
    assert used == ["engines"]


def test_cells() -> None:
    assert [parse(cell) for cell in ("1,090", "0.98, 1.01", "1.62×", "–", "1.85 (slow at X)", "")] == [
        1090,
        0.98,
        1.62,
        None,
        1.85,
        None,
    ]
    row = {"a": "6", "b": "–", "c": "3", "d": "4", "e": "–"}
    assert divide("a", "b", "c", "d")(row) == 2
    assert divide("a", "b")(row) is divide("e", "c")(row) is None
    assert read("d")(row) == 4


def test_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars are in proportion; the longest are cut off; a missing value is a dash; a bar has its engine's color."""
    rows = [{"model": "small & fast", "LiteRT": "1", "x": "0.5"}, {"model": "m" * 99, "LiteRT": "9", "x": "–"}]
    monkeypatch.setattr(charts, "read_table", lambda chart: rows)
    series = [Series("x", read("x")), Series("LiteRT", read("LiteRT"))]
    root = ElementTree.fromstring(draw(Chart("n", "p", "t", "title", ["model"], series, "base", 2.0)))
    bars = [(each.get("class"), float(each.get("width"))) for each in root.iter() if each.get("height") == "8"]
    unit = bars[1][1]
    assert bars == [("d", pytest.approx(unit / 2, abs=0.1)), ("a", unit), ("a", pytest.approx(2 * unit, abs=0.1))]
    texts = [each.text for each in root.iter() if each.tag.endswith("text")]
    assert {"small & fast", "0.50", "1.00", "–", "› 9.00", "base"} <= set(texts)
    (long,) = (text for text in texts if text.startswith("mm"))
    assert long.endswith("…")
    line = next(each for each in root.iter() if each.tag.endswith("line"))
    assert float(line.get("x1")) == pytest.approx(charts.MARGIN + unit, abs=0.1)


def test_the_scheme_of_the_reader() -> None:
    assert "@media (prefers-color-scheme: dark)" in (charts.FOLDER / "engines.svg").read_text()


def test_headings_of_the_same_text_are_numbered() -> None:
    (chart,) = (chart for chart in CHARTS if chart.name == "detectors")
    assert {"LiteRT ÷ nnapi", "LiteRT ÷ nnapi (2)"} <= set(read_table(chart)[0])
