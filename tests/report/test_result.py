"""Results as values and as JSON."""

import json
from typing import Any

import pytest

from nnapi.errors import Mistake
from nnapi.report.result import Measurement, from_data, to_data
from tests.report.report_cases import measurement, model_result, whole


def test_there_and_back() -> None:
    data = json.loads(json.dumps(to_data(whole()), allow_nan=False))
    again = from_data(data)
    assert again.models[0].measurements == whole().models[0].measurements
    assert json.loads(json.dumps(to_data(again))) == data


def test_the_file_says_the_usual_figures() -> None:
    rows = to_data(whole())["models"][0]["measurements"]
    assert rows[0]["summary"]["median"] == pytest.approx(0.002, rel=0.05)
    assert rows[0]["summary"]["runs"] == 96
    assert rows[3]["summary"]["median"] is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "not a result of nnapi bench"),
        ({"format": "other"}, "not a result of nnapi bench"),
        ({"format": "nnapi-bench", "version": 99}, "of version 99, this program reads 1"),
        ({"format": "nnapi-bench", "version": 1}, "damaged, or was not written by nnapi bench"),
        ({"format": "nnapi-bench", "version": 1, "models": [3]}, "damaged, or was not written by nnapi bench"),
    ],
)
def test_other_files(data: Any, message: str) -> None:
    with pytest.raises(Mistake, match=message):
        from_data(data)


def test_figures_of_runs() -> None:
    found = Measurement("nnapi", latency=((3.0, 1.0), (2.0, 8.0, 9.0)))
    assert (found.minimum, found.median, found.p90, found.round_medians) == (1, 3, 9, [2, 8])
    tens = [Measurement("nnapi", latency=(tuple(map(float, range(count, 0, -1))),)) for count in (10, 11, 20)]
    assert [each.p90 for each in tens] == [9, 10, 18]  # the smallest that nine tenths do not exceed
    hundred, more = (Measurement("nnapi", latency=(tuple(map(float, range(count))),)) for count in (100, 101))
    assert (hundred.p99, more.p99, tens[0].p99) == (98, 99, 10)
    nothing = Measurement("nnapi")
    assert (nothing.minimum, nothing.median, nothing.p99, nothing.rate) == (None, None, None, None)


def test_ours_and_others() -> None:
    rows = [measurement("litert", 3.0), measurement("nnapi fast", 4.0), measurement("nnapi", 2.0)]
    result = model_result("m", [*rows, Measurement("nnapix")])
    ours, theirs = result.best(ours=True), result.best(ours=False)
    assert ours is rows[2]
    assert theirs is rows[0]
