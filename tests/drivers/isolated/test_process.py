"""The processes of drivers, and the thread that starts them."""

import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Device, compile
from nnapi.contract.driver import OpenOptions, PrepareOptions
from nnapi.contract.handles import open_handle
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.isolated import process as process_module
from nnapi.drivers.isolated.process import TIME, Background, Peer, Process, describe_end
from nnapi.drivers.isolated.protocol import send
from nnapi.errors import DeadObjectError, OpFailedError
from nnapi.locks import make_lock
from tests.drivers.isolated.isolated_cases import Misbehaving, model
from tests.waiting import count_descriptors

X = np.array([1, -2, 3, -4], np.float32)


def test_one_thread_starts_all_processes() -> None:
    def count() -> int:
        return sum(thread.name == "nnapi-drivers" for thread in threading.enumerate())

    background, before = Background(), count()
    assert len({background.call(threading.get_ident) for _ in range(3)}) == 1
    assert count() == before + 1
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "nnapi-drivers")


@pytest.mark.slow
def test_memory_that_preparing_frees_goes_back() -> None:
    def resident(pid: int | None) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * mmap.PAGESIZE

    driver = Isolated(Misbehaving("fragment", "prepare"))
    with Device(driver) as found:
        driver.verdicts(model())
        before = resident(driver.pid)
        compiled = compile(model(), found)
        assert resident(driver.pid) < before + (32 << 20)
        assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]


def test_outputs_are_the_caller_s_own_unless_a_burst_borrows_them() -> None:
    with Device(Isolated("nnapi-reference")) as found:
        prepared: Any = found.driver.prepare(model(), PrepareOptions())
        infer = open_handle(prepared, OpenOptions([X.shape], borrow=True)).call
        first = infer([X])[0]
        expected = first.copy()
        infer([X + 1])
        assert (first == expected).all()


# How a process ends


@pytest.mark.parametrize(
    ("status", "words", "by_itself"),
    [
        (0, "its process ended with status 0", True),
        (3, "its process ended with status 3", True),
        (-signal.SIGSEGV, "its process was ended by SIGSEGV", True),
        (-signal.SIGABRT, "its process was ended by SIGABRT", True),
        (-signal.SIGBUS, "its process was ended by SIGBUS", True),
        (-signal.SIGKILL, "its process was ended by SIGKILL", False),
        (-signal.SIGTERM, "its process was ended by SIGTERM", False),
        (-signal.SIGINT, "its process was ended by SIGINT", False),
        (-signal.SIGHUP, "its process was ended by SIGHUP", False),
        (-1000, "its process ended with status -1000", True),
    ],
)
def test_the_description_of_an_end(status: int, words: str, by_itself: bool) -> None:
    assert describe_end(status) == (words, by_itself)


class Child:
    """A process that ends when the test says so."""

    def __init__(self, status: int | None, is_stuck: bool = False) -> None:
        self.pid = os.getpid()
        self.returncode, self._is_stuck = status, is_stuck
        self.done: list[Any] = []

    def kill(self) -> None:
        self.done.append("kill")
        if not self._is_stuck:
            self.returncode = -9

    def wait(self, seconds: float) -> int | None:
        self.done.append(seconds)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("child", seconds)
        return self.returncode


def start(monkeypatch: pytest.MonkeyPatch, child: Child) -> Process:
    monkeypatch.setattr(process_module, "_start", lambda connection, output: child)
    return Process()


@pytest.mark.parametrize(
    ("child", "end", "done"),
    [
        (Child(None), ("its process was ended by SIGKILL", False), [0.5, "kill", 5.0]),
        (Child(None, is_stuck=True), ("its process was ended by SIGKILL", False), [0.5, "kill", 5.0]),
        (Child(0), ("its process ended with status 0", True), [0.5]),
        (Child(-11), ("its process was ended by SIGSEGV", True), [0.5]),
    ],
)
def test_a_process_that_has_ended_is_not_killed(
    monkeypatch: pytest.MonkeyPatch, child: Child, end: tuple[str, bool], done: list[Any]
) -> None:
    process = start(monkeypatch, child)
    assert process.end(0.5) == end
    assert child.done == done
    process.leave()
    assert child.returncode == 0, "the system ends it"
    process.close()


