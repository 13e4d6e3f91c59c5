"""Words and numbers as they are printed."""

import json
import math

import pytest

from nnapi.cli.text import duration, print_json, say_count, size


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (2652542, "2.65 MB"), (12803952, "12.8 MB"), (4e12, "4e+03 GB")],
)
def test_size(count: float, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0000213, "0.0213 ms"), (0.1523, "152 ms"), (0.9999, "1 s"), (2.3149, "2.31 s"), (75, "75 s")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_counted() -> None:
    assert [say_count(number, "input") for number in (0, 1, 2)] == ["0 inputs", "1 input", "2 inputs"]


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [math.nan, 1.5, (math.inf,)], "b": "ü"})
    text = capsys.readouterr().out
    assert json.loads(text) == {"a": [None, 1.5, [None]], "b": "ü"}
    assert "ü" in text
