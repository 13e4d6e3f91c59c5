"""Write docs/charts/*.svg: a chart of each table of the documentation that compares the speed of engines.

    python -m tools.charts

A chart is drawn from the table itself, so both have the same numbers: run this program after a benchmark has changed a
table. Colors follow the reader's light or dark scheme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from tools.size import REPOSITORY

FOLDER = REPOSITORY / "docs" / "charts"
WIDTH, MARGIN, VALUE = 460, 14, 44
LINE, STEP, THICK, GAP = 16, 12, 8, 8
"""Heights in pixels: of a row's label, from bar to bar, of a bar, and between rows."""
LETTER = 7.2
"""The estimated width in pixels of a letter."""
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
STYLE = """
  .ground { fill: #ffffff; stroke: #d8dce6; } text { font: 12px system-ui, sans-serif; fill: #1c2230; }
  .title { font-weight: 600; } .dim { fill: #5b6475; } .value { font-size: 10.5px; }
  .base { stroke: #1c2230; stroke-dasharray: 3 2; }
  .a { fill: #d9691a; } .b { fill: #16836b; } .c { fill: #8a3fa0; } .d { fill: #2f6bea; } .e { fill: #1797b8; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #1a1e29; stroke: #353c4c; } text { fill: #e6e9f0; } .dim { fill: #a3acba; }
    .base { stroke: #e6e9f0; }
    .a { fill: #ff9a52; } .b { fill: #46c993; } .c { fill: #d083dd; } .d { fill: #6f9bff; } .e { fill: #4cc6e6; }
  }
"""
COLORS = {"LiteRT": "a", "OpenVINO": "b", "OpenVINO alone": "b", "ONNX Runtime": "c"}
"""Classes of the style for engines, in all charts; other series have OTHERS in turn."""
OTHERS = "de"

Row = Mapping[str, str]
Value = Callable[[Row], float | None]


class Series(NamedTuple):
    """Bars of one color: their name in the legend, and their value in a row of the table; None draws no bar."""

    name: str
    value: Value


class Chart(NamedTuple):
    """The chart of a table: the name of its file, the page, the beginning of the table's first line, the title, the
    columns that label a row, and the bars. Values above ``most`` are cut off. ``base`` names the value 1."""

    name: str
    page: str
    table: str
    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    base: str
    most: float = 4.0


def read(column: str) -> Value:
    """Return a function that reads the first number of a cell."""
    return lambda row: parse(row[column])


def divide(column: str, *by: str) -> Value:
    """Return a function that divides a column by the least of others."""

    def value(row: Row) -> float | None:
        whole, parts = parse(row[column]), [part for name in by if (part := parse(row[name]))]
        return whole / min(parts) if whole and parts else None

    return value


def parse(cell: str) -> float | None:
    found = NUMBER.search(cell)
    return float(found[0].replace(",", "")) if found else None


OURS = ("xnnpack-cpu", "openvino-cpu", ".tflite")
CHARTS = (
    Chart(
        "engines",
        "performance.md",
        "| model | nnapi | device |",
        "Time of a run, relative to nnapi's",
        ["model"],
        [Series("LiteRT", divide("LiteRT", "nnapi")), Series("OpenVINO", divide("OpenVINO", "nnapi"))],
        "nnapi",
    ),
    Chart(
        "processors",
        "performance.md",
        "| processor and models |",
        "Time of other engines, relative to nnapi's",
        ["processor and models"],
        [
            Series("faster of LiteRT and OpenVINO", read("faster of LiteRT and OpenVINO ÷ nnapi")),
            Series("LiteRT", read("LiteRT ÷ nnapi")),
        ],
        "nnapi",
        2.0,
    ),
    Chart(
        "transformers",
        "performance.md",
        "| network | variant | xnnpack-cpu |",
        "Time of a run, relative to nnapi's fastest",
        ["network", "variant"],
        [Series(name, divide(name, *OURS)) for name in ("ONNX Runtime", "OpenVINO", "LiteRT")],
        "nnapi",
    ),
    Chart(
        "transformers-threads",
        "performance.md",
        "| network | variant | one thread |",
        "Time of the fastest other engine, relative to nnapi's",
        ["network", "variant"],
        [Series("one thread", read("one thread")), Series("two threads", read("two threads"))],
        "nnapi",
        2.0,
    ),
    Chart(
        "slower-networks",
        "performance.md",
        "| network | xnnpack-cpu | openvino-cpu | OpenVINO alone |",
        "Time of a run, relative to ONNX Runtime's",
        ["network"],
        [Series(name, read(name)) for name in ("xnnpack-cpu", "openvino-cpu", "OpenVINO alone")],
        "ONNX Runtime",
    ),
    Chart(
        "other-networks",
        "performance.md",
        "| network | openvino-cpu | xnnpack-cpu |",
        "Time of a run, relative to ONNX Runtime's",
        ["network"],
        [Series(name, read(name)) for name in ("openvino-cpu", "xnnpack-cpu")],
        "ONNX Runtime",
        2.0,
    ),
    Chart(
        "two-threads",
        "performance.md",
        "| network | nnapi ÷ ONNX Runtime, two threads |",
        "Time of a run on two threads, relative to ONNX Runtime's",
        ["network"],
        [Series("nnapi", read("nnapi ÷ ONNX Runtime, two threads"))],
        "ONNX Runtime",
        3.0,
    ),
    Chart(
        "reference",
        "performance.md",
        "| model | nnapi-reference, ms |",
        "Time of a run, relative to LiteRT's built-in kernels",
        ["model"],
        [Series("nnapi-reference", read("nnapi-reference ÷ LiteRT"))],
        "LiteRT",
    ),
    Chart(
        "detectors",
        "dropin.md",
        "| model | LiteRT, 1 thread |",
        "Time from a frame to its boxes in LiteRT, relative to nnapi's",
        ["model"],
        [
            Series("1 thread", read("LiteRT ÷ nnapi")),
            Series("2 threads", read("LiteRT ÷ nnapi (2)")),
        ],
        "nnapi",
    ),
)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for chart in CHARTS:
        (FOLDER / f"{chart.name}.svg").write_text(draw(chart), encoding="utf-8")


