"""Charts of a benchmark as SVG, drawn by pygal.

pygal is the lightest library that is maintained and draws all that is needed: a wheel of 130 KB that writes plain SVG,
20 KB a chart, where the JavaScript of others makes every page megabytes larger. Colours are CSS variables of the page,
so that one drawing serves light and dark.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from nnapi.report.result import Measurement, ModelResult

WIDTH = 480
ROW = 30
COLOURS = 8
"""Colours of series that the page defines, ``--c0`` to ``--c7``."""
SPARE = ("var(--c0)", "var(--c1)")
"""For charts with more series than engines: pygal would compute others, which it cannot from variables."""
TICKS = (1, 2, 5)
CURVE_POINTS = 160

Colours = Mapping[str, int]
"""From an engine's name to the number of its colour."""


def colours(names: Sequence[str]) -> Colours:
    """A colour for each name, the same on the whole page."""
    return {name: number % COLOURS for number, name in enumerate(dict.fromkeys(names))}


def latencies(model: ModelResult, colour: Colours) -> str:
    """How the runs of each engine are spread over time: a curve each, on a logarithmic axis of milliseconds."""
    shown = [m for m in model.measurements if m.latency]
    if not shown:
        return ""
    logs = {m.engine: np.log10(1e3 * np.array(m.samples)) for m in shown}
    low = min(float(np.percentile(values, 0.5)) for values in logs.values())
    high = max(float(np.percentile(values, 99)) for values in logs.values())
    margin = max(0.02, 0.06 * (high - low))
    chart = _chart("XY", shown, colour, height=210, fill=True, show_dots=False, stroke_style={"width": 1.5})
    chart.xrange = (low - margin, high + margin)
    chart.x_labels = [{"label": f"{tick:g}", "value": math.log10(tick)} for tick in ticks(low - margin, high + margin)]
    chart.x_title = "milliseconds"
    chart.show_y_labels = chart.show_y_guides = False
    chart.show_legend = False
    for m in shown:
        chart.add(m.engine, density(logs[m.engine], low - margin, high + margin))
    return _svg(chart)


