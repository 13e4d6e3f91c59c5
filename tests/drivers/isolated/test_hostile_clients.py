"""Hostile clients of a service: what one does to its own worker, no other application notices."""

import os
import resource
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Builder, compile, tensor
from nnapi.contract.driver import Outcome, PrepareOptions, Request
from nnapi.drivers.isolated import protocol
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.channel import DONE, FAILED, SIZE, STATUS
from nnapi.drivers.isolated.channel_server import ChannelServer, make_channel
from nnapi.drivers.isolated.descriptors import memory_file, shared_file
from nnapi.drivers.isolated.session import PreparedModel, Session
from nnapi.errors import (
    DeadObjectError,
    NnapiError,
    OutOfMemoryError,
    ResourceExhaustedTransientError,
)
from nnapi.model.extension import EXTENSIONS, Extension, ExtensionType
from nnapi.model.operand import OperandType
from tests.drivers.isolated.isolated_cases import is_running, model
from tests.drivers.isolated.service_cases import (
    CONNECT,
    OPTIONS,
    SPANS,
    RawClient,
    application,
    counted,
    error_of,
    pid_of,
    serving,
    workers,
)
from tests.waiting import comes_true
from tests.warm_process import WarmPopen
from tools.fuzz_service import fuzz

pytestmark = pytest.mark.slow

X = np.array([1, -2, 3, -4], np.float32)
Y = [1, 2, 3, 4]
MESSAGES = 400


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Path]:
    """A service, beside which an honest application computes before and after the test."""
    path = tmp_path / "socket"
    limits = "rate=1000", "seconds=300", "threads=4", "models=3", "descriptors=64"
    with serving(path, *limits) as process, application(path) as device:
        compiled = compile(model("neg"), device)
        with compiled.burst() as burst:
            assert burst.run(X)[0].tolist() == [-1, 2, -3, 4]
            before = counted(process.pid)
            yield path
            assert burst.run(X)[0].tolist() == [-1, 2, -3, 4]
            assert comes_true(lambda: workers(process.pid) == [pid_of(device)])
            assert comes_true(lambda: counted(process.pid) <= before), "nothing is left of the others"
        assert process.poll() is None


def test_a_page_that_can_be_cut_off_is_refused(watched: Path) -> None:
    client = RawClient(watched)
    plain, small = os.memfd_create("page", os.MFD_ALLOW_SEALING), shared_file(SIZE - 1, "page")
    os.ftruncate(plain, SIZE)
    for page, words in ((plain, "not sealed against shrinking"), (small, "a file has 4095 bytes, 4096 were announced")):
        channel = client.channel(page)
        assert words in error_of(channel.ask(SPANS))
    assert client.channel().ask(SPANS) == {"spans": []}, "the next one is served"
    client.close()


def test_constants_that_are_cut_off_end_their_own_worker(watched: Path, tmp_path: Path) -> None:
    file = tmp_path / "constants"
    file.write_bytes(np.ones(4096, np.float32).tobytes())
    b = Builder("constants")
    x = b.input(tensor("float32", (4096,)))
    memory = nnapi.Memory.from_file(file)
    b.output(b.add(x, b.constant(memory.view().view(np.float32), tensor("float32", (4096,)))))
    with application(watched) as found:
        prepared = found.driver.prepare(b.finish(), PrepareOptions())
        given = np.ones(4096, np.float32)
        assert (prepared.execute(Request([given])).outputs[0] == 2).all()
        file.write_bytes(b"")
        with pytest.raises(NnapiError, match="a mapped file was truncated|SIGBUS"):
            prepared.execute(Request([given]))


def test_descriptors_do_not_leak(watched: Path) -> None:
    null = [os.open(os.devnull, os.O_RDONLY) for _ in range(60)]
    for _ in range(5):
        client = RawClient(watched, "")
        protocol.send(client.socket, {}, null)
        assert client.is_ended()
        client.close()
        client = RawClient(watched)
        for number in (3, 4, 5):
            with suppress(BrokenPipeError):
                client.channel(descriptors=null[:number]).close()
        assert client.is_ended()
        client.close()
    for descriptor in null:
        os.close(descriptor)


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"noise",
        protocol.HEADER.pack(protocol.MAGIC, protocol.VERSION, 0, 2) + b"{}",
        protocol.HEADER.pack(protocol.MAGIC, protocol.VERSION, 0, 16) + b'{"kind":"model"}',
        protocol.HEADER.pack(protocol.MAGIC, protocol.VERSION, 0, 15) + b'{"kind":["a"]}',
        protocol.HEADER.pack(protocol.MAGIC, protocol.VERSION, protocol.IN_FILE, 100 << 20),
    ],
)
def test_noise_ends_its_own_connection(watched: Path, packet: bytes) -> None:
    client = RawClient(watched, "")
    client.socket.send(packet)
    assert client.is_ended()
    client.close()
    client = RawClient(watched)
    channel = client.channel()
    channel.socket.send(packet)
    assert "prepared" not in channel.ask(SPANS)
    channel.close()
    client.close()