def test_a_process_closes_what_it_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    before = count_descriptors()
    process = start(monkeypatch, Child(None))
    assert process.pid == os.getpid()
    assert process.descriptor is not None
    assert count_descriptors() == before + 3, "the connection, the output, and the end of the process"
    assert process.read_last_words() == ""
    assert process._output is not None
    os.write(process._output, b"INFO: loaded\nERROR: out of luck\n")
    assert process.read_last_words() == "out of luck"
    for _ in range(2):
        process.close()
        assert count_descriptors() == before
    assert (process.read_last_words(), process.descriptor) == ("", None)


def test_a_system_that_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: socket.socket, output: int) -> Child:
        raise OSError(11, "no process left")

    before = count_descriptors()
    monkeypatch.setattr(process_module, "_start", fail)
    with pytest.raises(OpFailedError, match=r"^no process for a driver can be started: \[Errno 11\] no process left$"):
        Process()
    assert count_descriptors() == before


def test_the_environment_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It uses no other processes for devices, whatever a configuration file says, and writes no trace."""
    for name in ("NNAPI_TRACE", "NNAPI_ISOLATED", "NNAPI_FOREIGN", "NNAPI_DELEGATES", "NNAPI_CACHE_DIR"):
        monkeypatch.setenv(name, "set")
    found = process_module.make_environment()
    assert {name: value for name, value in found.items() if value == "set"} == {"NNAPI_CACHE_DIR": "set"}
    assert found["NNAPI_DELEGATES"] == ""
    assert found["PATH"] == os.environ["PATH"]


def test_the_command_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It inherits two descriptors, and SIGABRT blocked."""
    started: list[Any] = []

    def note(command: list[str], **options: Any) -> None:
        started.append((command, options, signal.pthread_sigmask(signal.SIG_BLOCK, [])))

    monkeypatch.setattr("nnapi.drivers.isolated.process.subprocess.Popen", note)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process_module._start(theirs, 99)
        ((command, options, mask),) = started
        number = str(theirs.fileno())
        assert command == [sys.executable, "-m", "nnapi.drivers.isolated.child", number, "99", str(os.getpid())]
        assert options["pass_fds"] == [theirs.fileno(), 99]
        assert (options["stdin"], options["close_fds"]) == (subprocess.DEVNULL, True)
        assert mask == before | {signal.SIGABRT}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_an_error_on_the_thread_is_raised_here() -> None:
    background = Background()
    with pytest.raises(ZeroDivisionError):
        background.call(lambda: 1 // 0)
    assert background.call(lambda: 5) == 5


def test_an_exit_and_a_fork_leave_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    class Connected:
        def __init__(self, is_alive: bool) -> None:
            self.is_alive, self.done = is_alive, list[str]()

        def forget(self) -> None:
            self.done.append("forget")

        def leave(self) -> None:
            self.done.append("leave")

    alive, ended = Connected(True), Connected(False)
    monkeypatch.setattr(process_module, "_connections", {alive, ended})
    process_module._forget_all()
    process_module._leave_all()
    assert (alive.done, ended.done) == (["forget", "leave"], ["leave"])


# A worker of a service


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[tuple[Peer, socket.socket]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.fspath(tmp_path / "socket"))
        listener.listen()
        made = Peer(os.fspath(tmp_path / "socket"), None)
        theirs, _ = listener.accept()
    with theirs:
        yield made, theirs
    made.close()


def test_a_peer_is_known_by_its_greeting(peer: tuple[Peer, socket.socket]) -> None:
    found, theirs = peer
    assert (found.pid, found.descriptor, found.read_last_words()) == (0, None, "")
    found.leave()
    assert found.connection.fileno() >= 0
    found.close()
    assert found.connection.fileno() == -1
    assert theirs.recv(1) == b""


@pytest.mark.parametrize(("patience", "limit"), [(2.5, (2, 500_000)), (0.5, (0, 500_000)), (None, (0, 0))])
def test_patience_holds_for_connecting(tmp_path: Path, patience: float | None, limit: tuple[int, int]) -> None:
    """In seconds and microseconds; the system waits for ever where both are 0."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.fspath(tmp_path / "socket"))
        listener.listen()
        found = Peer(os.fspath(tmp_path / "socket"), patience)
        assert read_limit(found) == limit
        found.close()


def test_no_patience_at_all(tmp_path: Path) -> None:
    """One tick of the system's clock, as a limit of 0 would be none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.fspath(tmp_path / "socket"))
        listener.listen()
        found = Peer(os.fspath(tmp_path / "socket"), 0.0)
        assert (0, 0) < read_limit(found) < (0, 20_000)
        found.close()


def read_limit(found: Peer) -> tuple[int, ...]:
    return TIME.unpack(found.connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, TIME.size))


