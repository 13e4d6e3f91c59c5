"""A driver in a process of its own is a driver like the one inside: the same answers, by one process for everybody."""

import gc
import mmap
import os
import pickle
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Execution, Memory, Model, compile, tensor
from nnapi.contract.driver import Allocates, Caches, Driver, OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.faulty import Faulty
from nnapi.drivers.isolated import Isolated
from nnapi.errors import BadDataError, DeadObjectError, MissedDeadlinePersistentError, NnapiError, OpFailedError
from nnapi.model.memory import mappings
from nnapi.testing.conformance import run
from nnapi.testing.corpus import Corpus
from nnapi.testing.suite.result import Status
from tests.drivers.isolated import isolated_cases
from tests.drivers.isolated.isolated_cases import (
    Changing,
    Misbehaving,
    Unimportable,
    is_running,
    kill,
    model,
    reference,
)
from tests.waiting import comes_true, count_descriptors

X = np.array([1, -2, 3, -4], np.float32)


@pytest.fixture(scope="module")
def isolated() -> Iterator[Isolated]:
    driver = Isolated("nnapi-reference")
    yield driver
    driver.close()


@pytest.fixture
def own() -> Iterator[Isolated]:
    """One with a process for this test alone."""
    driver = Isolated("nnapi-reference")
    yield driver
    driver.close()


def test_it_is_a_driver_like_the_one_inside(isolated: Isolated) -> None:
    assert isinstance(isolated, Driver)
    assert isinstance(isolated, Caches)
    assert isinstance(isolated, Allocates)
    inner = reference()
    assert isolated.info == inner.info
    assert isolated.capabilities() == inner.capabilities()
    assert list(isolated.verdicts(model("abs", "neg"))) == list(inner.verdicts(model("abs", "neg")))


def test_runs_and_bursts(isolated: Isolated) -> None:
    compiled = compile(model(), Device(isolated))
    assert compiled.need_active().handle.call is not None
    for _ in range(3):
        assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]
    with compiled.burst() as burst, compiled.burst(borrow=True) as borrowing:
        for _ in range(3):
            assert burst.run(-X)[0].tolist() == [1, 2, 3, 4]
            assert borrowing.run(X)[0].tolist() == [1, 2, 3, 4]
        first, second = burst.run(X)[0], burst.run(X + 4)[0]
        assert first.tolist() == [1, 2, 3, 4], "a result is the caller's"
        assert second.tolist() == [5, 2, 7, 0]


def test_a_session_has_a_channel_of_its_own(isolated: Isolated) -> None:
    made = isolated.prepare(model(), PrepareOptions())
    session = open_handle(made, OpenOptions(exclusive=True))
    assert session.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
    session.close()
    assert made.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
    with pytest.raises(OpFailedError, match="closed"):
        session.execute(Request([X]))


def threads_of(driver: Isolated) -> int:
    return len(os.listdir(f"/proc/{driver.pid}/task"))


def test_bursts_that_nobody_closes_leave_nothing(own: Isolated) -> None:
    """Neither descriptors here nor threads there, as one that is gone gives its channel back."""
    compiled = compile(model(), Device(own))
    compiled.burst().run(X)
    gc.collect()
    before, threads = count_descriptors(), threads_of(own)
    for _ in range(10):
        assert compiled.burst().run(X)[0].tolist() == [1, 2, 3, 4]
        gc.collect()
    assert comes_true(lambda: count_descriptors() <= before and threads_of(own) <= threads)


def test_a_process_that_has_ended_leaves_nothing(own: Isolated) -> None:
    """Though a model and a burst that it knew are still there."""
    compiled = compile(model(), Device(own))
    burst = compiled.burst()
    burst.run(X)
    before, first = count_descriptors(), weakref.ref(own._connections[0])

    def is_told() -> bool:
        try:
            burst.run(X)
        except DeadObjectError:
            return True
        return False

    for _ in range(3):
        kill(own.pid)
        assert comes_true(is_told)
        assert burst.run(X)[0].tolist() == [1, 2, 3, 4]
    assert comes_true(lambda: gc.collect() >= 0 and first() is None)
    assert comes_true(lambda: count_descriptors() <= before)
    burst.close()


