"""The benchmark of throughput: what counts of each engine."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.throughput import compare, measure_ours

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def test_of_each_engine_the_better_way_counts() -> None:
    rates = {"nnapi": 6.0, "litert": 2.0, "litert alone": 3.0, "openvino": 4.0, "openvino queue": 1.0}
    assert compare(rates) == {"litert": 2.0, "openvino": 1.5, "fastest": 1.5}


def test_where_nobody_else_runs_a_model_nothing_is_compared() -> None:
    assert compare({"nnapi": 6.0}) == {}


@pytest.mark.parametrize("requests", [1, 2])
def test_inputs_are_counted(requests: int) -> None:
    scan = np.zeros((1, 8, 8, 1), np.float32)
    assert measure_ours(DIGITS / "digits_float.tflite", [scan], requests)(0.01) > 0
