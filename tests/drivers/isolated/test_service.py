"""One process that holds devices for several applications, who cannot harm it or one another."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import Builder, Device, Model, PriorityCode, compile, tensor
from nnapi.drivers.isolated import Isolated, protocol, service
from nnapi.drivers.isolated.places import Place
from nnapi.drivers.isolated.service import Service
from nnapi.errors import BadDataError, DeadObjectError, UnavailableDeviceError
from nnapi.runtime.executors.queue import Turnstile
from tests.drivers.isolated.isolated_cases import model, reference
from tests.waiting import comes_true

X = np.array([1, -2, 3, -4], np.float32)


class Counting:
    """The reference, which tells in what order it ran, and waits for leave."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.leave = threading.Event()
        self.leave.set()
        self.closed = 0
        self.begun = 0
        self.turnstile = Turnstile(1)
        self.inner = reference()
        self.info = self.inner.info

    def capabilities(self) -> Any:
        return self.inner.capabilities()

    def verdicts(self, model: Model) -> Any:
        return self.inner.verdicts(model)

    def prepare(self, model: Model, options: Any) -> Any:
        inner, driver = self.inner.prepare(model, options), self

        class Prepared:
            def execute(self, request: Any) -> Any:
                driver.begun += 1
                driver.leave.wait()
                driver.ran.append(model.name)
                return inner.execute(request)

            def close(self) -> None:
                driver.closed += 1
                inner.close()

        return Prepared()


@pytest.fixture
def driver() -> Counting:
    return Counting()


@pytest.fixture
def path(tmp_path: Path, driver: Counting) -> Iterator[Path]:
    """A service in this process with room for one run at a time."""
    made = Service(tmp_path / "socket", {"nnapi-reference": Place(driver, driver.turnstile.turn)}, 0o600)
    thread = threading.Thread(target=made.run)
    thread.start()
    yield tmp_path / "socket"
    made.close()
    thread.join(120)
    assert not thread.is_alive()


def application(path: Path) -> Device:
    return Device(Isolated("nnapi-reference", service=path))


def test_several_applications(path: Path, driver: Counting) -> None:
    with application(path) as first, application(path) as second:
        one, other = compile(model(), first), compile(model("neg"), second)
        for _ in range(3):
            assert one.run(X)[0].tolist() == [1, 2, 3, 4]
            with other.burst() as burst:
                assert burst.run(X)[0].tolist() == [-1, 2, -3, 4]
        assert first.driver.pid == os.getpid()  # type: ignore[attr-defined]
        first.close()
        assert comes_true(lambda: driver.closed == 1), "what nobody needs is given back"
        assert other.run(X)[0].tolist() == [-1, 2, -3, 4], "the others go on"
        assert one.run(X)[0].tolist() == [1, 2, 3, 4], "and one who comes again is let in"


def test_permissions_are_those_of_the_file(path: Path) -> None:
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_priorities_hold_between_applications(path: Path, driver: Counting) -> None:
    """While a run is under way those of others wait: then that of the highest priority is next."""
    order = [PriorityCode.PRIORITY_LOW, PriorityCode.PRIORITY_MEDIUM, PriorityCode.PRIORITY_HIGH]
    devices = [application(path) for _ in range(4)]
    first = compile(model(name="first"), devices[0])
    waiting = [
        compile(model(name=priority.name), device, priority=priority)
        for priority, device in zip(order, devices[1:], strict=True)
    ]
    driver.ran.clear()
    driver.leave.clear()
    driver.begun = 0

    def is_waiting(number: int) -> bool:
        return len(driver.turnstile._waiting) == number

    threads = [threading.Thread(target=compiled.run, args=(X,), daemon=True) for compiled in [first, *waiting]]
    for number, thread in enumerate(threads):
        thread.start()
        assert comes_true(lambda: driver.begun == 1)
        assert comes_true(partial(is_waiting, number))
    driver.leave.set()
    for thread in threads:
        thread.join()
    assert driver.ran == ["first", "PRIORITY_HIGH", "PRIORITY_MEDIUM", "PRIORITY_LOW"]
    for device in devices:
        device.close()


