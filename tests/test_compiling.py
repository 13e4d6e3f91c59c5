"""``nnapi.compile``: files, names of options, seconds."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError, MissedDeadlineError

DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "digits_quant.tflite"
REFERENCE = "nnapi-reference"


@pytest.mark.parametrize("path", [DIGITS, str(DIGITS)])
def test_a_file_is_loaded(path: Path | str) -> None:
    with nnapi.compile(path, REFERENCE) as compilation:
        (scores,) = compilation.run(np.zeros((1, 8, 8, 1), np.int8))
    assert scores.shape == (1, 10)


def test_options_have_names() -> None:
    with nnapi.compile(DIGITS, REFERENCE, "low_power", priority="high") as compilation:
        assert compilation._options[:2] == (
            nnapi.PreferenceCode.PREFER_LOW_POWER,
            nnapi.PriorityCode.PRIORITY_HIGH,
        )
    with pytest.raises(BadDataError, match="preference is 'quick'"):
        nnapi.compile(DIGITS, REFERENCE, "quick")


def test_time_limits_are_seconds() -> None:
    for limit in (1000, 1000.0, timedelta(minutes=20)):
        nnapi.compile(DIGITS, REFERENCE, timeout=limit).close()
    with pytest.raises(MissedDeadlineError):
        nnapi.compile(DIGITS, REFERENCE, timeout=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda wrong, path: nnapi.compile(wrong),
        lambda wrong, path: nnapi.compile(wrong, precision="float16"),
        lambda wrong, path: nnapi.tune(wrong),
        lambda wrong, path: nnapi.export(wrong, path),
        lambda wrong, path: nnapi.Execution(wrong),
        lambda wrong, path: nnapi.Builder().input(wrong),
    ],
)
def test_an_argument_of_another_type_is_named(call: Callable[[Any, Path], object], tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"^(model|compilation|type) is of type ndarray, must be nnapi\."):
        call(np.zeros(3), tmp_path / "model.tflite")


@pytest.mark.parametrize("cache", [3, ("folder",)])
def test_what_is_not_a_cache_is_refused(cache: Any) -> None:
    with pytest.raises(BadDataError, match=r"^cache (is 3|has 1 items), must be a directory"):
        nnapi.compile(DIGITS, cache=cache)