def test_what_only_an_own_process_may_be_told(watched: Path) -> None:
    """A pickle, a path of modules, an entry point: nothing of that is read."""
    client = RawClient(watched, "")
    hello = {"device": "", "entry": "os:abort", "pickle": "80049531", "path": ["/tmp"], "nice": 0}
    protocol.send(client.socket, {"kind": "hello", **hello})
    answer = protocol.receive(client.socket)
    assert answer is not None
    assert "is not served" in error_of(answer.body)
    client.close()


def test_a_message_is_bounded(watched: Path) -> None:
    client = RawClient(watched)
    channel = client.channel()
    text = b'{"kind":"verdicts","model":[' + b"[]," * (4 << 20) + b"0]}"
    file = memory_file([text])
    packet = protocol.HEADER.pack(protocol.MAGIC, protocol.VERSION, protocol.IN_FILE, len(text))
    socket.send_fds(channel.socket, [packet], [file])
    answer = protocol.receive(channel.socket)
    assert answer is not None
    assert "at most 1048576 are possible" in error_of(answer.body)
    client.close()
    os.close(file)


def test_a_run_that_takes_too_long_is_ended_and_told(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, "seconds=1", harm="hang", phase="execute") as process, application(path) as honest:
        compiled = compile(model("neg"), honest)
        with application(path, "misbehaving") as device:
            hanging = device.driver.prepare(model(), PrepareOptions())
            with pytest.raises(DeadObjectError, match=r"a run took longer than 1 s: .*\(nnapi serve --timeout\)"):
                hanging.execute(Request([X]))
        assert compiled.run(X)[0].tolist() == [-1, 2, -3, 4]
        assert comes_true(lambda: workers(process.pid) == [pid_of(honest)])


def test_an_endless_run_ends_with_its_application(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, harm="hang", phase="prepare") as process:
        client = RawClient(path, "misbehaving")
        channel = client.channel()
        threading.Thread(target=lambda: suppress_all(channel.prepare), daemon=True).start()
        (pid,) = workers(process.pid)
        client.close()
        assert comes_true(lambda: not is_running(pid))


@pytest.mark.parametrize("is_exchanged", [False, True], ids=["own", "exchanged"])
def test_a_worker_ends_with_its_application_although_it_holds_the_connection(watched: Path, is_exchanged: bool) -> None:
    """An application passes its end of the connection, or another's, as a channel's socket, and exits."""
    child = os.fork()
    if not child:
        clients = [RawClient(watched) for _ in range(2)]
        sockets = [client.socket.fileno() for client in clients]
        for client, passed in zip(clients, sockets[::-1] if is_exchanged else sockets, strict=True):
            client.channel(descriptors=[passed, shared_file(SIZE, "page"), os.eventfd(0), os.eventfd(0)])
        for client in clients:  # each worker has read the message
            assert client.channel().ask(SPANS) == {"spans": []}
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def suppress_all(prepare: object) -> None:
    with suppress(Exception):
        prepare(model())  # type: ignore[operator]


def test_limits_of_one_application(watched: Path) -> None:
    client = RawClient(watched)
    channels = [client.channel() for _ in range(4)]
    described = channels[0].prepare(model())
    for channel in channels:
        assert channel.ask(SPANS) == {"spans": []}
    assert "has 4 threads, as many as the service allows one (nnapi serve --max-threads)" in error_of(
        client.channel().ask(SPANS)
    )
    channels.pop().close()
    assert comes_true(lambda: client.channel().ask(SPANS) == {"spans": []}), "one that is closed counts no more"
    session = {"kind": "session", "prepared": described}
    for _ in range(2):
        assert "prepared" in channels[0].ask(session)
    for question in (session, {"kind": "prepare", "model": 1, "options": OPTIONS}):
        assert "has 3 models, as many as the service allows one (nnapi serve --models)" in error_of(
            channels[0].ask(question)
        )
    protocol.send(client.socket, {"kind": "release", "numbers": [described]})
    assert comes_true(lambda: "prepared" in channels[0].ask({"kind": "prepare", "model": 1, "options": OPTIONS}))
    protocol.send(client.socket, {"kind": "release", "numbers": [described + 1]})
    many = [*OPTIONS[:3], 5, *OPTIONS[4:]]
    assert comes_true(
        lambda: (
            "(nnapi serve --max-threads)" in error_of(channels[1].ask({"kind": "prepare", "model": 1, "options": many}))
        )
    )
    for channel in channels:
        channel.close()
    client.close()


def test_descriptors_of_one_application(watched: Path) -> None:
    client = RawClient(watched)
    channel = client.channel()
    prepared = channel.prepare(model())
    arena = shared_file(4096, "arena")
    bind = {"kind": "bind", "prepared": prepared, "locations": [[[0, [4]]], [[64, [4]]]], "size": 4096}
    answers = [channel.ask(bind, [arena]) for _ in range(80)]
    words = {error_of(answer) for answer in answers} - {""}
    assert any("(nnapi serve --descriptors)" in each or "more descriptors than may be open" in each for each in words)
    os.close(arena)
    client.close()


