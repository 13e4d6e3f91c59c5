"""State that a model keeps from run to run, beside LiteRT."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from nnapi.errors import BadDataError
from nnapi.litert import compiled_subgraph
from nnapi.litert.compiled_subgraph import MANY_RESETS, CompiledSubgraph
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


@pytest.mark.parametrize("make", [svdf, lstm], ids=["svdf", "lstm"])
def test_programs_that_reset_each_time_get_a_graph_without_states(
    make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    works: list[Callable[[], None]] = []
    monkeypatch.setattr(compiled_subgraph, "RESETTING", 0.0)
    monkeypatch.setattr(compiled_subgraph, "do_behind_runs", works.append)
    pair = both(make())
    for interpreter in pair:
        interpreter.allocate_tensors()

    def run_reset() -> None:
        feed(pair)
        for interpreter in pair:
            interpreter.reset_all_variables()
        run(pair)

    for _ in range(MANY_RESETS):
        run_reset()
    run(pair)
    assert not works, "a run continued"
    for _ in range(2 * MANY_RESETS):
        run_reset()
    (work,) = works
    graph = pair[1]._main.graph
    assert graph._fresh is None
    work()
    assert graph._fresh is not None
    run_reset()
    for _ in range(2):  # from the states after the reset
        feed(pair)
        run(pair)
    run_reset()


def test_a_graph_without_states_is_closed_if_nothing_uses_it() -> None:
    closed: list[str] = []

    class Fresh:
        def close(self) -> None:
            closed.append("fresh")

    def refuse() -> CompiledSubgraph:
        raise BadDataError("no device")

    gone = weakref.ref(Fresh())
    compiled_subgraph._make_fresh(gone, Fresh)  # type: ignore[arg-type]
    compiled_subgraph._make_fresh(gone, refuse)  # type: ignore[arg-type]
    assert closed == ["fresh"]


def test_it_is_freed_without_a_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.disable()
    try:
        _, interpreter = both(lstm())
        interpreter.allocate_tensors()
        monkeypatch.setattr(compiled_subgraph, "RESETTING", 0.0)
        monkeypatch.setattr(compiled_subgraph, "do_behind_runs", lambda work: work())
        for _ in range(MANY_RESETS + 2):
            interpreter.reset_all_variables()
            interpreter.invoke()
        graph = interpreter._main.graph
        graphs = [graph._fresh, graph._stateful._graph]
        alive = [weakref.ref(each.compilation) for each in graphs]
        del interpreter, graph, graphs
        assert [each() for each in alive] == [None, None]
    finally:
        gc.enable()
