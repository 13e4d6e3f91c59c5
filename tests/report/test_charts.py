"""Charts: well-formed, nothing active in them, the values in them."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from nnapi.report import charts
from nnapi.report.result import Measurement
from tests.report.report_cases import measurement, model_result

ROWS = [measurement("nnapi <x>", 2.0), measurement("litert", 200.0), Measurement("none", failure="no")]
COLOUR = charts.colours([row.engine for row in ROWS])
MODEL = model_result("a & b", ROWS)


def texts(svg: str) -> list[str]:
    return [text for element in ET.fromstring(svg).iter() if (text := (element.text or "").strip())]


@pytest.mark.parametrize(
    "svg",
    [
        charts.latencies(MODEL, COLOUR),
        charts.bars(ROWS, COLOUR, lambda m: m.rate, str),
        charts.stages(ROWS, COLOUR, str),
        charts.overview([MODEL]),
    ],
    ids=["latencies", "bars", "stages", "overview"],
)
def test_an_image_and_nothing_else(svg: str) -> None:
    assert ET.fromstring(svg).tag.endswith("svg")
    assert "<script" not in svg
    assert "href" not in svg
    assert "var(--" in svg


def test_the_axis_has_round_milliseconds() -> None:
    assert {"2", "10", "50", "200"} <= set(texts(charts.latencies(MODEL, COLOUR)))


def test_bars_are_labelled_from_top_to_bottom() -> None:
    labels = texts(charts.bars(ROWS, COLOUR, lambda m: m.median, lambda value: f"{1e3 * value:.1e} ms"))
    assert "2.0e+02 ms" in labels
    assert "nnapi <x>" in labels


def test_nothing_to_draw() -> None:
    empty = model_result("m", ROWS[2:])
    assert charts.latencies(empty, COLOUR) == ""
    assert charts.bars(ROWS[2:], COLOUR, lambda m: m.rate, str) == ""
    assert charts.stages(ROWS[2:], COLOUR, str) == ""
    assert charts.overview([empty]) == ""


def test_one_engine_only() -> None:
    assert charts.bars(ROWS[:1], COLOUR, lambda m: m.rate, str)
    assert charts.stages(ROWS[:1], COLOUR, str)


def test_one_time_only() -> None:
    assert charts.latencies(model_result("m", [Measurement("nnapi", latency=((0.5,),))]), {"nnapi": 0})


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
