"""State that a model keeps from run to run, beside LiteRT."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tests.litert import interpreter_cases, model_cases
from tests.litert.interpreter_cases import both, feed, run, values
from tests.litert.model_cases import svdf, weights
from tests.tflite_writer import T, single

pytestmark = pytest.mark.engine


def lstm() -> bytes:
    states = [T("FLOAT32", (2, 5), name=f"state{number}", variable=True) for number in range(2)]
    gates = [*(weights(5, 3) for _ in range(4)), *(weights(5, 5) for _ in range(4)), None, None, None]
    inputs = [T("FLOAT32", (2, 4, 3), name="x"), *gates, *(weights(5) for _ in range(4)), None, None, *states]
    fields = {"FusedActivationFunction": 4, "CellClip": 0.0, "ProjClip": 0.0, "TimeMajor": False}
    return single(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [*inputs, None, None, None, None],
        T("FLOAT32", (2, 4, 5), name="y"),
        "UnidirectionalSequenceLSTMOptions",
        **fields,
    )


def rnn(activation: int) -> bytes:
    state = T("FLOAT32", (2, 5), name="state", variable=True)
    x, y = T("FLOAT32", (2, 4, 3), name="x"), T("FLOAT32", (2, 4, 5), name="y")
    fields = {"FusedActivationFunction": activation, "TimeMajor": False}
    inputs = [x, weights(5, 3), weights(5, 5), weights(5), state]
    return single("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, y, "SequenceRNNOptions", **fields)


@pytest.mark.parametrize("make", [svdf, lstm, partial(rnn, 1), partial(rnn, 4)], ids=["svdf", "lstm", "relu", "tanh"])
def test_state_is_kept_from_run_to_run_until_it_is_reset(
    make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (interpreter_cases, model_cases):  # other numbers may leave nothing above 0, which relu gives then
        monkeypatch.setattr(module, "rng", np.random.default_rng(5))
    pair = both(make())
    for interpreter in pair:
        interpreter.allocate_tensors()
    feed(pair)
    run(pair)
    first = values(pair[1])[0]
    run(pair)
    assert not np.allclose(values(pair[1])[0], first), "nothing was kept"
    feed(pair)
    run(pair)
    for _ in range(2):
        for interpreter in pair:
            interpreter.reset_all_variables()
        run(pair)
    again = values(pair[1])[0]
    feed(pair)
    run(pair)
    for interpreter in pair:
        interpreter.reset_all_variables()
    run(pair)
    assert not np.allclose(again, first), "the inputs were others"


@pytest.mark.parametrize("make", [svdf, lstm], ids=["svdf", "lstm"])
def test_states_that_only_the_next_run_reads_may_be_rounded(make: Callable[[], bytes]) -> None:
    """So that cells in integers are decomposed there, too: several times as fast as the engine's own."""
    _, ours = both(make())
    ours.allocate_tensors()
    lasting, fresh = (ours.session(0)._import(keeps_state=keeps) for keeps in (True, False))
    assert (lasting.rounded_states, fresh.rounded_states) == (True, False)


def test_it_is_freed_without_a_garbage_collection() -> None:
    gc.disable()
    try:
        _, interpreter = both(lstm())
        interpreter.allocate_tensors()
        for _ in range(2):  # the second run makes the graph with states
            interpreter.invoke()
        graph = interpreter._main.graph
        graphs = [graph._fresh, graph._stateful.made._graph]
        alive = [weakref.ref(each.compilation) for each in graphs]
        del interpreter, graph, graphs
        assert [each() for each in alive] == [None, None]
    finally:
        gc.enable()