def test_constants_that_could_be_cut_off_are_read(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "constants"
    file.write_bytes(np.ones(4096, np.float32).tobytes())
    b = Builder("constants")
    x = b.input(tensor("float32", (4096,)))
    memory = nnapi.Memory.from_file(file)
    b.output(b.add(x, b.constant(memory.view().view(np.float32), tensor("float32", (4096,)))))
    with application(path) as found:
        compiled = compile(b.finish(), found)
        assert (compiled.run(np.ones(4096, np.float32))[0] == 2).all()


def test_a_stranger_can_do_no_harm(path: Path) -> None:
    """Neither by noise, nor by what only an application's own process would do."""
    for packet in (b"noise", protocol.HEADER.pack(protocol.MAGIC, protocol.VERSION, 0, 2) + b"{}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect(os.fspath(path))
            stranger.send(packet)
            assert stranger.recv(100) == b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect(os.fspath(path))
        protocol.send(stranger, {"kind": "hello", "device": "", "entry": "", "pickle": "80049531"})
        answer = protocol.receive(stranger)
        assert answer is not None
        assert "is not served" in answer.body["error"][1]
    with application(path) as found:
        assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]


def test_who_is_not_there(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableDeviceError, match="other is not served; there are: nnapi-reference"):
        Device(Isolated("other", service=path))
    with pytest.raises(DeadObjectError, match="nobody serves devices at .*nowhere: No such file"):
        Device(Isolated("other", service=tmp_path / "nowhere"))
    with pytest.raises(BadDataError, match="a service knows drivers by their names"):
        Isolated(reference(), service=path)


def test_a_socket_in_use_and_one_that_was_left(path: Path, tmp_path: Path, driver: Counting) -> None:
    with pytest.raises(OSError, match="in use"):
        Service(path, {}, 0o600)
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as abandoned:
        abandoned.bind(os.fspath(left))
    again = service.Service(left, {}, 0o600)
    again.close()
    again.run()
    assert not left.exists()


def test_the_end_of_a_service_is_an_error_once(tmp_path: Path, driver: Counting) -> None:
    where = tmp_path / "socket"

    def begin() -> Service:
        made = Service(where, {"nnapi-reference": Place(driver, Turnstile(2).turn)}, 0o600)
        threading.Thread(target=made.run, daemon=True).start()
        return made

    first = begin()
    with application(where) as found:
        compiled = compile(model(), found)
        first.close()
        first.end_sessions()
        assert comes_true(lambda: not first._sessions)
        with pytest.raises(DeadObjectError):
            compiled.run(X)
        with pytest.raises(DeadObjectError, match="nobody serves"):
            compiled.run(X)
        second = begin()
        assert compiled.run(X)[0].tolist() == [1, 2, 3, 4]
        second.close()


def test_devices_of_a_service_by_the_environment(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr("nnapi.runtime.device._found", None)
    monkeypatch.setenv("NNAPI_SERVICE", str(path))
    monkeypatch.setenv("NNAPI_ISOLATED", "nnapi-reference")
    with nnapi.device("nnapi-reference") as found:
        assert compile(model(), found).run(X)[0].tolist() == [1, 2, 3, 4]
        assert found.driver.pid == os.getpid()  # type: ignore[attr-defined]


def test_low_priority_has_another_place(tmp_path: Path) -> None:
    """So that a run of low priority that takes long is in nobody's way; each place closes what it prepared."""
    foreground, background = Counting(), Counting()
    places = [{"nnapi-reference": Place(each, Turnstile(1).turn)} for each in (foreground, background)]
    made = Service(tmp_path / "socket", places[0], 0o600, places[1])
    thread = threading.Thread(target=made.run)
    thread.start()
    with application(tmp_path / "socket") as first, application(tmp_path / "socket") as second:
        low = compile(model(name="low"), first, priority=PriorityCode.PRIORITY_LOW)
        high = compile(model(name="high"), second, priority=PriorityCode.PRIORITY_HIGH)
        background.ran.clear()
        background.leave.clear()
        stuck = threading.Thread(target=low.run, args=(X,), daemon=True)
        stuck.start()
        foreground.ran.clear()
        for _ in range(3):
            assert high.run(X)[0].tolist() == [1, 2, 3, 4]
        assert foreground.ran == ["high"] * 3
        assert background.ran == []
        background.leave.set()
        stuck.join()
        assert background.ran == ["low"]
    assert comes_true(lambda: (foreground.closed, background.closed) == (1, 1))
    made.close()
    thread.join(120)
    assert not thread.is_alive()
