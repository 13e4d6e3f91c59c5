"""The lots of many runs: their sizes, and which the caller's thread runs at once, on a clock that runs move."""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi import Device, DeviceTypeCode, compile
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import BadDataError, OpFailedError
from nnapi.runtime import run_many
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.run_many import RunMany, count_inputs, count_requests, prepare_single
from tests.runtime.device_cases import REFERENCE, Scripted, as_it_is, chain, limited


class Machine:
    """Notes the sizes of lots, those that were queued, and how often a thread was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lot: float = 16.0, worth: float = 0.0) -> None:
        self.now, self.seconds, self.threads = 0.0, 0.0, 0
        self.asked: list[int] = []
        self.sizes: list[int] = []
        self.helped = 0
        self.closed = 0
        monkeypatch.setattr(run_many, "time", SimpleNamespace(perf_counter=lambda: self.now))
        monkeypatch.setattr(run_many, "LOT", lot)
        monkeypatch.setattr(run_many, "WORTH_QUEUING", worth)
        monkeypatch.setattr(run_many, "_start_helper", self._start)
        take, help_ = run_many._Source.take, run_many._help

        def note(source: Any, most: int) -> Any:
            self.asked.append(most)
            found = take(source, most)
            self.sizes += [len(found.inputs)] if found else []
            return found

        def help_and_count(*given: Any) -> None:
            self.helped += 1
            help_(*given)

        monkeypatch.setattr(run_many._Source, "take", note)
        monkeypatch.setattr(run_many, "_help", help_and_count)

    def _start(self, *_: object) -> bool:
        self.threads += 1
        return True

    def run(self, count: int, seconds: float, requests: int) -> None:
        def compute(number: int) -> Any:
            self.now += seconds
            return [number]

        def close() -> None:
            self.closed += 1

        results = run_many._run_all(range(count), lambda: (SimpleNamespace(close=close), compute), requests)  # type: ignore[arg-type,return-value]
        assert [result[0] for result in results] == [*range(count)]  # type: ignore[index]
        assert self.closed == 1


@pytest.mark.parametrize(
    ("seconds", "asked"),
    [(2.0, [1, 8, 8, 8]), (0.125, [1, 64]), (32.0, [1] * 26), (16.0, [1] * 26), (7.0, [1] + [2] * 13)],
)
def test_a_lot_takes_about_as_long_as_it_should(
    seconds: float, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    machine.run(25, seconds, requests=1)
    assert machine.asked[: len(asked)] == asked
    assert sum(machine.sizes) == 25
    assert (machine.helped, machine.threads) == (0, 0)


@pytest.mark.parametrize(
    ("requests", "seconds", "worth", "helped", "threads"),
    [
        (1, 2.0, 0.0, 0, 0),
        (2, 2.0, 0.0, 4, 1),  # the first 9 inputs are timed
        (2, 20.0, 0.0, 40, 1),  # the first
        (3, 2.0, 0.0, 4, 2),
        (9, 2.0, 0.0, 4, 4),  # a thread for each lot in the queue
        (2, 2.0, 2.0, 4, 1),
        (2, 2.0, 2.1, 0, 0),  # too short to be queued
    ],
)
def test_lots_are_queued_once_runs_were_timed_and_are_long(
    requests: int, seconds: float, worth: float, helped: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, worth=worth)
    machine.run(41, seconds, requests)
    assert (machine.helped, machine.threads) == (helped, threads)


def test_a_thread_is_asked_for_again_where_none_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, asked = Machine(monkeypatch), []
    monkeypatch.setattr(run_many, "_start_helper", lambda *_: asked.append(1) and False)
    machine.run(41, 2.0, requests=2)
    assert len(asked) == 4


def test_at_most_two_lots_for_each_run_in_flight_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, taken = Machine(monkeypatch, lot=1.0), list[int]()

    def give() -> Iterator[int]:
        for number in range(99):
            taken.append(number)
            yield number

    def compute(number: int) -> Any:
        machine.now += 1.0
        return [number]

    results = run_many._run_all(give(), lambda: (SimpleNamespace(close=lambda: None), compute), 3)  # type: ignore[arg-type,return-value]
    next(results)
    assert len(taken) == 1
    next(results)
    assert len(taken) == 7


@pytest.mark.parametrize(("seconds", "size"), [(15.0, 2), (16.0, 1), (1.0, 5), (4.0, 4)])
def test_inputs_that_come_slowly_make_smaller_lots(seconds: float, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)

    def give() -> Iterator[int]:
        for number in range(9):
            machine.now += seconds
            yield number

    source = run_many._Source(give())
    lot = source.take(5)
    assert lot is not None
    assert lot.inputs == [(number,) for number in range(size)]
    assert source.has_more


def test_the_pace_of_a_lot_is_the_mean_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    lot = run_many._Lot([(2.0,), (3.0,), (7.0,)])
    assert not lot.is_done

    def compute(seconds: float) -> Any:
        machine.now += seconds
        return [seconds]

    lot.run(compute)
    assert (lot.is_done, lot.pace, lot.results, lot.inputs) == (True, 4.0, [[2.0], [3.0], [7.0]], ())
    lot.wait()
    lot.wait()


@pytest.mark.parametrize(
    ("threads", "wanted", "count"), [(None, None, 7), (1, None, 7), (2, None, 3), (8, None, 1), (None, 5, 5), (2, 1, 1)]
)
def test_enough_are_in_flight_to_use_all_cores(
    threads: int | None, wanted: int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", {0: set(range(7))}.__getitem__)
    assert count_requests(threads, wanted) == count


def test_the_number_of_inputs_is_known_or_not() -> None:
    assert [count_inputs(each) for each in ([], [1, 2], iter([1, 2, 3]), (x for x in [1]))] == [0, 2, 3, None]


@pytest.mark.parametrize("number", [0, 1])
def test_a_foreign_error_gets_a_note_with_the_number_of_the_input(number: int) -> None:
    results: list[Any] = [[1]] * number + [ValueError("odd")]
    many = RunMany(each for each in results)
    for _ in range(number):
        next(many)
    with pytest.raises(ValueError, match="odd") as caught:
        next(many)
    assert caught.value.__notes__ == [f"while input {number} was run"]


def test_an_error_of_nnapi_is_copied_with_the_number_of_the_input() -> None:
    error = OpFailedError("no")
    many = RunMany(each for each in [error])
    with pytest.raises(OpFailedError, match="^input 0: no$"):
        next(many)
    assert error.args[0] == "no"


@pytest.mark.parametrize(
    ("type", "threads", "is_prepared"),
    [
        (DeviceTypeCode.DEVICE_OTHER, None, True),
        (DeviceTypeCode.DEVICE_ACCELERATOR, 2, True),
        (DeviceTypeCode.DEVICE_OTHER, 1, False),
        (DeviceTypeCode.DEVICE_CPU, None, False),
        (DeviceTypeCode.DEVICE_GPU, None, False),
    ],
)
def test_a_plan_is_prepared_for_one_thread_where_that_matters(
    type: DeviceTypeCode, threads: int | None, is_prepared: bool
) -> None:
    driver = Scripted(as_it_is, "chip")
    driver.info = driver.info._replace(type=type)
    chip = Device(driver)
    plan = compile(chain(), chip).plan.on_threads(threads)
    options = PrepareOptions(threads=1)
    found = prepare_single(ReadyPlan(plan, REFERENCE.driver.prepare(chain(), options)), [REFERENCE, chip], options)
    assert (found is not None) is is_prepared
    assert found is None or driver.options[-1] == options


def test_a_plan_that_cannot_be_prepared_again_runs_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    plan = compile(chain(), limited("chip")).plan
    ready = ReadyPlan(plan, REFERENCE.driver.prepare(chain(), PrepareOptions()))

    class Refusing(Scripted):
        def prepare(self, *_: object) -> Any:
            raise BadDataError("no memory for a second one")

    assert prepare_single(ready, [Device(Refusing(as_it_is, "chip"))], PrepareOptions(threads=1)) is None
    assert "runs in flight together have several threads each" in caplog.text
