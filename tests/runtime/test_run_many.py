"""Many inputs on one compilation: all results, in order, several in flight, whatever fails."""

import os
import threading
from collections.abc import Callable, Iterator
from importlib import import_module

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, compile, tensor
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.errors import BadDataError, BadStateError, OpFailedError
from nnapi.model.operand import Array
from nnapi.runtime import run_many
from tests.runtime.device_cases import SQUARE, Scripted, as_it_is, chain

PATIENCE = 30.0
"""Seconds after which a test that waits for another thread fails."""


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short a run is, other threads are given some, one at a time."""
    monkeypatch.setattr(run_many, "WORTH_QUEUING", 0.0)
    monkeypatch.setattr(run_many, "LOT", 0.0)


def numbered(count: int) -> list[Array]:
    return [np.full((2, 2), number, np.float32) for number in range(count)]


def on(driver: Scripted) -> Compilation:
    return compile(chain(2), Device(driver))


def numbers(results: Iterator[list[Array]]) -> list[float]:
    """The input that each result is of: the model gives minus its magnitude."""
    return [-outputs[0][0, 0] for outputs in results]


def refuse(number: int) -> Callable[[Request, Prepared], Outcome]:
    def execute(request: Request, prepared: Prepared) -> Outcome:
        if request.inputs[0][0, 0] == number:
            raise OpFailedError("not this one")
        return prepared.execute(request)

    return execute


@pytest.mark.parametrize("requests", [1, 2, 5])
@pytest.mark.parametrize("lot", [0.0, 1e-4, 1e9])
def test_results_come_in_the_order_of_the_inputs(requests: int, lot: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_many, "WORTH_QUEUING", 0.0)
    monkeypatch.setattr(run_many, "LOT", lot)
    assert numbers(compile(chain(2), "nnapi-reference").run_many(numbered(300), requests=requests)) == [*range(300)]


@pytest.mark.usefixtures("handed_over")
def test_several_are_in_flight() -> None:
    both = threading.Barrier(2)

    def meet(request: Request, prepared: Prepared) -> Outcome:
        both.wait(PATIENCE)
        return prepared.execute(request)

    assert len(list(on(Scripted(meet)).run_many(numbered(6), requests=2))) == 6


@pytest.mark.usefixtures("handed_over")
def test_never_more_are_in_flight_than_asked_for() -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def count(request: Request, prepared: Prepared) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return prepared.execute(request)
        finally:
            with lock:
                running -= 1

    assert len(list(on(Scripted(count)).run_many(numbered(200), requests=3))) == 200
    assert most <= 3


def test_what_is_very_short_stays_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_many, "WORTH_QUEUING", 1e9)
    where = set()

    def note(request: Request, prepared: Prepared) -> Outcome:
        where.add(threading.get_ident())
        return prepared.execute(request)

    assert len(list(on(Scripted(note)).run_many(numbered(50), requests=4))) == 50
    assert where == {threading.get_ident()}


@pytest.mark.usefixtures("handed_over")
def test_inputs_are_taken_as_they_are_needed() -> None:
    taken = []

    def give() -> Iterator[Array]:
        for number, array in enumerate(numbered(1000)):
            taken.append(number)
            yield array

    results = compile(chain(2), "nnapi-reference").run_many(give(), requests=2)
    assert not taken
    for count in range(1, 100):
        next(results)
        assert len(taken) <= count + run_many.LOTS_AHEAD * 2


@pytest.mark.usefixtures("handed_over")
def test_an_input_that_fails_is_named_and_the_others_are_not_lost() -> None:
    results = on(Scripted(refuse(17))).run_many(numbered(40), requests=3)
    assert numbers(next(results) for _ in range(17)) == [*range(17)]
    with pytest.raises(OpFailedError, match="^input 17: not this one$"):
        next(results)
    assert len(list(results)) == 22


@pytest.mark.parametrize("requests", [1, 2])
def test_an_input_that_does_not_fit_is_named(requests: int) -> None:
    inputs = [*numbered(3), np.zeros((3, 3), np.float32), *numbered(1)]
    results = compile(chain(2), "nnapi-reference").run_many(inputs, requests=requests)
    assert len([next(results) for _ in range(3)]) == 3
    with pytest.raises(BadDataError, match=r"^input 3: x .*cannot take an array of shape \[3, 3\]"):
        next(results)
    assert len(list(results)) == 1


def test_what_is_no_array_is_named() -> None:
    results = compile(chain(2), "nnapi-reference").run_many(["text"], requests=2)
    with pytest.raises(BadDataError, match=r"input 0: .* cannot take 'text'"):
        next(results)


@pytest.mark.usefixtures("handed_over")
def test_a_source_that_fails_loses_nothing_that_it_gave() -> None:
    def give() -> Iterator[Array]:
        yield from numbered(5)
        raise OSError("the disk is gone")

    results = compile(chain(2), "nnapi-reference").run_many(give(), requests=2)
    assert numbers(next(results) for _ in range(5)) == [*range(5)]
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)
    assert next(results, None) is None


def test_models_of_several_inputs_take_one_array_each() -> None:
    b = Builder("sum")
    x, y = b.input(SQUARE, name="x"), b.input(SQUARE, name="y")
    b.output(b.add(x, y))
    compilation = compile(b.finish(), "nnapi-reference")
    results = compilation.run_many(((array, array) for array in numbered(3)), requests=2)
    assert [outputs[0][0, 0] for outputs in results] == [0, 2, 4]


def test_open_dimensions_may_differ_from_input_to_input() -> None:
    b = Builder("open")
    b.output(b.neg(b.input(tensor("float32", (0, 2)), name="x")))
    inputs = [np.ones((1 + number % 3, 2), np.float32) for number in range(20)]
    results = list(compile(b.finish(), "nnapi-reference").run_many(inputs, requests=2))
    assert [outputs[0].shape for outputs in results] == [array.shape for array in inputs]


def test_progress_is_told_after_each_result() -> None:
    told: list[tuple[int, int | None]] = []

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    compilation = compile(chain(2), "nnapi-reference")
    list(compilation.run_many(numbered(3), progress=tell))
    list(compilation.run_many((array for array in numbered(2)), progress=tell))
    assert told == [(1, 3), (2, 3), (3, 3), (1, None), (2, None)]


def test_no_inputs_give_no_results() -> None:
    assert list(compile(chain(2), "nnapi-reference").run_many([])) == []


@pytest.mark.usefixtures("handed_over")
def test_what_is_closed_begins_no_more() -> None:
    driver = Scripted(as_it_is)
    with on(driver).run_many(numbered(1000), requests=2) as results:
        next(results)
    assert next(results, None) is None
    begun = len(driver.requests)
    assert begun <= 1 + run_many.LOTS_AHEAD * 2


@pytest.mark.usefixtures("handed_over")
def test_threads_end_with_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Semaphore(0)

    def run_in_background(work: Callable[[], None]) -> None:
        def run() -> None:
            work()
            ended.release()

        threading.Thread(target=run, daemon=True).start()

    monkeypatch.setattr(run_many, "run_in_background", run_in_background)
    results = compile(chain(2), "nnapi-reference").run_many(numbered(1000), requests=3)
    next(results)
    del results
    assert ended.acquire(timeout=PATIENCE)


@pytest.mark.usefixtures("handed_over")
def test_without_a_thread_to_be_had_the_caller_runs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: object) -> None:
        raise OpFailedError("no thread")

    monkeypatch.setattr(run_many, "run_in_background", refuse)
    assert numbers(compile(chain(2), "nnapi-reference").run_many(numbered(20), requests=4)) == [*range(20)]


@pytest.mark.usefixtures("handed_over")
def test_in_a_fork_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    results = compile(chain(2), "nnapi-reference").run_many(numbered(20), requests=2)
    next(results)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(BadStateError, match="of which this one is a fork"):
        list(results)


@pytest.mark.parametrize("requests", [0, 50000])
def test_requests_have_limits(requests: int) -> None:
    with pytest.raises(BadDataError, match=f"requests is {requests}, must be from 1 to 1024"):
        compile(chain(2), "nnapi-reference").run_many([], requests=requests)


def test_what_is_not_ready_is_refused() -> None:
    compilation = compile(chain(2), "nnapi-reference")
    compilation.close()
    with pytest.raises(BadStateError):
        compilation.run_many([])


def test_each_run_has_one_thread_where_their_number_was_left_open() -> None:
    driver = Scripted(as_it_is)
    compilation = on(driver)
    for _ in range(2):
        list(compilation.run_many(numbered(2), requests=2))
    assert [options.threads for options in driver.options] == [None, 1]


def test_a_number_of_threads_that_was_chosen_is_kept() -> None:
    driver = Scripted(as_it_is)
    list(compile(chain(2), Device(driver), threads=2).run_many(numbered(2), requests=2))
    assert [options.threads for options in driver.options] == [2]


def test_one_run_in_flight_needs_no_other_preparation() -> None:
    driver = Scripted(as_it_is)
    list(on(driver).run_many(numbered(2), requests=1))
    assert [options.threads for options in driver.options] == [None]


def test_what_fails_with_one_thread_is_run_as_the_compilation_runs_it() -> None:
    driver = Scripted(as_it_is)
    compilation = on(driver)
    compilation.run_many([], requests=2)  # prepares

    assert compilation._single is not None
    compilation._single.active.ready.partitions[0].prepared.close()
    assert len(list(compilation.run_many(numbered(5), requests=2))) == 5


@pytest.mark.engine
@pytest.mark.parametrize(
    ("needed", "driver"), [("ai_edge_litert", "xnnpack.XnnpackDriver"), ("openvino", "openvino.OpenVinoDriver")]
)
@pytest.mark.usefixtures("handed_over")
def test_engines_give_what_single_runs_give(needed: str, driver: str) -> None:
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    package, _, name = driver.partition(".")
    b = Builder("product")
    rng = np.random.default_rng(1)
    x = b.input(tensor("float32", (1, 64)), name="x")
    weights, bias = rng.normal(size=(32, 64)).astype(np.float32), np.zeros(32, np.float32)
    b.output(b.softmax(b.fully_connected(x, weights, bias), 1.0))
    compilation = compile(b.finish(), Device(getattr(import_module(f"nnapi.drivers.{package}"), name)()), threads=1)
    inputs = [rng.normal(size=(1, 64)).astype(np.float32) for _ in range(500)]
    for given, (found,) in zip(inputs, compilation.run_many(inputs, requests=3), strict=True):
        np.testing.assert_array_equal(found, compilation.run(given)[0])
