"""Running: memory, sessions, threads, limits."""

import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import DeviceTypeCode, OperandCode, OperationCode, PreferenceCode
from nnapi.contract.driver import (
    Allocates,
    Driver,
    Handle,
    OpenOptions,
    Opens,
    Prepared,
    PrepareOptions,
    Request,
)
from nnapi.contract.handles import open_handle
from nnapi.drivers.litert.artifact import SerializedGraph
from nnapi.drivers.litert.interpreter import Instance, Program
from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError
from nnapi.model.operand import OperandType, tensor
from tests.drivers.xnnpack.engine_cases import Net, engine

SHAPES = [(2, 3), (2, 3)]
FLOATS, CODES = tensor("float32", (2, 3)), tensor("uint8", (2, 3), 0.5, 7)


def prepared(type: OperandType = FLOATS, **options: Any) -> Any:
    net = Net()
    x, y = net.input(type), net.input(type)
    model = net.finished(net.call(OperationCode.ADD, [x, y, *net.numbers(0)], type))
    return engine().driver.prepare(model, PrepareOptions(**options))


def floats(value: int) -> Any:
    return np.full((2, 3), value, np.float32)


def test_the_device_has_the_highest_feature_level() -> None:
    info = engine().driver.info
    assert (info.name, info.type, info.feature_level) == ("xnnpack-cpu", DeviceTypeCode.DEVICE_ACCELERATOR, 8)


def test_protocols() -> None:
    assert isinstance(engine().driver, Driver)
    assert isinstance(engine().driver, Allocates)
    assert isinstance(prepared(), Prepared)
    assert isinstance(prepared(), Opens)


def test_outputs_belong_to_the_caller() -> None:
    ready = prepared()
    (first,) = ready.execute(Request([floats(1), floats(2)])).outputs
    (second,) = ready.execute(Request([floats(5), floats(6)])).outputs
    assert (first == 3).all()
    assert (second == 11).all()
    assert first.flags.owndata


def test_unsigned_codes_go_in_and_out() -> None:
    given = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
    (sums,) = prepared(CODES).execute(Request([given, np.full((2, 3), 9, np.uint8)])).outputs
    assert sums.tolist() == np.minimum(given.astype(int) + 2, 255).tolist()


def test_arrays_need_not_be_contiguous() -> None:
    turned = np.arange(6, dtype=np.float32).reshape(3, 2).T
    (sums,) = prepared().execute(Request([turned, floats(0)])).outputs
    assert (sums == turned).all()


def open_session(ready: Any, **options: bool) -> Handle:
    return open_handle(ready, OpenOptions(SHAPES, exclusive=True, **options))


@pytest.mark.parametrize("borrow", [False, True])
def test_a_session_lends_its_memory_or_copies(borrow: bool) -> None:
    session = open_session(prepared(), borrow=borrow)
    assert session.call is not None
    runs = [session.call, lambda inputs: session.execute(Request(inputs)).outputs]
    for run in runs:
        (first,) = run([floats(1), floats(2)])
        assert first.flags.owndata is not borrow
        (second,) = run([floats(5), floats(6)])
        assert (first == (11 if borrow else 3)).all()
        assert (second == 11).all()


def test_a_session_binds_its_memory_until_it_is_closed() -> None:
    session = open_session(prepared(), bind=True)
    assert session.inputs is not None
    assert session.call is not None
    for value, given in enumerate(session.inputs):
        given[:] = value + 1
    assert (session.call(session.inputs)[0] == 3).all()
    session.close()
    with pytest.raises(OpFailedError, match="the session is closed"):
        session.reopen(OpenOptions(SHAPES, bind=True))


@pytest.mark.parametrize("type", [FLOATS, CODES])
def test_bound_memory_begins_with_zeros(type: OperandType) -> None:
    session = open_session(prepared(type))
    session.execute(Request([np.full((2, 3), value, type.dtype) for value in (5, 6)]))
    bound = session.reopen(OpenOptions(SHAPES, bind=True))
    assert bound.inputs is not None
    assert [array.tolist() for array in bound.inputs] == [[[0, 0, 0], [0, 0, 0]]] * 2
    other = session.reopen(OpenOptions([(2, 3), (3, 2)], bind=True))
    assert (other.inputs, other.call) == (None, None)


def test_without_a_session_nothing_is_lent() -> None:
    handle = open_handle(prepared(), OpenOptions(SHAPES, borrow=True, bind=True))
    assert handle.inputs is None
    assert handle.call is not None
    for outputs in (handle.call([floats(1), floats(2)]), handle.execute(Request([floats(1), floats(2)])).outputs):
        assert outputs[0].flags.owndata


def test_a_closed_session_runs_no_more_and_leaves_its_memory_to_the_next() -> None:
    ready = prepared()
    session = open_session(ready, borrow=True)
    (lent,) = session.execute(Request([floats(1), floats(2)])).outputs
    session.close()
    session.close()
    open_session(ready).execute(Request([floats(5), floats(6)]))
    assert (lent == 11).all()
    with pytest.raises(OpFailedError, match="the session is closed"):
        session.execute(Request([floats(1), floats(2)]))


def test_a_closed_model_runs_no_more() -> None:
    ready = prepared()
    ready.close()
    with pytest.raises(OpFailedError, match="is closed"):
        ready.execute(Request([floats(1), floats(2)]))


@pytest.mark.parametrize(("array", "said"), [(None, "omitted"), (np.zeros((3, 2), np.float32), r"of shape \[3, 2\]")])
def test_inputs_that_do_not_fit(array: Any, said: str) -> None:
    with pytest.raises(OpFailedError, match=f"an input is {said}"):
        prepared().execute(Request([array, floats(1)]))