def density(values: Any, low: float, high: float) -> list[tuple[float, float]]:
    """A smooth curve over where the values lie, its highest point at 1, from ``low`` to ``high``."""
    spread = float(min(values.std(), (np.percentile(values, 75) - np.percentile(values, 25)) / 1.34 or np.inf))
    width = max(0.9 * spread * values.size**-0.2, (high - low) / 120)
    places = np.linspace(low, high, CURVE_POINTS)
    heights = np.exp(-0.5 * ((places[:, None] - values[None, :]) / width) ** 2).sum(1)
    return [(float(x), float(y)) for x, y in zip(places, heights / heights.max(), strict=True)]


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between powers of ten ``low`` and ``high``: 1, 2 and 5 of each, or finer where those are few."""
    decades = range(math.floor(low) - 1, math.ceil(high) + 1)
    found: list[float] = []
    for steps in ((1,), TICKS, (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), [1 + k / 20 for k in range(180)]):
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [tick for tick in found if low <= math.log10(tick) <= high]
        if len(found) >= 3:
            break
    return found[:: -(-len(found) // 9)]


def bars(
    measurements: Sequence[Measurement],
    colour: Colours,
    value: Callable[[Measurement], float | None],
    label: Callable[[float], str],
) -> str:
    """A horizontal bar for each engine that has the value; empty where none has."""
    shown = [m for m in reversed(measurements) if value(m) is not None]  # pygal begins at the bottom
    if not shown:
        return ""
    chart = _chart(
        "HorizontalBar", shown, colour, height=ROW * len(shown) + 16, print_values=True, print_values_position="top"
    )
    chart.show_legend = chart.show_x_labels = False
    chart.formatter = lambda number: label(number)
    chart.x_labels = [m.engine for m in shown]
    chart.range = (0, 1.22 * max(value(m) or 0.0 for m in shown))
    chart.add("", [{"value": value(m), "color": f"var(--c{colour[m.engine]})"} for m in shown])
    return _svg(chart)


def stages(measurements: Sequence[Measurement], colour: Colours, label: Callable[[float], str]) -> str:
    """Loading and compiling as one bar of two parts for each engine, by median."""
    shown = [m for m in reversed(measurements) if m.load]
    if not shown:
        return ""
    chart = _chart("HorizontalStackedBar", shown, colour, height=ROW * len(shown) + 44, print_values=False)
    chart.show_x_labels = False
    chart.legend_at_bottom, chart.legend_at_bottom_columns = True, 2
    chart.formatter = lambda number: label(number)
    chart.x_labels = [m.engine for m in shown]
    chart.add("load", [float(np.median(m.load)) for m in shown])
    chart.add("compile", [float(np.median(m.compile)) for m in shown])
    return _svg(chart, {0: "--stage-load", 1: "--stage-compile"})


def overview(models: Sequence[ModelResult]) -> str:
    """How many times as fast the best of ours is as the best of the others, a bar for each model."""
    pairs = [(model, model.best(ours=True), model.best(ours=False)) for model in models]
    ratios = [
        (model.name, theirs.median / ours.median)
        for model, ours, theirs in reversed(pairs)
        if ours and theirs and ours.median and theirs.median
    ]
    if not ratios:
        return ""
    chart = _chart("HorizontalBar", (), {}, height=ROW * len(ratios) + 16, print_values=True)
    chart.show_legend = chart.show_x_labels = False
    chart.print_values_position = "top"
    chart.formatter = lambda number: f"{number:.2f}×"
    chart.x_labels = [name for name, _ in ratios]
    chart.range = (0, 1.15 * max(ratio for _, ratio in ratios))
    chart.add("", [{"value": r, "color": "var(--good)" if r >= 1 else "var(--bad)"} for _, r in ratios])
    return _svg(chart)


@cache
def _pygal() -> Any:
    """The library, without the hook for its map plug-ins that it hangs into every import of the process.

    The hook is of a kind that Python warns of at each import, and no map is drawn here.
    """
    import pygal
    import pygal.style

    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]
    return pygal


def _chart(kind: str, shown: Sequence[Measurement], colour: Colours, **options: Any) -> Any:
    pygal = _pygal()
    style = pygal.style.Style(
        background="transparent",
        plot_background="transparent",
        foreground="var(--ink)",
        foreground_strong="var(--ink)",
        foreground_subtle="var(--line)",
        guide_stroke_color="var(--line)",
        major_guide_stroke_color="var(--line)",
        guide_stroke_dasharray="0",
        major_guide_stroke_dasharray="0",
        font_family="inherit",
        value_font_family="inherit",
        label_font_size=12,
        major_label_font_size=12,
        value_font_size=12,
        legend_font_size=13,
        title_font_size=12,
        opacity=".3" if kind == "XY" else ".85",
        opacity_hover=".6" if kind == "XY" else "1",
        stroke_opacity="1",
        transition="0s",
        colors=(*(f"var(--c{colour[m.engine]})" for m in shown), *SPARE),
        value_colors=("var(--ink)",) * (len(shown) + len(SPARE)),
    )
    common = {"margin": 4, "spacing": 8, "rounded_bars": 3, "legend_box_size": 10, "truncate_legend": -1}
    return getattr(pygal, kind)(
        style=style, width=WIDTH, js=[], disable_xml_declaration=True, truncate_label=-1, **common | options
    )


def _svg(chart: Any, series: Mapping[int, str] | None = None) -> str:
    """The drawing, without what pygal adds for scripts and for files of their own."""
    text: str = chart.render(is_unicode=True)
    text = re.sub(r"<!--.*?-->|<script.*?</script>|<title>Pygal</title>", "", text, flags=re.DOTALL)
    for number, variable in (series or {}).items():
        text = re.sub(
            rf"(\.color-{number}[^{{]*\{{stroke:)[^;]+;fill:[^}}]+\}}",
            rf"\1var({variable});fill:var({variable})}}",
            text,
        )
    return text
