"""Common code of prepared models: pools, variants for each set of shapes, and the time limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.contract import prepared as prepared_module
from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.contract.prepared import EngineTimer, PerShapes, Pool, PreparedPerShapes, check_deadline
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError
from nnapi.model.model import Model


@pytest.mark.parametrize(("deadline", "is_late"), [(None, False), (100, False), (101, False), (99, True), (0, True)])
def test_a_run_begins_until_its_deadline(monkeypatch: pytest.MonkeyPatch, deadline: int | None, is_late: bool) -> None:
    monkeypatch.setattr(prepared_module, "time", SimpleNamespace(monotonic_ns=lambda: 100))
    if is_late:
        with pytest.raises(MissedDeadlinePersistentError, match="^the time limit passed before the computation began$"):
            check_deadline(Request([], deadline))
    else:
        check_deadline(Request([], deadline))


def test_a_pool_grows_as_needed() -> None:
    made = iter(range(10))
    pool = Pool(lambda: next(made), 70, 71)
    assert [pool.take() for _ in range(4)] == [71, 70, 0, 1]
    pool.put(1)
    pool.put(70)
    assert [pool.take() for _ in range(3)] == [70, 1, 2]
    pool.put(5)
    pool.close()
    pool.put(6)
    with pytest.raises(OpFailedError, match="^the prepared model is closed$"):
        pool.take()
    assert next(made) == 3


def test_what_is_put_back_while_a_pool_is_closed_is_released() -> None:
    class ClosingMeanwhile(list[int]):
        def append(self, one: int) -> None:
            pool.close()
            super().append(one)

    pool = Pool(lambda: 1)
    pool._idle = ClosingMeanwhile()
    pool.put(pool.take())
    assert pool._idle == []


def test_each_set_of_shapes_is_made_once() -> None:
    """Of a model without constants, more than a hundred stay; the sizes of tests/contract/test_shape_cache.py limit
    them."""
    made: list[Any] = []

    def make(shapes: Any) -> int:
        made.append(shapes)
        return len(made)

    cache = PerShapes(Model(), make)
    cache.add(((7,),), 0)
    shapes: list[Any] = [((size,),) for size in range(100)]
    for each in shapes * 2:
        cache.get(each)
    assert made == shapes[:7] + shapes[8:]
    assert cache.close()[:3] == [1, 2, 3]
    assert cache.close() == []
    with pytest.raises(OpFailedError, match="^the prepared model is closed$"):
        cache.get(shapes[2])


class Fixed:
    """A model prepared for one set of shapes."""

    def __init__(self, shapes: Any, log: list[Any]) -> None:
        self.shapes, self.log = shapes, log

    def execute(self, request: Request) -> Outcome:
        self.log.append((self.shapes, [array if array is None else array.shape for array in request.inputs]))
        return Outcome([])

    def open_handle(self, options: OpenOptions) -> Handle:
        self.log.append((self.shapes, options))
        return Handle(self.execute, self.open_handle, list)

    def close(self) -> None:
        self.log.append(("closed", self.shapes))


def test_each_set_of_shapes_is_measured() -> None:
    log: list[Any] = []
    prepared = PreparedPerShapes(Model(), lambda shapes: Fixed(shapes, log), ((2,),))
    handle = prepared.open_handle(OpenOptions(measure=True))
    log.clear()
    handle.execute(Request([np.zeros(3)]))
    assert log == [(((3,),), OpenOptions(measure=True)), (((3,),), [(3,)])]


def test_the_time_of_an_engine_s_call_lies_in_its_trace_section(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100, 130])
    log: list[str] = []

    class Noting:
        def __enter__(self) -> None:
            log.append("section")

        def __exit__(self, *raised: Any) -> None:
            log.append(f"end {raised[0]}")

    monkeypatch.setattr(
        prepared_module, "time", SimpleNamespace(perf_counter_ns=lambda: log.append("clock") or next(times))
    )
    section: Any = Noting()
    timer = EngineTimer(section)
    with timer:
        log.append("call")
    assert timer.nanoseconds == 30
    assert log == ["section", "clock", "call", "clock", "end None"]


class Refused(Fixed):
    precision_refusal = "no such arithmetic"


def test_a_model_is_prepared_for_each_set_of_shapes() -> None:
    """An omitted input is not passed on."""
    log: list[Any] = []
    made: list[Any] = []

    def make(shapes: Any) -> Fixed:
        made.append(shapes)
        return Fixed(shapes, log)

    prepared = PreparedPerShapes(Model(), make, ((2,), (3,)))
    assert made == [((2,), (3,))]
    x, y = np.zeros(2), np.zeros(3)
    for inputs in ([x, y], [y, x], [y, x], [x, None], [x, y]):
        prepared.execute(Request(inputs))
    assert made == [((2,), (3,)), ((3,), (2,)), ((2,), None)]
    assert log == [
        (((2,), (3,)), [(2,), (3,)]),
        (((3,), (2,)), [(3,), (2,)]),
        (((3,), (2,)), [(3,), (2,)]),
        (((2,), None), [(2,)]),
        (((2,), (3,)), [(2,), (3,)]),
    ]
    log.clear()
    assert prepared.open_handle(OpenOptions([(7,), (8,)], exclusive=True, borrow=True)).call is list
    assert log == [(((7,), (8,)), OpenOptions([(7,), (8,)]))]
    assert prepared.open_handle(OpenOptions()).call is None
    log.clear()
    prepared.close()
    assert log == [("closed", shapes) for shapes in (((3,), (2,)), ((2,), None), ((2,), (3,)), ((7,), (8,)))]


def test_a_variant_that_is_prepared_already() -> None:
    log: list[Any] = []
    first = Refused(((2,),), log)
    prepared = PreparedPerShapes[Fixed](Model(), lambda shapes: Fixed(shapes, log), ((2,),), first)
    prepared.execute(Request([np.zeros(2)]))
    assert prepared.first is first
    assert log == [(((2,),), [(2,)])]
    assert prepared.precision_refusal == "no such arithmetic"
    assert PreparedPerShapes(Model(), lambda shapes: Fixed(shapes, log), ((2,),)).precision_refusal == ""
