"""The wrappers around a prepared model: fallback, and the queue of a device."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from nnapi import Builder, Device, PriorityCode, tensor
from nnapi.contract.driver import (
    DriverDiedError,
    Handle,
    LoopTimeoutError,
    OpenOptions,
    Outcome,
    Prepared,
    Request,
)
from nnapi.contract.handles import open_handle
from nnapi.errors import DeadObjectError, MissedDeadlineTransientError, OpFailedError, OutputInsufficientSizeError
from nnapi.model.operand import Array
from nnapi.runtime.device_queue import DeviceQueue
from nnapi.runtime.executors.output_check import OutputCheck
from nnapi.runtime.executors.wrappers import Fallback, OnDevice, execute
from nnapi.trace import Layer, Phase, Section, recording
from tests.runtime.device_cases import Scripted, as_it_is

X = np.array([1, 2], np.float32)
SHAPES = [X.shape]
SECTION = Section(Layer.DRIVER, Phase.EXECUTION, "the run")


BUILDER = Builder()
BUILDER.output(BUILDER.abs(BUILDER.input(tensor("float32", X.shape))))
MODEL = BUILDER.finish()


class Part:
    """A prepared model that gives its inputs back, or raises an error; it notes requests, threads and free slots."""

    def __init__(self, error: Exception | None = None, queue: DeviceQueue | None = None) -> None:
        self.error, self.queue = error, queue
        self.requests: list[Request] = []
        self.opened: list[OpenOptions] = []
        self.closed = 0
        self.free: list[int] = []
        self.threads: list[int] = []

    def execute(self, request: Request) -> Outcome:
        self.requests.append(request)
        self.threads.append(threading.get_ident())
        return Outcome(self.run([array for array in request.inputs if array is not None]))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        if self.queue is not None:
            self.free.append(len(self.queue._free))
        if self.error is not None:
            raise self.error
        return list(inputs)

    def open_handle(self, options: OpenOptions) -> Handle:
        self.opened.append(options)
        call = None if options.shapes is None else self.run
        return Handle(self.execute, self.open_handle, call, [X] if options.bind else None, self.close)

    def close(self) -> None:
        self.closed += 1


def test_a_failed_run_is_repeated_without_a_deadline() -> None:
    first, second, made = Part(OpFailedError("first")), Part(), list[Prepared]()
    fallback = Fallback("it", first, lambda: made.append(second) or second)
    for options in (OpenOptions(), OpenOptions(SHAPES, True, True)):
        handle = open_handle(fallback, options)
        assert handle.execute(Request([X], deadline=10**18, loop_timeout=7)).outputs[0] is X
    assert first.opened == [OpenOptions(), OpenOptions(SHAPES, True, True)]
    assert made == [second], "once"
    assert [(request.deadline, request.loop_timeout) for request in first.requests] == [(10**18, 7)] * 2
    assert [(request.deadline, request.loop_timeout) for request in second.requests] == [(None, 7)] * 2
    handle.close()
    assert (first.closed, second.closed) == (1, 0), "another handle may need the second one"


def test_without_a_second_one_the_error_is_final() -> None:
    handle = open_handle(Fallback("it", Part(OpFailedError("first")), lambda: None))
    with pytest.raises(OpFailedError, match="first"):
        handle.execute(Request([X]))


@pytest.mark.parametrize("error", [OutputInsufficientSizeError("too small"), LoopTimeoutError("too long")])
def test_errors_that_the_caller_must_handle_are_final(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        open_handle(Fallback("it", Part(error), Part)).execute(Request([X]))


def test_a_reopened_handle_falls_back_too_and_has_the_fast_path_of_the_first() -> None:
    first, second = Part(OpFailedError("first")), Part()
    handle = open_handle(Fallback("it", first, lambda: second)).reopen(OpenOptions(SHAPES, bind=True))
    assert handle.execute(Request([X])).outputs[0] is X
    assert len(second.requests) == 1
    assert (handle.call, handle.inputs) == (first.run, [X])


class Remote(Scripted):
    """A driver whose process may end."""

    is_remote = True


def on_device(part: Part, driver: type[Scripted] = Scripted, **more: object) -> OnDevice:
    found = Device(driver(as_it_is, "chip"), part.queue)
    check = OutputCheck("chip", MODEL)
    return OnDevice(found, part, check, PriorityCode.PRIORITY_LOW, SECTION, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("deadline", [None, 10**18])
def test_a_run_is_traced_while_a_trace_is_recorded(deadline: int | None) -> None:
    handle = open_handle(on_device(Part()))
    handle.execute(Request([X], deadline))
    with recording() as recorded:
        handle.execute(Request([X], deadline))
    assert [span.label.name for span in recorded.spans()].count("the run") == 1


def test_only_a_run_with_a_deadline_has_a_thread_of_its_own() -> None:
    part = Part()
    handle = open_handle(on_device(part))
    for deadline in (None, 10**18):
        handle.execute(Request([X], deadline))
    here = threading.get_ident()
    assert [thread == here for thread in part.threads] == [True, False]


@pytest.mark.parametrize("error", [None, OpFailedError("no"), RuntimeError("broken")])
def test_each_way_to_run_has_one_slot_and_gives_it_back(error: Exception | None) -> None:
    queue = DeviceQueue(2)
    part = Part(error, queue)
    handle = open_handle(on_device(part), OpenOptions(SHAPES))
    bound = handle.reopen(OpenOptions(SHAPES, bind=True))
    assert handle.call is not None
    assert bound.call is not None
    assert bound.inputs == [X]
    direct, call = handle.call, bound.call
    runs = [lambda: handle.execute(Request([X])).outputs, lambda: direct([X]), lambda: call([X])]
    for run in runs:
        if error is None:
            assert run()[0] is X
        else:
            with pytest.raises((OpFailedError, RuntimeError), match="no|broken"):
                run()
    assert part.free == [1, 1, 1]
    assert len(queue._free) == 2


def test_a_foreign_error_becomes_one_of_nnapi() -> None:
    with pytest.raises(OpFailedError, match="chip failed: RuntimeError: broken"):
        open_handle(on_device(Part(RuntimeError("broken")))).execute(Request([X]))
    with pytest.raises(OpFailedError, match="the plan failed: RuntimeError: broken"):
        execute(open_handle(Part(RuntimeError("broken"))), Request([X]))
    with pytest.raises(MissedDeadlineTransientError, match="late"):
        execute(open_handle(Part(MissedDeadlineTransientError("late"))), Request([X]))
    assert execute(open_handle(Part()), Request([X])).outputs[0] is X


@pytest.mark.parametrize("is_final", [True, False])
def test_nothing_runs_after_a_death_that_is_final(is_final: bool) -> None:
    """A fast path that was found before raises, too; none is asked for after it."""
    part, noted = Part(DriverDiedError("the process ended")), list[DriverDiedError]()
    prepared = on_device(part, Remote, note_death=lambda error: noted.append(error) or is_final)
    handle, session = (open_handle(prepared, OpenOptions(SHAPES, exclusive)) for exclusive in (False, True))
    assert handle.call is not None
    direct = handle.call
    with pytest.raises(DriverDiedError, match="the process ended"):
        handle.execute(Request([X]))
    assert noted == [part.error]
    part.error = None
    part.opened.clear()
    wanted = OpenOptions(SHAPES, True, True, True)
    later = [open_handle(prepared, wanted), session.reopen(wanted)]
    runs = [each.execute for each in (handle, session, *later)]
    if not is_final:
        assert part.opened == [wanted] * 2
        assert [run(Request([X])).outputs for run in runs] == [[X]] * 4
        assert direct([X]) == [X]
        return
    for run in (*runs, lambda request: direct(request.inputs)):
        with pytest.raises(DeadObjectError, match="the process ended, and it is not tried again"):
            run(Request([X]))
    assert [each.call for each in later] == [None] * 2
    assert part.opened == [OpenOptions()] * 2
    assert len(part.requests) == 1


def test_without_somebody_to_note_a_death_the_device_is_tried_again() -> None:
    part = Part(DriverDiedError("the process ended"))
    handle = open_handle(on_device(part))
    with pytest.raises(DriverDiedError):
        handle.execute(Request([X]))
    part.error = None
    assert handle.execute(Request([X])).outputs[0] is X