def test_it_starts_when_it_is_needed_and_ends_when_it_is_closed() -> None:
    driver = Isolated(Misbehaving("abort", "never"))
    device = Device(driver)
    assert device.name == "misbehaving"
    assert driver.pid is None, "it is known here who it is"
    first = compile(model(), device)
    pid = driver.pid
    assert pid is not None
    assert pid != os.getpid()
    compile(model("neg"), device)
    assert driver.pid == pid, "one process for all"
    device.close()
    assert comes_true(lambda: not is_running(pid))
    with pytest.raises(DeadObjectError, match="it was closed"):
        raise driver_error(first)
    device.wait()
    assert driver.pid not in (None, pid)
    assert first.run(X)[0].tolist() == [1, 2, 3, 4], "made ready again"
    device.close()


def driver_error(compiled: Compilation) -> NnapiError:
    """Return the reason of the end of a compilation's connection."""
    ready = compiled.need_active().ready
    inner: Any = ready.partitions[0].prepared
    error: NnapiError = inner._remote.connection.note_death()
    return error


def test_sizes_that_only_a_run_knows(isolated: Isolated) -> None:
    b = Builder("open")
    x = b.input(tensor("float32", (0,)))
    b.output(b.concatenation([x, x, x], 0))
    compiled = compile(b.finish(), Device(isolated))
    for size in (1, 50_000, 7, 0x10000):
        given = np.arange(size, dtype=np.float32)
        assert np.array_equal(compiled.run(given)[0], np.tile(given, 3))


def test_deadlines(isolated: Isolated) -> None:
    made = isolated.prepare(model(), PrepareOptions(deadline=2**62))
    assert made.execute(Request([X], deadline=2**62)).outputs[0].tolist() == [1, 2, 3, 4]
    with pytest.raises(MissedDeadlinePersistentError):
        made.execute(Request([X], deadline=1))


def test_what_the_driver_raises(isolated: Isolated) -> None:
    b = Builder("gather")
    x, indices = b.input(tensor("float32", (4,))), b.input(tensor("int32", (1,)))
    b.output(b.gather(x, 0, indices))
    finished = b.finish()
    with pytest.raises(NnapiError) as here:
        compile(finished, "nnapi-reference").run(X, np.array([9], np.int32))
    with pytest.raises(OpFailedError) as there:
        compile(finished, Device(isolated)).run(X, np.array([9], np.int32))
    assert str(there.value) == str(here.value)


def test_a_mistake_of_the_driver() -> None:
    with pytest.raises(OpFailedError, match="misbehaving failed: ZeroDivisionError"):
        compile(model(), Device(Isolated(Misbehaving("raise", "prepare"))))


def test_memories_and_a_cache(tmp_path: Path) -> None:
    device = Device(Isolated(Misbehaving("abort", "never")))
    with device:
        for _ in range(2):
            compiled = compile(model(), device, cache=tmp_path)
            execution = Execution(compiled)
            out = np.zeros(4, np.float32)
            execution.set_input_from_memory(0, Memory.from_array(X), 0, 16)
            execution.set_output(0, out)
            execution.start_compute_with_dependencies([]).wait()
            assert out.tolist() == [1, 2, 3, 4]
            assert len(list(tmp_path.iterdir())) == 1


def test_constants_of_a_file_are_not_copied(tmp_path: Path, own: Isolated) -> None:
    file = tmp_path / "constants"
    file.write_bytes(np.arange(1 << 20, dtype=np.float32).tobytes())
    memory = Memory.from_file(file)
    b = Builder("constants")
    x = b.input(tensor("float32", (1 << 20,)))
    constant = b.constant(memory.view().view(np.float32), tensor("float32", (1 << 20,)))
    b.output(b.add(x, constant))
    finished = b.finish()
    assert mappings([finished.operands[constant.index].value])
    compiled = compile(finished, Device(own))
    assert str(file) in Path(f"/proc/{own.pid}/maps").read_text()
    copied = re.findall(r"(\w+)-(\w+) .*nnapi-constants", Path(f"/proc/{own.pid}/maps").read_text())
    assert sum(int(end, 16) - int(begin, 16) for begin, end in copied) <= mmap.PAGESIZE, "but the small ones"
    assert np.array_equal(compiled.run(np.ones(1 << 20, np.float32))[0], np.arange(1 << 20) + np.float32(1))


def test_what_nobody_needs_is_given_back(own: Isolated) -> None:
    device = Device(own)

    def turn() -> None:
        compiled = compile(model(size=1000), device)
        with compiled.burst() as burst:
            burst.run(np.ones(1000, np.float32))
        compiled.run(np.ones(1000, np.float32))

    def held() -> tuple[int, int, int]:
        maps = [Path(f"/proc/{pid}/maps").read_text().count("nnapi-arena") for pid in (os.getpid(), own.pid)]
        descriptors = len(os.listdir(f"/proc/{own.pid}/fd")) + len(os.listdir("/proc/self/fd"))
        return maps[0], maps[1], descriptors

    turn()
    gc.collect()
    assert comes_true(lambda: held()[1] == 0), held()
    before = held()
    for _ in range(10):
        turn()
    gc.collect()
    assert comes_true(lambda: all(now <= then for now, then in zip(held(), before, strict=True))), (before, held())