def draw(chart: Chart) -> str:
    """Return the chart of the table as it is in the page now."""
    rows = [(label(row, chart), [series.value(row) for series in chart.series]) for row in read_table(chart)]
    rows = [(text, values) for text, values in rows if any(values)]
    count, colors = len(chart.series), list_colors(chart)
    top = MARGIN + 2 * LINE + LINE * len(list(place_legend(chart)))
    height = LINE + STEP * count + GAP
    bottom = top + height * len(rows)
    most = min(chart.most, max(max(filter(None, values)) for _, values in rows))
    scale = (WIDTH - 2 * MARGIN - VALUE) / most
    x = MARGIN + scale
    body = [
        f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + LINE + 5}" rx="8"/>',
        _text(MARGIN, MARGIN + 10, chart.title, "title"),
        *_draw_legend(chart),
    ]
    for number, (text, values) in enumerate(rows):
        y = top + height * number
        body.append(_text(MARGIN, y + 11, text))
        for position, value in enumerate(values):
            body += _draw_bar(colors[position], y + LINE + STEP * position, value, most, scale)
        first, last = y + LINE - 1, y + LINE + STEP * count - 2
        body.append(f'<line class="base" x1="{x:.1f}" x2="{x:.1f}" y1="{first}" y2="{last}"/>')
    anchor = "middle" if x > 60 else "start"
    body.append(f'<text class="dim" x="{x:.1f}" y="{bottom + 13}" text-anchor="{anchor}">{escape(chart.base)}</text>')
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + LINE + 6}" width="{WIDTH}" '
        f'height="{bottom + LINE + 6}" role="img">\n<title>{escape(chart.title)}</title>\n<style>{STYLE}</style>\n'
        f"{lines}\n</svg>\n"
    )


def list_colors(chart: Chart) -> list[str]:
    others = iter(OTHERS)
    return [COLORS.get(series.name) or next(others) for series in chart.series]


def label(row: Row, chart: Chart) -> str:
    text = ", ".join(row[name] for name in chart.labels).replace("`", "")
    most = int((WIDTH - 2 * MARGIN) / LETTER)
    return text if len(text) <= most else text[: most - 1] + "…"


def read_table(chart: Chart) -> list[Row]:
    """Return the rows of the table, by the headings of its columns. Rows in bold are summaries."""
    lines = (REPOSITORY / "docs" / chart.page).read_text(encoding="utf-8").splitlines()
    (first,) = (number for number, line in enumerate(lines) if line.startswith(chart.table))
    headings = _number(_split(lines[first]))
    rows: list[Row] = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        if not line.startswith("| **"):
            rows.append(dict(zip(headings, _split(line), strict=True)))
    return rows


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _number(headings: Sequence[str]) -> list[str]:
    """Add the number to the second and further headings of the same text."""
    counts = [headings[: position + 1].count(each) for position, each in enumerate(headings)]
    return [each if count == 1 else f"{each} ({count})" for each, count in zip(headings, counts, strict=True)]


def place_legend(chart: Chart) -> Iterator[list[tuple[float, str, str]]]:
    """Yield the lines of the legend: the position, class and name of each series."""
    line: list[tuple[float, str, str]] = []
    x = float(MARGIN)
    for kind, series in zip(list_colors(chart), chart.series, strict=True):
        width = 30 + LETTER * len(series.name)
        if line and x + width > WIDTH - MARGIN:
            yield line
            line, x = [], MARGIN
        line.append((x, kind, series.name))
        x += width
    yield line


def _draw_legend(chart: Chart) -> Iterator[str]:
    for number, line in enumerate(place_legend(chart)):
        y = MARGIN + LINE + 6 + LINE * number
        for x, kind, name in line:
            yield f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="10" height="10" rx="2"/>'
            yield _text(x + 15, y + 9, name)


def _draw_bar(kind: str, y: int, value: float | None, most: float, scale: float) -> Iterator[str]:
    if value is None:
        yield _text(MARGIN, y + 8, "–", "dim value")
        return
    width = min(value, most) * scale
    yield f'<rect class="{kind}" x="{MARGIN}" y="{y}" width="{width:.1f}" height="{THICK}" rx="1.5"/>'
    text = ("› " if value > most else "") + (f"{value:.2f}" if value < 10 else f"{value:.1f}")
    end, base = width + 5, scale + 4
    yield _text(MARGIN + (base if end < base < end + LETTER * len(text) else end), y + 8, text, "dim value")


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    given = f' class="{kind}"' if kind else ""
    return f'<text{given} x="{x:g}" y="{y:g}">{escape(text)}</text>'


if __name__ == "__main__":
    main()
