"""Compilations by shapes: made once each, the last few kept, one of them for many lengths where padding is exact."""

import time
from typing import Any

import numpy as np
import pytest

from nnapi.runtime.specializations import MOST_SHAPES, Specializations


class Compiled:
    """Stands for a compilation of a function."""

    def __init__(self, function: Any) -> None:
        self.run = lambda *inputs: [function(*inputs)]

    def explain(self) -> str:
        return "all of it here"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes that were compiled for, on a clock that stands still."""
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    return []


def specialized(function: Any, made: list[Any]) -> Specializations:
    def compile(shapes: Any) -> Any:
        made.append(shapes)
        return Compiled(function)

    return Specializations(compile)


def test_each_shape_is_compiled_once_and_the_last_few_are_kept(made: list[Any]) -> None:
    found = specialized(np.negative, made)
    for size in (1, 3, 1, 3, 5):
        found.run([np.ones(size)])
    assert made == [((1,),), ((3,),), ((5,),)]
    for size in range(7, 7 + 2 * MOST_SHAPES, 2):
        found.run([np.ones(size)])
    assert len(found) == MOST_SHAPES
    found.run([np.ones(1)])
    assert made[-1] == ((1,),)
    assert found.explain().endswith("inputs [1]: compiled in 0.00 s, 1 runs\nall of it here")


def test_64_lengths_take_two_compilations(made: list[Any]) -> None:
    found = specialized(np.negative, made)
    for size in range(1, 65):
        np.testing.assert_array_equal(found.run([np.arange(size, dtype=np.float32)])[0], -np.arange(size))
    assert made == [((1,),), ((64,),)]
    assert "inputs [64]: compiled in 0.00 s, 63 runs, padded from any length up to 64" in found.explain()
    found.clear()
    assert len(found) == 0


def test_lengths_that_cannot_be_padded_are_compiled_each(made: list[Any]) -> None:
    found = specialized(np.sum, made)
    for size in (1, 2, 3, 4):
        assert found.run([np.ones(size, np.float32)])[0] == size
    assert made == [((1,),), ((64,),), ((2,),), ((3,),), ((4,),)]


def test_a_length_that_runs_for_long_gets_its_own(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its padded runs have taken as long as the compilation."""
    found = specialized(np.negative, made)
    for size in (1, 2):
        found.run([np.ones(size, np.float32)])
    ticks = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    for _ in range(3):
        found.run([np.ones(2, np.float32)])
    assert made == [((1,),), ((64,),), ((2,),)]
