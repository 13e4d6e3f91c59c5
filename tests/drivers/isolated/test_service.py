"""A service for several applications, each with a worker process: what one does to its own, no other notices."""

import os
import socket
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Device, PriorityCode, compile
from nnapi.contract.driver import CacheEntry, PrepareOptions, Request, Verdict
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.process_limits import NICE
from nnapi.drivers.isolated.service import Service
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    OpFailedError,
    UnavailableDeviceError,
)
from tests.discovery import find_devices_anew
from tests.drivers.isolated.isolated_cases import Misbehaving, is_running, kill, model, reference
from tests.drivers.isolated.service_cases import (
    application,
    counted,
    pid_of,
    serving,
    workers,
)
from tests.waiting import comes_true

X = np.array([1, -2, 3, -4], np.float32)
Y = [1, 2, 3, 4]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A service of the reference."""
    with serving(tmp_path / "socket"):
        yield tmp_path / "socket"


# What applications have of it


@pytest.mark.slow
def test_each_application_has_a_worker(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path) as process:
        before = counted(process.pid)
        with application(path) as first, application(path) as second:
            one, other = compile(model(), first), compile(model("neg"), second)
            for _ in range(3):
                assert one.run(X)[0].tolist() == Y
                with other.burst() as burst:
                    assert burst.run(X)[0].tolist() == [-1, 2, -3, 4]
            assert sorted(map(pid_of, (first, second))) == sorted(workers(process.pid))
            first.close()
            assert comes_true(lambda: workers(process.pid) == [pid_of(second)]), "it ends with its application"
            assert other.run(X)[0].tolist() == [-1, 2, -3, 4], "the others go on"
            assert one.run(X)[0].tolist() == Y, "an application that comes again is let in"
        assert comes_true(lambda: counted(process.pid) == before)


@pytest.mark.slow
def test_a_worker_s_end_is_an_error_once_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, harm="fault", phase="execute"), application(path) as honest:
        compiled = compile(model("neg"), honest)
        with application(path, "misbehaving") as hostile:
            crashing = compile(model(), hostile)
            with pytest.raises(DeadObjectError, match="its process was ended by SIGSEGV"):
                crashing.need_active().handle.execute(Request([X]))
        assert compiled.run(X)[0].tolist() == [-1, 2, -3, 4]
        killed = pid_of(honest)
        kill(killed)
        with pytest.raises(DeadObjectError, match="its process was ended by SIGKILL"):
            compiled.run(X)
        assert compiled.run(X)[0].tolist() == [-1, 2, -3, 4]
        assert pid_of(honest) != killed


def test_engines_that_start_slowly_are_loaded_before_the_first_application(tmp_path: Path) -> None:
    """So that workers share their memory."""
    slow, quick = Asked("slow"), Asked("quick")
    slow.starts_slowly = True
    service = Service(tmp_path / "socket", {"slow": slow, "quick": quick})
    service.close()
    service.run()
    assert (slow.times, quick.times) == (1, 0)


class Asked(Misbehaving):
    """The reference, which counts how often it is asked for verdicts."""

    starts_slowly = False

    def __init__(self, harm: str) -> None:
        super().__init__(harm, "never")
        self.times = 0

    def verdicts(self, model: nnapi.Model) -> Sequence[Verdict]:
        self.times += 1
        raise OpFailedError("a driver that fails is served nevertheless")


@pytest.mark.slow
def test_priorities_are_the_system_s(path: Path) -> None:
    """So that a run of low priority gives way in the midst of it; preparing engines' threads takes part."""
    with application(path) as device:
        for priority in PriorityCode:
            assert compile(model(), device, priority=priority).run(X)[0].tolist() == Y
        driver = device.driver
        assert isinstance(driver, Isolated)
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for priority in PriorityCode:
            pid = driver.connect(priority).pid
            assert pid is not None
            nice = {os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in os.listdir(f"/proc/{pid}/task")}
            assert nice == {min(own + NICE[priority], 19)}
        pids = [driver.connect(priority).pid for priority in PriorityCode]
        assert len(set(pids)) == len(PriorityCode)
    assert comes_true(lambda: not any(map(is_running, pids))), "all of them end with the device"


