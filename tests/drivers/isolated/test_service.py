"""A service for several applications, each with a worker process: what one does to its own, no other notices."""

import os
import resource
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Builder, Device, PriorityCode, compile, tensor
from nnapi.drivers.base import CacheEntry, PrepareOptions, Request
from nnapi.drivers.isolated import Isolated, protocol
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.channel import SIZE
from nnapi.drivers.isolated.descriptors import memory_file, shared_file
from nnapi.drivers.isolated.limits import NICE
from nnapi.drivers.isolated.service import Service
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    NnapiError,
    OutOfMemoryError,
    ResourceExhaustedTransientError,
    UnavailableDeviceError,
)
from nnapi.model.extension import EXTENSIONS, Extension, ExtensionType
from nnapi.model.operand import OperandType
from tests.drivers.isolated.isolated_cases import is_running, kill, model, reference
from tests.drivers.isolated.service_cases import OPTIONS, SPANS, RawClient, error_of, serving, workers
from tests.waiting import comes_true

X = np.array([1, -2, 3, -4], np.float32)
Y = [1, 2, 3, 4]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A service of the reference."""
    with serving(tmp_path / "socket"):
        yield tmp_path / "socket"


def application(path: Path, device: str = "nnapi-reference") -> Device:
    return Device(Isolated(device, service=path))


def pid_of(device: Device) -> int:
    pid: int = device.driver.pid  # type: ignore[attr-defined]
    return pid


def counted(pid: int) -> int:
    """Descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


# What applications have of it


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


def test_a_worker_s_end_is_an_error_once_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, harm="fault", phase="execute"), application(path) as honest:
        compiled = compile(model("neg"), honest)
        with application(path, "misbehaving") as hostile:
            crashing = compile(model(), hostile)
            with pytest.raises(DeadObjectError, match="its process was ended by SIGSEGV"):
                crashing.prepared.execute(Request([X]))
        assert compiled.run(X)[0].tolist() == [-1, 2, -3, 4]
        killed = pid_of(honest)
        kill(killed)
        with pytest.raises(DeadObjectError, match="its process was ended by SIGKILL"):
            compiled.run(X)
        assert compiled.run(X)[0].tolist() == [-1, 2, -3, 4]
        assert pid_of(honest) != killed


def test_priorities_are_the_system_s(path: Path) -> None:
    """So that a run of low priority gives way in the midst of it; preparing engines' threads takes part."""
    with application(path) as device:
        for priority in PriorityCode:
            assert compile(model(), device, priority=priority).run(X)[0].tolist() == Y
        driver = device.driver
        assert isinstance(driver, Isolated)
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for priority in PriorityCode:
            pid = driver._with_priority(priority).pid
            assert pid is not None
            nice = {os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in os.listdir(f"/proc/{pid}/task")}
            assert nice == {min(own + NICE[priority], 19)}
        pids = [driver._with_priority(priority).pid for priority in PriorityCode]
        assert len(set(pids)) == len(PriorityCode)
    assert comes_true(lambda: not any(map(is_running, pids))), "all of them end with the device"


def test_devices_of_a_service_by_the_environment(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr("nnapi.runtime.device._found", None)
    monkeypatch.setenv("NNAPI_SERVICE", str(path))
    monkeypatch.setenv("NNAPI_ISOLATED", "nnapi-reference")
    with nnapi.device("nnapi-reference") as found:
        assert compile(model(), found).run(X)[0].tolist() == Y
        assert pid_of(found) not in (0, os.getpid())


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


# What one application cannot do to the others


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Path]:
    """A service, beside which an honest application computes before and after the test."""
    path = tmp_path / "socket"
    with serving(path, "seconds=1", "threads=4", "models=3", "descriptors=64") as process, application(path) as device:
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
    assert "1048576 are possible" in error_of(answer.body)
    client.close()
    os.close(file)


def test_a_run_that_takes_too_long_is_ended_and_told(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path, "seconds=1", harm="hang", phase="execute") as process, application(path) as honest:
        compiled = compile(model("neg"), honest)
        with application(path, "misbehaving") as device:
            hanging = device.driver.prepare(model(), PrepareOptions())
            with pytest.raises(DeadObjectError, match=r"a run took longer than 1 s: .*\(nnapi serve --seconds\)"):
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


def suppress_all(prepare: object) -> None:
    with suppress(Exception):
        prepare(model())  # type: ignore[operator]


def test_limits_of_one_application(watched: Path) -> None:
    client = RawClient(watched)
    channels = [client.channel() for _ in range(4)]
    described = channels[0].prepare(model())
    for channel in channels:
        assert channel.ask(SPANS) == {"spans": []}
    assert "has 4 threads, as many as the service allows one (nnapi serve --threads)" in error_of(
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
    protocol.send(client.socket, {"kind": "release", "models": [], "prepared": [described]})
    assert comes_true(lambda: "prepared" in channels[0].ask({"kind": "prepare", "model": 1, "options": OPTIONS}))
    protocol.send(client.socket, {"kind": "release", "models": [], "prepared": [described + 1]})
    many = [*OPTIONS[:3], 5, []]
    assert comes_true(
        lambda: "(nnapi serve --threads)" in error_of(channels[1].ask({"kind": "prepare", "model": 1, "options": many}))
    )
    for channel in channels:
        channel.close()
    client.close()


def test_descriptors_of_one_application(watched: Path) -> None:
    client = RawClient(watched)
    channel = client.channel()
    prepared = channel.prepare(model())
    arena = shared_file(4096, "arena")
    bind = {"kind": "bind", "prepared": prepared, "places": [[[0, [4]]], [[64, [4]]]], "size": 4096}
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
        return {"extensions": [[name, [[0, size, True]]]], "models": []}

    first, second = RawClient(watched), RawClient(watched)
    layout: dict[str, list[int]] = {"sizes": [], "places": []}
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
        others = [
            subprocess.Popen([*CONNECT, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE) for _ in range(3)
        ]
        for other in others:
            assert other.stdout is not None
            assert other.stdout.readline() == b"in\n"
        late = subprocess.run([*CONNECT, str(path)], capture_output=True, text=True, check=False)
        assert "the service has 4 applications" in late.stderr
        assert compiled.run(X)[0].tolist() == Y
        for other in others:
            other.communicate()
        assert comes_true(lambda: len(workers(process.pid)) == 1)


CONNECT = [
    sys.executable,
    "-c",
    "import sys\n"
    "from nnapi.drivers.isolated import Isolated\n"
    "driver = Isolated('nnapi-reference', service=sys.argv[1])\n"
    "driver.wait()\n"
    "print('in', flush=True)\n"
    "sys.stdin.read()\n",
]


def test_a_service_without_descriptors_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path) as process, application(path) as first:
        compiled = compile(model(), first)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (counted(process.pid) + 3, 4096))
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
        assert comes_true(lambda: len(workers(process.pid)) == 1)
        with application(path) as second:
            assert compile(model(), second).run(X)[0].tolist() == Y


# The socket


def test_permissions_are_those_of_the_file(path: Path) -> None:
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_who_is_not_there(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableDeviceError, match="other is not served; there are: nnapi-reference"):
        Device(Isolated("other", service=path))
    with pytest.raises(DeadObjectError, match="nobody serves devices at .*nowhere: No such file"):
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
        with pytest.raises(DeadObjectError, match="nobody serves"):
            compiled.run(X)
    with serving(where):
        assert compiled.run(X)[0].tolist() == Y
        found.close()