def test_memory_of_one_application(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, f"memory={64 << 20}"), application(path) as device:
        b = Builder("large")
        b.output(b.fill(b.input(tensor("int32", (1,))), 1.0))
        prepared = device.driver.prepare(b.finish(), PrepareOptions())
        with pytest.raises(OutOfMemoryError, match=r"allows an application 64 MiB \(nnapi serve --memory\)"):
            prepared.execute(Request([np.array([1 << 27], np.int32)]))
        assert compile(model(), device).run(X)[0].tolist() == Y, "it goes on"


def test_extensions_are_each_application_s_own(watched: Path) -> None:
    """One may describe what another has described otherwise."""
    name = "test.of.services"

    def described(size: int) -> dict[str, object]:
        return {"extensions": [[name, [[0, [size, True]]]]], "models": []}

    first, second = RawClient(watched), RawClient(watched)
    layout: dict[str, list[int]] = {"sizes": [], "locations": []}
    first.channel().ask({"kind": "model", "model": described(1), "layout": layout})
    EXTENSIONS.describe("test", Extension(name, {0: ExtensionType(8)}))
    made = nnapi.Model("extended")
    type = OperandType(EXTENSIONS.type(name, 0), (4,))
    given, result = made.add_operand(type), made.add_operand(type)
    constant = made.add_operand(type)
    made.set_operand_value(constant, np.zeros(32, np.uint8))
    made.add_operation(EXTENSIONS.type(name, 1), [given, constant], [result])
    made.identify_inputs_and_outputs([given], [result])
    made.finish()
    with application(watched) as device:
        (verdict,) = device.driver.verdicts(made)
        assert not verdict.supported
    first.close()
    second.close()


def test_a_service_that_is_full_says_so(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, "applications=4") as process, application(path) as first:
        compiled = compile(model(), first)
        with pytest.raises(ResourceExhaustedTransientError, match="has 1 connections, one process may have 1"):
            application(path)
        others = [WarmPopen([*CONNECT, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE) for _ in range(3)]
        for other in others:
            assert other.stdout is not None
            assert other.stdout.readline() == b"in\n"
        late = subprocess.run([*CONNECT, str(path)], capture_output=True, text=True, check=False)
        assert "the service has 4 applications" in late.stderr
        assert compiled.run(X)[0].tolist() == Y
        for other in others:
            other.communicate()
        assert comes_true(lambda: len(workers(process.pid)) == 1)


def test_a_service_without_descriptors_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path) as process, application(path) as first:
        compiled = compile(model(), first)
        before = counted(process.pid)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (before + 5, 4096))
        clients = []
        for _ in range(3):
            client = RawClient(path, "")
            client.socket.settimeout(1)
            with suppress(OSError):
                protocol.send(client.socket, {"kind": "hello", "device": "nnapi-reference", "nice": 0})
                protocol.receive(client.socket)
            clients.append(client)
        for client in clients:
            client.close()
        assert process.poll() is None
        assert compiled.run(X)[0].tolist() == Y
        assert comes_true(lambda: len(workers(process.pid)) == 1 and counted(process.pid) <= before)
        with application(path) as second:
            assert compile(model(), second).run(X)[0].tolist() == Y


def test_mutated_messages() -> None:
    """Mutated messages; ``python -m tools.fuzz_service`` sends more."""
    outcomes = fuzz(MESSAGES, 1)
    assert outcomes["sent"] == MESSAGES
    assert min(outcomes[each] for each in ("answer", "error", "disconnected")) > MESSAGES // 50, outcomes


@pytest.mark.parametrize(
    ("output", "status"),
    [
        (np.array(Y, np.float32), DONE),
        (np.array(Y, np.float16), FAILED),
        (np.array(Y, np.float64), FAILED),
        (np.array(Y, np.int32), FAILED),
        (np.array([1], np.float32), FAILED),
    ],
)
def test_a_run_without_a_message_gives_only_outputs_of_the_model(output: np.ndarray, status: int) -> None:
    """Others would be converted or repeated as NumPy assigns arrays."""

    class Prepared:
        def execute(self, request: Request) -> Outcome:
            return Outcome([output])

        def close(self) -> None: ...

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    session, arena = Session(Allowance(threads=1)), shared_file(4096, "arena")
    bells = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
    server = ChannelServer(session, make_channel(theirs, [shared_file(SIZE, "page"), *bells]))
    session.prepared[1] = PreparedModel.of(Prepared(), model())
    bind = {"kind": "bind", "prepared": 1, "locations": [[[0, [4]]], [[64, [4]]]], "size": 4096}
    binding = server.answer_bind(bind, [arena])["binding"]
    server._run_bound(binding)
    assert server._channel.words[STATUS] == status
    result = np.frombuffer(os.pread(arena, 16, 64), np.float32).tolist()
    assert result == (Y if status == DONE else [0, 0, 0, 0])
    server._bindings.clear()
    server.close()
    ours.close()
