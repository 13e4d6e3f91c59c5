"""Graphs of one operator, and of several in a row."""

import numpy as np
import pytest

from nnapi.drivers.xnnpack import single_operators
from nnapi.drivers.xnnpack.single_operators import (
    convert,
    convolve,
    convolve_each,
    make_filter,
    start_graph,
    time_graph,
    time_shortest,
)

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")


@pytest.mark.parametrize("type", ["i8", "f32", "u8"])
def test_the_engine_runs_them(type: str) -> None:
    for operator in (convolve(type, (1, 4, 4, 8), 16, 3), convolve_each(type, (1, 4, 4, 16))):
        assert 0 < time_graph(operator) <= 1


def test_what_one_gives_the_next_reads() -> None:
    first, second = convert("DEQUANTIZE", "i8", "f32", (1, 4)), convert("QUANTIZE", "f32", "i8", (1, 4))
    second.inputs = [first.output]
    instance, inputs = start_graph(first, second)
    assert inputs == [first.input(0)]
    codes = np.array([[-3, 0, 5, 7]], np.int8)
    instance.run([codes])
    assert instance.results()[0].tolist() == codes.tolist()


def test_filters_have_values_of_either_sign_in_every_channel() -> None:
    values = make_filter("i8", (16, 3, 3, 8), 0).value.reshape(16, -1)
    assert (values.min(1) < 0).all()
    assert (values.max(1) > 0).all()


def test_the_shortest_call_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def perf_counter(self) -> float:
            return self.now

    clock, waits = Clock(), iter([9.0, 0.3, 0.2, 0.4])
    monkeypatch.setattr(single_operators, "time", clock)

    def call() -> None:
        clock.now += next(waits)

    assert time_shortest(call) == pytest.approx(0.2)
