"""A benchmark as comma-separated values."""

from __future__ import annotations

from nnapi.report.csv_table import HEADINGS, csv_table
from nnapi.report.result import Benchmark, Measurement, ModelResult


def test_rows() -> None:
    fast = Measurement(
        "nnapi", "1.0", ("a", "b"), ((0.002, 0.001), (0.004,)), (0.1, 0.3, 0.2), (0.01,), (30.0,), 2, 5000
    )
    failed = Measurement("litert", "2", failure='it says "no", twice')
    model = ModelResult("m,1.tflite", "m", 1, 1, "", "", (fast, failed))
    benchmark = Benchmark("now", {}, {"threads": 3}, {}, (model,))
    heading, first, second = csv_table(benchmark).splitlines()
    assert heading.split(",") == list(HEADINGS)
    assert first == '"m,1.tflite",nnapi,1.0,a + b,3,3,1,2,4,4,30,2,200,10,5000,'
    assert second == '"m,1.tflite",litert,2,,3,0,,,,,,,,,,"it says ""no"", twice"'
