"""The table of several models: shortest runs, and ratios to the fastest of the others and to LiteRT."""

from dataclasses import replace

import pytest

from nnapi.report.result import Agreement, Benchmark, Measurement, ModelResult
from nnapi.report.summary import Line, geometric_mean, summarize


def measured(engine: str, *seconds: float) -> Measurement:
    return Measurement(engine, devices=("chip",), latency=(seconds,) if seconds else ())


def line(*measurements: Measurement) -> Line:
    model = ModelResult("m", "m.tflite", 1, 1, "", "", measurements)
    (found,) = summarize(Benchmark("", {}, {}, {}, (model,)))
    return found


def test_ratios_are_to_the_best_and_to_litert_by_the_shortest_run() -> None:
    found = line(measured("nnapi", 9.0, 2.0), measured("litert", 6.0, 7.0), measured("openvino", 8.0, 3.0))
    assert found == Line("m", ("chip",), {"nnapi": 2.0, "litert": 6.0, "openvino": 3.0}, "openvino", 1.5, 3.0)


def test_an_engine_with_wrong_results_is_not_the_best() -> None:
    wrong, right = (Agreement(9.0, 1.0, 0.5, relative, "steps") for relative in (0.051, 0.05))
    fast = Measurement("openvino", latency=((1.0,),), agreement=wrong)
    found = line(measured("nnapi", 2.0), measured("litert", 6.0), fast)
    assert (found.best, found.ratio, found.wrong) == ("litert", 3.0, {"openvino"})
    found = line(measured("nnapi", 2.0), measured("litert", 6.0), replace(fast, agreement=right))
    assert (found.best, found.ratio, found.wrong) == ("openvino", 0.5, set())
    found = line(replace(measured("nnapi", 2.0), agreement=wrong), measured("litert", 6.0), fast)
    assert (found.best, found.ratio, found.wrong) == ("openvino", 0.5, set())


def test_the_fastest_of_ours_counts() -> None:
    assert line(measured("nnapi a", 4.0), measured("nnapi b", 2.0), measured("litert", 6.0)).ratio == 3.0


@pytest.mark.parametrize("measurements", [[measured("nnapi", 2.0)], [measured("nnapi"), measured("litert", 6.0)], []])
def test_without_ours_or_others_there_is_no_ratio(measurements: list[Measurement]) -> None:
    assert (line(*measurements).ratio, line(*measurements).alone) == (None, None)


def test_the_mean_is_of_what_is_known() -> None:
    assert geometric_mean([0.5, None, 2.0, 8.0]) == (pytest.approx(2.0), 3)
    assert geometric_mean([None]) is None
