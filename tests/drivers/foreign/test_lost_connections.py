"""Connections to agents that end: a library that dies or hangs, a lost connection, a fork, garbage."""

import os
import signal
import socket
import struct
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np
import pytest

from nnapi import Device, compile
from nnapi.contract.driver import DriverDiedError, PrepareOptions, Request
from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.built_model import Built, RemoteCompilation
from nnapi.drivers.foreign.driver import list_devices
from nnapi.drivers.foreign.wire import Ask, Garbage, Reader, Told
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    NnapiError,
    UnavailableDeviceError,
)
from tests.drivers.foreign.agent_cases import (
    LIMIT,
    RawClient,
    Relay,
    add_constant,
    is_listening,
    load_driver,
    needs_agent,
    prepare,
    run_agent,
    serve,
)
from tests.drivers.foreign.library_cases import (
    TAKING,
    build,
    build_adder,
    needs_compiler,
)
from tests.drivers.foreign.random_cuts import cut_at_random
from tests.waiting import comes_true

pytestmark = [needs_agent, needs_compiler]
X = np.arange(64, dtype=np.float32)


def test_a_library_that_dies_is_named(tmp_path: Path) -> None:
    with serve(tmp_path, build(tmp_path, **TAKING | {"Execution_compute": "abort();"})) as address:
        driver, prepared = prepare(address)
        for _ in range(2):
            with pytest.raises(DriverDiedError, match=r"libneuralnetworks.so at unix:.*was ended by SIGABRT") as died:
                prepared.execute(Request([X]))
            assert died.value.by_itself
        assert [verdict.supported for verdict in driver.verdicts(add_constant())] == [True]


def test_a_client_that_leaves_before_it_is_turned_away_ends_no_other(tmp_path: Path) -> None:
    """The agent, which is stopped meanwhile, writes to a socket that nobody reads."""
    path = str(tmp_path / "agent")
    with run_agent("--library", build(tmp_path, **TAKING), "--unix", path) as process, ExitStack() as kept:
        assert comes_true(lambda: is_listening(tmp_path / "agent"))
        clients = [kept.enter_context(RawClient(path).greet()) for _ in range(16)]
        process.send_signal(signal.SIGSTOP)
        RawClient(path).socket.close()
        process.send_signal(signal.SIGCONT)
        with pytest.raises(UnavailableDeviceError, match="the agent has 16 clients"):
            Agent(f"unix:{path}", LIMIT)
        for client in clients:
            assert client.ask(Ask.DEVICES)[0] is Told.ANSWER


def test_a_lost_connection_is_a_dead_object_and_is_made_again(tmp_path: Path) -> None:
    with serve(tmp_path, build_adder(tmp_path)) as address, closing(Relay(tmp_path, address)) as relay:
        (driver,) = list_devices("phone", relay.address)
        with Device(driver) as device, compile(add_constant(), [device]) as compiled:
            np.testing.assert_array_equal(compiled.run(X)[0], X + 1)
            before = driver.pid
            relay.cut()
            with pytest.raises(DeadObjectError, match="the connection to unix:.*relay was lost"):
                compiled.run(X)
            np.testing.assert_array_equal(compiled.run(X)[0], X + 1)
            assert driver.pid not in (None, before)


def test_connections_cut_at_random_moments(tmp_path: Path) -> None:
    """Five of them; ``python -m tests.drivers.foreign.random_cuts 100`` for more."""
    assert cut_at_random(tmp_path, 5) > 5


def test_a_library_that_ignores_its_time_limit_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.drivers.foreign.agent.GRACE", 0.0)
    _, prepared = prepare(build(tmp_path, **TAKING | {"Execution_compute": "for (;;) pause();"}))
    with pytest.raises(DeadObjectError, match="did not answer for"):
        prepared.execute(Request([X], deadline=time.monotonic_ns() + 200_000_000))


def test_objects_are_released_although_a_run_is_under_way(taking: str) -> None:
    agent = Agent(taking)
    built = Built(agent, add_constant())
    with agent._lock:
        built.close()
    assert len(agent.list_devices()) == 1
    with pytest.raises(BadDataError, match="no object has that number"):
        agent.release(2)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # of os.fork
def test_a_fork_leaves_the_connection_to_its_parent(taking: str) -> None:
    driver = load_driver("phone", taking, 0)
    agent = driver._agent
    child = os.fork()
    if not child:
        try:
            is_new = not agent.is_alive and driver.connect() is not agent and bool(driver.verdicts(add_constant()))
        except BaseException:
            is_new = False
        os._exit(0 if is_new else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert driver._agent is agent
    assert len(agent.list_devices()) == 1


@pytest.mark.slow
def test_a_hanging_library_ends_with_its_client(tmp_path: Path) -> None:
    library = build(tmp_path, **TAKING | {"Execution_compute": "for (;;) pause();"})
    with serve(tmp_path, library) as address:
        agent = Agent(address)
        compiled = Built(agent, add_constant()).compile(0, PrepareOptions())
        hanging = threading.Thread(target=swallow, args=(compiled,), daemon=True)
        hanging.start()
        assert comes_true(agent._lock.locked)
        agent.close()
        hanging.join(60)
        assert not hanging.is_alive()
        assert comes_true(lambda: not Path(f"/proc/{agent.pid}/cmdline").exists() or is_zombie(agent.pid))


def swallow(compiled: RemoteCompilation) -> None:
    with suppress(NnapiError):
        compiled.run(Request([X]), [(64,)])


def is_zombie(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    return True


@pytest.mark.parametrize(
    "answer", [b"\7" * 64, struct.pack("<IIQ", 0, 1 << 30, 0), struct.pack("<IIQ", 0, 2, 0) + b"ab"]
)
def test_an_agent_that_sends_garbage(tmp_path: Path, answer: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{tmp_path}/agent")
        listener.listen()
        liar = threading.Thread(target=lambda: send_to(listener.accept()[0], answer))
        liar.start()
        with pytest.raises(UnavailableDeviceError, match="sent garbage|too short"):
            Agent(f"unix:{tmp_path}/agent")
        liar.join()


def send_to(connection: socket.socket, content: bytes) -> None:
    with connection:
        connection.recv(1000)
        connection.sendall(content)


def test_a_head_that_is_too_short() -> None:
    reader = Reader(b"\1\0\0\0\7\0")
    assert reader.read_word() == 1
    with pytest.raises(Garbage, match="too short"):
        reader.read_word()