@pytest.mark.parametrize(
    ("told", "end"),
    [
        ({"end": ["it hung", True]}, ("it hung", True)),
        ({"end": ["it hung", 0], "error": 5}, ("it hung", False)),
        ({"end": ["it hung"]}, ("the service has ended the connection", False)),
        ({"end": 5}, ("the service has ended the connection", False)),
        ({"other": 5}, ("the service has ended the connection", False)),
        (None, ("the service has ended the connection", False)),
    ],
)
def test_the_end_of_a_worker(peer: tuple[Peer, socket.socket], told: Any, end: tuple[str, bool]) -> None:
    found, theirs = peer
    if told is not None:
        send(theirs, told)
    assert found.end() == end
    assert theirs.recv(1) == b"", "it is disconnected"
    found.close()
    assert found.end() == end, "also afterwards"


def test_noise_tells_no_end(peer: tuple[Peer, socket.socket]) -> None:
    found, theirs = peer
    theirs.send(b"noise")
    assert found.end() == ("the service has ended the connection", False)


def test_the_first_end_holds(peer: tuple[Peer, socket.socket]) -> None:
    found, theirs = peer
    for words in ("first", "second"):
        send(theirs, {"end": [words, True]})
        found._read_end(60)
        assert found._end == ("first", True)
    assert found.end() == ("first", True)


@pytest.mark.parametrize("patience", [1.5, None])
def test_nobody_serves(tmp_path: Path, patience: float | None) -> None:
    before = count_descriptors()
    with pytest.raises(DeadObjectError, match="^no service answers at .*/nowhere: No such file or directory$"):
        Peer(os.fspath(tmp_path / "nowhere"), patience)
    assert count_descriptors() == before


def test_all_threads_learn_how_a_worker_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one of them gets the service's last message."""
    peer, messages, told = Peer.__new__(Peer), [("its process was ended by SIGSEGV", True)], list[object]()
    peer.connection, other = socket.socketpair()
    peer._end, peer._lock = None, make_lock()

    def read(self: Peer, seconds: float) -> None:
        found = messages.pop() if messages else None
        time.sleep(0.05 if found else 0)
        self._end = self._end or found

    monkeypatch.setattr(Peer, "_read_end", read)
    threads = [threading.Thread(target=lambda: told.append(peer.end())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [("its process was ended by SIGSEGV", True)] * 3
    peer.close()
    other.close()


def test_the_process_id_can_be_read_while_another_thread_connects() -> None:
    isolated = Isolated("nnapi-reference")

    class Connecting:
        @property
        def is_alive(self) -> bool:
            isolated._connections[len(isolated._connections)] = self  # type: ignore[assignment]
            return False

    isolated._connections[0] = Connecting()  # type: ignore[assignment]
    assert isolated.pid is None