@pytest.mark.slow
def test_devices_of_a_service_by_the_environment(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    find_devices_anew(monkeypatch)
    monkeypatch.setenv("NNAPI_SERVICE", str(path))
    monkeypatch.setenv("NNAPI_ISOLATED", "nnapi-reference")
    with nnapi.device("nnapi-reference") as found:
        assert compile(model(), found).run(X)[0].tolist() == Y
        assert pid_of(found) not in (0, os.getpid())


@pytest.mark.slow
def test_a_cached_model_is_restored(tmp_path: Path) -> None:
    """Where the service wrote the entry itself, and for the same model; else it is prepared anew."""
    path, cache = tmp_path / "socket", tmp_path / "cache"
    with serving(path, harm="abort", phase="never"), application(path, "misbehaving") as device:
        driver = device.driver
        assert isinstance(driver, Isolated)
        entry = driver.cache_entry(driver.prepare(model("neg"), PrepareOptions()))
        assert entry is not None
        assert entry.startswith(b"kept")
        wanted = PrepareOptions()
        restored = driver.restore(model("neg"), CacheEntry(entry), wanted)
        assert restored.execute(Request([X])).outputs[0].tolist() == [-1, 2, -3, 4]
        for forged in (b"kept", b"kept" + bytes(32), entry[:-1] + bytes([entry[-1] ^ 1]), b"x" + entry[1:]):
            with pytest.raises(BadDataError, match="not written by this service for this model"):
                driver.restore(model("neg"), CacheEntry(forged), wanted)
        with pytest.raises(BadDataError, match="not written by this service for this model"):
            driver.restore(model("abs"), CacheEntry(entry), wanted)
        for _ in range(2):
            assert compile(model("neg"), device, cache=cache).run(X)[0].tolist() == [-1, 2, -3, 4]
    with serving(path, harm="abort", phase="never"), application(path, "misbehaving") as device:
        compiled = compile(model("neg"), device, cache=cache)
        assert compiled.run(X)[0].tolist() == [-1, 2, -3, 4], "another service's entry is written anew"


# The socket


@pytest.mark.slow
def test_permissions_are_those_of_the_file(path: Path) -> None:
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.slow
def test_who_is_not_there(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableDeviceError, match="other is not served; there are: nnapi-reference"):
        Device(Isolated("other", service=path))
    with pytest.raises(DeadObjectError, match="no service answers at .*nowhere: No such file"):
        Device(Isolated("other", service=tmp_path / "nowhere"))
    with pytest.raises(BadDataError, match="a service knows drivers by their names"):
        Isolated(reference(), service=path)


def test_a_service_that_lets_nobody_in(tmp_path: Path) -> None:
    """Patience holds for connecting too, and a second service says that the first is there."""
    where = tmp_path / "stuck"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stuck:
        stuck.bind(os.fspath(where))
        stuck.listen(0)
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        waiting.connect(os.fspath(where))
        with pytest.raises(DeadObjectError, match=r"it let nobody in for 0\.1 s"):
            Isolated("nnapi-reference", service=where, patience=0.1).wait()
        with pytest.raises(OSError, match="in use"):
            Service(where, {})
        waiting.close()
    assert where.exists()


@pytest.mark.slow
def test_only_sockets_are_replaced(path: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="in use"):
        Service(path, {})
    file = tmp_path / "file"
    file.write_text("kept")
    with pytest.raises(OSError, match="the file exists and is not a socket"):
        Service(file, {})
    assert file.read_text() == "kept"
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as abandoned:
        abandoned.bind(os.fspath(left))
    again = Service(left, {})
    again.close()
    again.run()
    assert not left.exists()


def test_what_has_taken_the_socket_s_name_stays(tmp_path: Path) -> None:
    service = Service(tmp_path / "socket", {})
    (tmp_path / "socket").unlink()
    (tmp_path / "socket").write_text("another's")
    service.close()
    service.run()
    assert (tmp_path / "socket").read_text() == "another's"


def test_limits_that_let_nothing_run(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="models is 0, must be above 0"):
        Service(tmp_path / "socket", {}, allowance=Allowance(models=0))


@pytest.mark.slow
def test_the_end_of_a_service_is_an_error_once(tmp_path: Path) -> None:
    where = tmp_path / "socket"
    with serving(where) as process:
        found = application(where)
        compiled = compile(model(), found)
        pid = pid_of(found)
        process.kill()
        process.wait()
        assert comes_true(lambda: not is_running(pid)), "its workers end with it"
        with pytest.raises(DeadObjectError):
            compiled.run(X)
        with pytest.raises(DeadObjectError, match="no service answers"):
            compiled.run(X)
    with serving(where):
        assert compiled.run(X)[0].tolist() == Y
        found.close()