def test_a_time_limit_that_has_passed() -> None:
    with pytest.raises(MissedDeadlinePersistentError):
        prepared().execute(Request([floats(1), floats(2)], deadline=time.monotonic_ns() - 1))


def test_concurrent_runs_do_not_mix() -> None:
    ready, wrong = prepared(), []

    def run(value: Any) -> None:
        for _ in range(200):
            (sums,) = ready.execute(Request([floats(value), floats(1)])).outputs
            if not (sums == value + 1).all():
                wrong.append(value)

    threads = [threading.Thread(target=run, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_pool_makes_as_many_instances_as_are_in_use() -> None:
    pool = prepared()._pool
    first, second = pool.take(), pool.take()
    assert first is not second
    pool.put(first)
    assert pool.take() is first


@pytest.mark.parametrize(
    ("driver", "options", "work", "threads"),
    [
        (XnnpackDriver(3), PrepareOptions(threads=2), 0, 3),
        (XnnpackDriver(), PrepareOptions(threads=2), 0, 2),
        (XnnpackDriver(), PrepareOptions(PreferenceCode.PREFER_LOW_POWER), 10**9, 1),
        (XnnpackDriver(), PrepareOptions(PreferenceCode.PREFER_SUSTAINED_SPEED), 10**9, 1),
        (XnnpackDriver(), PrepareOptions(), 10**9, len(os.sched_getaffinity(0))),
        (XnnpackDriver(), PrepareOptions(), 10**7, len(os.sched_getaffinity(0))),
        (XnnpackDriver(), PrepareOptions(), 10**7 - 1, 1),
    ],
)
def test_threads_follow_the_driver_then_the_caller_then_preference_and_work(
    driver: XnnpackDriver, options: PrepareOptions, work: int, threads: int
) -> None:
    assert driver._choose_threads(options, work) == threads


def test_dimensions_that_only_the_run_decides() -> None:
    net = Net()
    x = net.input(tensor("uint8", (0, 3), 0.5, 7))
    model = net.finished(net.call(OperationCode.RELU, [x], tensor("uint8", (0, 3), 0.5, 7)))
    ready = engine().driver.prepare(model, PrepareOptions())
    for rows in (1, 4, 2, 5, 6, 7, 1):
        codes = np.arange(3 * rows, dtype=np.uint8).reshape(rows, 3)
        (clamped,) = ready.execute(Request([codes])).outputs
        assert clamped.tolist() == np.maximum(codes, 7).tolist()
    with pytest.raises(OpFailedError, match="input is omitted, but needed"):
        ready.execute(Request([None]))
    ready.close()
    with pytest.raises(OpFailedError, match="is closed"):
        ready.execute(Request([codes]))


def test_only_the_message_for_a_new_delegate_is_hidden(capfd: pytest.CaptureFixture[str]) -> None:
    with hide_delegate_message():
        os.write(2, b"one\nINFO: Created TensorFlow Lite XNNPACK delegate for CPU.\ntwo\n")
    os.write(2, b"three\n")
    assert capfd.readouterr().err == "one\ntwo\nthree\n"


def test_nothing_is_hidden_in_a_process_without_stderr() -> None:
    code = "import os; os.close(0); os.close(2); from nnapi.drivers.litert import quiet\n"
    code += "with quiet.hide_delegate_message(): print('done')"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout == b"done\n"


def test_damaged_content_is_refused() -> None:
    with pytest.raises(OpFailedError, match="LiteRT refuses the graph"):
        Instance(Program(SerializedGraph(b"\x1c\0\0\0TFL3" + bytes(64), (), ((1,),), (), 0)), 1)


def test_outputs_of_other_dimensions_are_refused() -> None:
    compiled = prepared().compiled
    with pytest.raises(OpFailedError, match="but the model declares"):
        Instance(Program(compiled._replace(shapes=((3, 3),))), 1)


def matrices() -> Any:
    """The product of two that are computed."""
    net, left, right = Net(), tensor("float32", (1, 4, 8)), tensor("float32", (1, 8, 5))
    factors = [net.call(OperationCode.RELU, [net.input(type)], type) for type in (left, right)]
    flags = [net.constant(OperandType(OperandCode.BOOL), np.uint8(0)) for _ in range(2)]
    return net.finished(net.call(OperationCode.BATCH_MATMUL, [*factors, *flags], tensor("float32")))


def convolution(is_read_elsewhere: Any) -> Any:
    """With a filter that is computed, or an input that something else reads as well."""
    net, type = Net(), tensor("float32", (5, 3, 3, 8))
    image, filter, bias = (
        net.input(tensor("float32", (1, 4, 4, 8))),
        net.input(type),
        net.input(tensor("float32", (5,))),
    )
    other = net.call(OperationCode.RELU, [filter], type)
    inputs = [image, filter if is_read_elsewhere else other, bias, *net.numbers(1, 1, 1, 0)]
    return net.finished(net.call(OperationCode.CONV_2D, inputs, tensor("float32")), other)


@pytest.mark.parametrize(("model", "threads"), [(matrices(), 2), (convolution(False), 1), (convolution(True), 1)])
def test_built_in_kernels_that_sum_products_have_one_thread(model: Any, threads: int) -> None:
    instance = XnnpackDriver(2).prepare(model, PrepareOptions())._pool.take()  # type: ignore[union-attr]
    assert instance._engine.threads == threads
