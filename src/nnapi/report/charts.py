"""Charts of a benchmark, laid out in pixels; ``charts.svg.jinja`` draws them in the page's colors."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from nnapi.report.result import Measurement, ModelResult

WIDTH = 480
ROW = 30
LEGEND = 26
LETTER = 6.7
"""The estimated width in pixels of a letter of 12 px; only browsers know it exactly."""
VALUE = 84
"""The width in pixels of the text after a bar."""
PLOT = 170
"""The height in pixels of the latency curves above their axis."""
COLORS = 8
"""Colors of series that the page defines, ``--c0`` to ``--c7``."""
CURVE_POINTS = 160

Colors = Mapping[str, int]
"""The index of each engine's color, by name."""


class Part(NamedTuple):
    x: float
    width: float
    color: str
    tip: str


class Bar(NamedTuple):
    """A row: its name, its segments from left to right, its right end, and the text after it."""

    name: str
    y: int
    parts: Sequence[Part]
    end: float
    text: str


@dataclass(frozen=True)
class Bars:
    """Horizontal bars; the legend names the colors of their segments."""

    bars: Sequence[Bar]
    left: float
    legend: Mapping[str, str]
    width: int = WIDTH
    thickness: int = ROW - 10

    @property
    def letters(self) -> int:
        """Return the number of letters that a name may have before its bar."""
        return round((self.left - 8) / LETTER)

    @property
    def height(self) -> int:
        return ROW * len(self.bars) + (LEGEND if self.legend else 0)


class Curve(NamedTuple):
    name: str
    color: str
    points: str


@dataclass(frozen=True)
class Curves:
    """Curves over a logarithmic axis; a tick has a position and a label."""

    curves: Sequence[Curve]
    ticks: Sequence[tuple[float, str]]
    width: int = WIDTH
    base: int = PLOT


def colors(names: Sequence[str], count: int = COLORS) -> Colors:
    """Return one of ``count`` color indices for each name, the same on the whole page."""
    return {name: number % count for number, name in enumerate(dict.fromkeys(names))}


def latencies(model: ModelResult, color: Colors) -> Curves | None:
    """Return the distribution of each engine's runs, on a logarithmic axis of milliseconds."""
    shown = [m for m in model.measurements if m.latency]
    if not shown:
        return None
    logs = {m.engine: np.log10(1e3 * np.array(m.samples)) for m in shown}
    low = min(float(np.percentile(values, 0.5)) for values in logs.values())
    high = max(float(np.percentile(values, 99)) for values in logs.values())
    margin = max(0.02, 0.06 * (high - low))
    low, high = low - margin, high + margin

    def position(x: float) -> float:
        return WIDTH * (x - low) / (high - low)

    curves = []
    for m in shown:
        points = [(low, 0.0), *density(logs[m.engine], low, high), (high, 0.0)]  # a filled curve closes on the axis
        line = " ".join(f"{position(x):.1f},{PLOT - (PLOT - 4) * y:.1f}" for x, y in points)
        curves.append(Curve(m.engine, f"var(--c{color[m.engine]})", line))
    return Curves(curves, [(position(math.log10(tick)), f"{tick:g}") for tick in ticks(low, high)])


def density(values: Any, low: float, high: float) -> list[tuple[float, float]]:
    """Return the smoothed density of the values from ``low`` to ``high``, scaled to a maximum of 1."""
    quartiles = np.percentile(values, [25, 75])
    deviation = float(min(values.std(), np.diff(quartiles)[0] / 1.34 or np.inf))
    width = max(0.9 * deviation * values.size**-0.2, (high - low) / 120)
    positions = np.linspace(low, high, CURVE_POINTS)
    heights = np.exp(-0.5 * ((positions[:, None] - values[None, :]) / width) ** 2).sum(1)
    return [(float(x), float(y)) for x, y in zip(positions, heights / heights.max(), strict=True)]


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers between the powers of ten ``low`` and ``high``: 1, 2 and 5 times each power, or finer."""
    decades, found = range(math.floor(low) - 1, math.ceil(high) + 1), list[float]()
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), [1 + k / 20 for k in range(180)]):
        found = [step * 10.0**decade for decade in decades for step in steps]
        found = [tick for tick in found if low <= math.log10(tick) <= high]
        if len(found) >= 3:
            break
    return found[:: -(-len(found) // 9)]


def bars(
    measurements: Sequence[Measurement],
    color: Colors,
    value: Callable[[Measurement], float | None],
    label: Callable[[float], str],
) -> Bars | None:
    """Return a bar for each engine whose ``value`` is not None."""
    values = [(m.engine, value(m)) for m in measurements]
    rows = [(name, [("", v, f"var(--c{color[name]})")]) for name, v in values if v is not None]
    return _lay_out(rows, label)


def stages(measurements: Sequence[Measurement], label: Callable[[float], str]) -> Bars | None:
    """Return one bar per engine of two segments, the median times of loading and compiling."""
    legend = {"load": "var(--stage-load)", "compile": "var(--stage-compile)"}
    rows = [
        (m.engine, [(name, float(np.median(getattr(m, name))), shade) for name, shade in legend.items()])
        for m in measurements
        if m.load
    ]
    return _lay_out(rows, label, legend)


def overview(models: Sequence[ModelResult]) -> Bars | None:
    """Return one bar per model: the speed of the best nnapi row relative to the best other engine."""
    pairs = [(model.name, model.best(ours=True), model.best(ours=False)) for model in models]
    ratios = [(name, a.median / b.median) for name, b, a in pairs if a and b and a.median and b.median]
    rows = [(name, [("", ratio, "var(--good)" if ratio >= 1 else "var(--bad)")]) for name, ratio in ratios]
    return _lay_out(rows, lambda ratio: f"{ratio:.2f}×")


def _lay_out(
    rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]],
    label: Callable[[float], str],
    legend: Mapping[str, str] = {},
) -> Bars | None:
    """Lay out one bar per row; a row is a name and its segments (name, value, color)."""
    if not rows:
        return None
    left = min(WIDTH / 2, LETTER * max(len(name) for name, _ in rows) + 8)
    sums = [sum(value for _, value, _ in parts) for _, parts in rows]
    scale = (WIDTH - left - VALUE) / (max(sums) or 1.0)
    drawn = []
    for number, ((name, parts), whole) in enumerate(zip(rows, sums, strict=True)):
        ends = [left, *(left + scale * end for end in accumulate(value for _, value, _ in parts))]
        rectangles = [
            Part(x, scale * value, shade, " ".join(filter(None, (f"{name}:", part, label(value)))))
            for x, (part, value, shade) in zip(ends[:-1], parts, strict=True)
        ]
        drawn.append(Bar(name, number * ROW, rectangles, ends[-1], label(whole)))
    return Bars(drawn, left, legend)
