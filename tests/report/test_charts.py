"""Charts: the values in them, and what is drawn of them is a picture and nothing else."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from jinja2 import Environment, PackageLoader, StrictUndefined

from nnapi.report import charts
from nnapi.report.result import Measurement
from tests.report.report_cases import measurement, model_result

ROWS = [measurement("nnapi <x>", 2.0), measurement("litert", 200.0), Measurement("none", failure="no")]
COLOR = charts.colors([row.engine for row in ROWS])
MODEL = model_result("a & b", ROWS)
DRAWINGS = Environment(loader=PackageLoader("nnapi.report"), autoescape=True, undefined=StrictUndefined)


def draw(chart: charts.Bars | charts.Curves | None) -> str:
    macros = DRAWINGS.get_template("charts.svg.jinja").module
    return str(getattr(macros, type(chart).__name__.lower())(chart))


def texts(svg: str) -> list[str]:
    return [text for element in ET.fromstring(svg).iter() if (text := (element.text or "").strip())]


@pytest.mark.parametrize(
    "chart",
    [
        charts.latencies(MODEL, COLOR),
        charts.bars(ROWS, COLOR, lambda m: m.rate, str),
        charts.stages(ROWS, str),
        charts.overview([MODEL]),
    ],
    ids=["latencies", "bars", "stages", "overview"],
)
def test_an_image_and_nothing_else(chart: charts.Bars | charts.Curves) -> None:
    svg = draw(chart)
    assert ET.fromstring(svg).tag == "svg"
    assert "<script" not in svg
    assert "href" not in svg
    assert "var(--" in svg


def test_the_axis_has_round_milliseconds() -> None:
    assert {"2", "10", "50", "200"} <= set(texts(draw(charts.latencies(MODEL, COLOR))))


def test_bars_are_labeled_from_top_to_bottom() -> None:
    chart = charts.bars(ROWS, COLOR, lambda m: m.median, lambda value: f"{1e3 * value:.0f} ms")
    assert texts(draw(chart)) == ["nnapi <x>", "2 ms", "litert", "201 ms"]


def test_bars_are_as_long_as_their_values() -> None:
    chart = charts.bars(ROWS, COLOR, lambda m: m.median, str)
    assert chart
    short, long = chart.bars
    assert long.parts[0].width / short.parts[0].width == pytest.approx(100, rel=0.05)
    assert long.end + charts.VALUE == pytest.approx(chart.width)
    rectangles = ET.fromstring(draw(chart)).iter("rect")
    assert [float(r.get("width") or 0) for r in rectangles] == pytest.approx(
        [short.parts[0].width, long.parts[0].width], abs=0.06
    )


def test_parts_follow_each_other_and_tell_their_own_value() -> None:
    chart = charts.stages([Measurement("e", load=(1.0,), compile=(3.0,))], lambda value: f"{value:g} s")
    assert chart
    (bar,) = chart.bars
    load, compile = bar.parts
    assert (load.tip, compile.tip, bar.text) == ("e: load 1 s", "e: compile 3 s", "4 s")
    assert load.x + load.width == pytest.approx(compile.x)
    assert compile.width == pytest.approx(3 * load.width)
    assert texts(draw(chart)) == ["e", "4 s", "load", "compile"]


def test_a_long_name_is_cut_and_told_whole() -> None:
    name = "a_model_with_a_name_of_more_letters_than_fit"
    svg = draw(charts.stages([Measurement(name, load=(1.0,), compile=(1.0,))], str))
    (shown, *_) = texts(svg)
    assert len(shown) < len(name)
    assert shown.endswith("…")
    assert name.startswith(shown[:-1])
    assert f'data-tip="{name}"' in svg


def test_models_of_one_name_have_a_bar_each() -> None:
    rows = [measurement("nnapi", 2.0), measurement("litert", 4.0)]
    chart = charts.overview([model_result("m", rows), model_result("m", rows[::-1])])
    assert chart
    assert len(chart.bars) == 2


def test_nothing_to_draw() -> None:
    empty = model_result("m", ROWS[2:])
    assert charts.latencies(empty, COLOR) is None
    assert charts.bars(ROWS[2:], COLOR, lambda m: m.rate, str) is None
    assert charts.stages(ROWS[2:], str) is None
    assert charts.overview([empty]) is None


def test_one_time_only() -> None:
    assert draw(charts.latencies(model_result("m", [Measurement("nnapi", latency=((0.5,),))]), {"nnapi": 0}))


@pytest.mark.parametrize(("low", "high"), [(-3, 3), (0.1, 0.5), (0.301, 0.303), (-2.1, -2.0)])
def test_ticks(low: float, high: float) -> None:
    found = charts.ticks(low, high)
    assert len(found) <= 9
    assert all(low <= np.log10(tick) <= high for tick in found)


def test_density_peaks_where_the_values_are() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.01, 500)
    curve = charts.density(values, 0.0, 1.0)
    place, height = max(curve, key=lambda point: point[1])
    assert (place, height) == (pytest.approx(0.5, abs=0.02), 1.0)


def test_filled_curves_close_on_the_axis() -> None:
    """Also where the slowest runs are cut off: else the fill ends in a slanted edge."""
    slow = tuple(np.random.default_rng(1).normal(0.5, 0.05, 100))
    found = charts.latencies(model_result("m", [Measurement("nnapi", latency=(slow, (0.9,) * 3))]), {"nnapi": 0})
    assert found is not None
    points = [point.split(",") for point in found.curves[0].points.split()]
    assert [float(y) for _, y in (points[0], points[-1])] == [charts.PLOT, charts.PLOT]
    assert [float(x) for x, _ in (points[0], points[-1])] == [0, charts.WIDTH]