def test_threads_share_it(isolated: Isolated) -> None:
    compiled = compile(model(size=1000), Device(isolated))
    right: list[bool] = []

    def work(number: int) -> None:
        given = np.full(1000, -number, np.float32)
        right.extend((compiled.run(given)[0] == number).all() for _ in range(100))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 800
    assert all(right)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # of os.fork
def test_a_forked_process_has_one_of_its_own(own: Isolated) -> None:
    compiled = compile(model(), Device(own))
    pid = os.fork()
    if not pid:
        try:
            fine = compiled.run(X)[0].tolist() == [1, 2, 3, 4] and compiled.run(-X)[0].tolist() == [1, 2, 3, 4]
        except BaseException:
            fine = False
        own.close()
        os._exit(0 if fine else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert compiled.run(X)[0].tolist() == [1, 2, 3, 4], "the first one is untouched"


def test_a_burst_s_memory_is_the_arena(own: Isolated) -> None:
    with compile(model(), Device(own)).burst() as burst:
        (given,), run = burst.bind(X.shape)
        assert given.tolist() == [0, 0, 0, 0]
        for sign in (1, -1):
            given[...] = sign * X
            assert run()[0].tolist() == [1, 2, 3, 4]
        assert burst.bind(X.shape).inputs[0].ctypes.data == given.ctypes.data, "nothing lies between"
        kill(own.pid)
        given[...] = 2 * X
        with pytest.raises(DeadObjectError):
            run()
        assert run()[0].tolist() == [2, 4, 6, 8], "what another process gives"
        assert given.tolist() == (2 * X).tolist()


@pytest.mark.parametrize("signal", ["kill", "terminate", "close"])
def test_it_ends_with_the_application(signal: str) -> None:
    command = [sys.executable, isolated_cases.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as application:
        assert application.stdin is not None
        assert application.stdout is not None
        pid = int(application.stdout.readline())
        assert is_running(pid)
        if signal == "close":
            application.stdin.close()
        else:
            getattr(application, signal)()
        application.wait()
    assert comes_true(lambda: not is_running(pid))


def test_what_cannot_be_sent() -> None:
    with pytest.raises(BadDataError, match="cannot be sent to another process"):
        Isolated(Faulty(reference(), None))


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        ("no-such-device", "no driver of no-such-device is installed"),
        ("nnapi.drivers.nowhere:driver", "No module named"),
        (Unimportable, "no engine here"),
    ],
)
def test_a_driver_that_cannot_be_made(driver: object, message: str) -> None:
    made = Isolated(driver)
    with pytest.raises(NnapiError, match=message):
        made.wait()
    assert made.pid is None


def test_a_process_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(OpFailedError, match="no process for a driver can be started"):
        Isolated("nnapi-reference").wait()


def test_a_driver_that_has_become_another_is_invalid(tmp_path: Path) -> None:
    version = tmp_path / "version"
    version.write_text("1")
    driver = Isolated(pickle.loads(pickle.dumps(Changing(str(version)))), known=reference_like(version))
    driver.wait()
    kill(driver.pid)
    assert comes_true(lambda: driver.pid is None or not is_running(driver.pid))
    version.write_text("2")
    compiled: Model = model()
    with pytest.raises(DeadObjectError):
        driver.prepare(compiled, PrepareOptions())
    for _ in range(2):
        with pytest.raises(DeadObjectError, match="changing 1 has become changing 2"):
            driver.prepare(compiled, PrepareOptions())
    assert driver.pid is None


def reference_like(version: Path) -> Driver:
    """The driver's identity when the application asked."""
    copy = version.with_name("copy")
    copy.write_text(version.read_text())
    return Changing(str(copy))


@pytest.mark.slow
def test_public_examples(isolated: Isolated, corpus: Corpus) -> None:
    """A few of them in all ways; the others are run with the conformance corpus."""
    chosen = set(corpus.entries[::400])
    results = list(run(corpus, [Device(isolated)], filter=chosen.__contains__, strict=True))
    assert [(result.example, result.reason) for result in results if result.status is Status.FAILED] == []
    assert sum(result.status is Status.PASSED for result in results) > len(chosen)
