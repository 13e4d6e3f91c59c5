"""How an agent guards its clients: who may connect, how many, and for how long without the token."""

import fcntl
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.wire import HEADER, MAGIC, VERSION, Ask, Told, pack_text
from nnapi.errors import UnavailableDeviceError
from nnapi.host.adb import LOCAL as AGENT
from tests.drivers.foreign.agent_cases import LIMIT, RawClient, is_listening, needs_agent, run_agent, serve, serve_tcp
from tests.drivers.foreign.library_cases import COMPILER, TAKING, build, build_agent, needs_compiler
from tests.drivers.foreign.test_lost_connections import is_zombie
from tests.rows import each_row
from tests.waiting import comes_true

pytestmark = [needs_agent, needs_compiler]
TOKEN = "0123456789abcdef"
MOST_CLIENTS = 16
NOBODY = 65534


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("library"), **TAKING)


@pytest.fixture
def address(tmp_path: Path, library: str) -> Iterator[str]:
    with serve(tmp_path, library) as found:
        yield found


@pytest.fixture
def guarded(tmp_path: Path, library: str) -> Iterator[str]:
    """An agent with a token."""
    with serve(tmp_path, library, environment={"NNAPI_AGENT_TOKEN": TOKEN}) as found:
        yield found


# The greeting


@pytest.mark.parametrize(("kind", "magic"), [(Ask.DEVICES, MAGIC), (Ask.HELLO, MAGIC + 1)])
def test_a_client_that_does_not_speak_the_protocol(address: str, kind: Ask, magic: int) -> None:
    with RawClient(address) as client:
        client.send(kind, struct.pack("<II", magic, VERSION) + pack_text(b""))
        assert client.is_ended()


@pytest.mark.parametrize("token", [b"", b"0", TOKEN[:-1].encode(), TOKEN[:-1].encode() + b"g", TOKEN.encode() + b"\0"])
def test_a_wrong_token(guarded: str, token: bytes) -> None:
    with RawClient(guarded) as client:
        head = struct.pack("<II", MAGIC, VERSION) + pack_text(token)
        assert client.refuse(Ask.HELLO, head) == "the token is missing or wrong"
        assert client.is_ended()


@pytest.mark.parametrize("length", [0, len(TOKEN), len(TOKEN) + 1, 2**32 - 1])
def test_a_token_that_is_not_there(guarded: str, length: int) -> None:
    """Only its length is."""
    with RawClient(guarded) as client:
        said = client.refuse(Ask.HELLO, struct.pack("<III", MAGIC, VERSION, length))
        assert said == "the token is missing or wrong"


@pytest.mark.parametrize(("length", "is_possible"), [(1024, True), (1025, False)])
def test_the_length_of_a_token(tmp_path: Path, library: str, length: int, is_possible: bool) -> None:
    environment = {"NNAPI_AGENT_TOKEN": "x" * length}
    if is_possible:
        with serve(tmp_path, library, environment=environment) as address, RawClient(address) as client:
            client.greet(b"x" * length)
    else:
        words = [str(AGENT), "--unix", str(tmp_path / "agent")]
        ended = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT)
        assert ended.stderr == "nnapi-agent: NNAPI_AGENT_TOKEN may have at most 1024 characters\n"


@pytest.mark.parametrize(
    ("head", "data", "is_possible"), [(4096, 0, True), (4100, 0, False), (1 << 20, 0, False), (12, 1, False)]
)
def test_a_greeting_is_small(address: str, head: int, data: int, is_possible: bool) -> None:
    """A stranger makes the agent hold no more than that."""
    greeting = struct.pack("<III", MAGIC, VERSION, 0).ljust(head, b"\0")
    with RawClient(address) as client:
        with suppress(ConnectionError):
            client.send(Ask.HELLO, greeting, bytes(data))
        if is_possible:
            assert client.receive()[0] is Told.ANSWER
        else:
            with pytest.raises(ConnectionError):
                client.receive()


@pytest.mark.parametrize(("head", "data"), [((64 << 20) + 1, 0), (0, (1 << 30) + 1), (2**32 - 1, 2**64 - 1)])
def test_a_request_is_bounded(address: str, head: int, data: int) -> None:
    with RawClient(address).greet() as client:
        client.socket.sendall(HEADER.pack(Ask.CONSTANTS, head, data))
        assert client.is_ended()


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent that waits for 300 ms for the whole greeting."""
    assert COMPILER
    return build_agent(COMPILER, tmp_path_factory.mktemp("agent") / "nnapi-agent", "-DGREETING_MS=300")


@pytest.mark.slow
@pytest.mark.parametrize("drips", [True, False])
def test_a_greeting_has_one_deadline(tmp_path: Path, library: str, impatient: Path, drips: bool) -> None:
    """Bytes that come one by one do not prolong it."""
    greeting = HEADER.pack(Ask.HELLO, 4096, 0) + bytes(4096)
    with serve(tmp_path, library, agent=impatient) as address, RawClient(address) as client:
        client.socket.settimeout(0.02 if drips else LIMIT)
        end = time.monotonic() + LIMIT
        for at in range(len(greeting)):
            try:
                client.socket.sendall(greeting[at : at + 1])
                if not client.socket.recv(1):
                    break
            except ConnectionError:
                break
            except TimeoutError:
                assert time.monotonic() < end, "it drips for ever"


def test_a_client_that_has_greeted_may_pause(tmp_path: Path, library: str, impatient: Path) -> None:
    """The deadline is the greeting's only."""
    with serve(tmp_path, library, agent=impatient) as address, RawClient.greet_in_time(address) as client:
        time.sleep(0.5)
        assert client.ask(Ask.DEVICES)[0] is Told.ANSWER


# How many


def test_strangers_do_not_keep_a_client_out(guarded: str) -> None:
    """A newcomer takes the place of the connection that has shown no token for longest."""
    with ExitStack() as kept:
        clients = [kept.enter_context(RawClient(guarded).greet(TOKEN.encode())) for _ in range(2)]
        strangers = [kept.enter_context(RawClient(guarded)) for _ in range(MOST_CLIENTS - 2)]
        for number in range(2):
            clients.append(kept.enter_context(RawClient(guarded).greet(TOKEN.encode())))
            assert strangers[number].is_ended()
        for client in clients:
            assert client.ask(Ask.DEVICES)[0] is Told.ANSWER
        for stranger in strangers[2:]:
            head = struct.pack("<II", MAGIC, VERSION) + pack_text(TOKEN.encode())
            assert stranger.ask(Ask.HELLO, head)[0] is Told.ANSWER


def test_sixteen_clients_are_served(address: str) -> None:
    with ExitStack() as kept:
        clients = [kept.enter_context(RawClient(address).greet()) for _ in range(MOST_CLIENTS)]
        with pytest.raises(UnavailableDeviceError, match="^the agent has 16 clients, as many as it may have$"):
            Agent(address, LIMIT)
        for client in clients:
            assert client.ask(Ask.DEVICES)[0] is Told.ANSWER
        clients[0].socket.close()
        assert comes_true(lambda: is_gone(clients[0].pid))
        assert comes_true(lambda: can_greet(address))


def can_greet(address: str) -> bool:
    with suppress(AssertionError, OSError), RawClient(address) as client:
        client.greet()
        return True
    return False


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists() or is_zombie(pid)


# Their processes


def test_a_process_has_only_its_own_connection(address: str) -> None:
    """Neither the listening socket nor another client's connection, which would stay open with it."""
    with RawClient(address).greet(), RawClient(address).greet() as second:
        links = [os.readlink(each) for each in Path(f"/proc/{second.pid}/fd").iterdir()]
        assert sum(link.startswith("socket:") for link in links) == 1


def test_processes_end_with_the_agent(tmp_path: Path, library: str) -> None:
    with run_agent("--library", library, "--unix", str(tmp_path / "agent")) as process:
        assert comes_true((tmp_path / "agent").exists)
        with connect_soon(str(tmp_path / "agent")) as client:
            process.kill()
            process.wait(LIMIT)
            assert comes_true(lambda: is_gone(client.pid))


@contextmanager
def connect_soon(path: str) -> Iterator[RawClient]:
    assert comes_true(lambda: can_greet(path))
    with RawClient(path).greet() as client:
        yield client


def test_a_client_that_reads_nothing_does_not_stop_the_agent(address: str, tmp_path: Path) -> None:
    """Its process ends while the stream is full, so the report of its end cannot be sent."""
    with RawClient(address).greet() as silent:
        silent.socket.settimeout(0.2)
        with suppress(TimeoutError):
            while True:
                silent.socket.sendall(HEADER.pack(Ask.DEVICES, 0, 0) * 1000)
        os.kill(silent.pid, signal.SIGKILL)
        assert comes_true(lambda: not Path(f"/proc/{silent.pid}").exists())
        with RawClient(address).greet() as other:
            assert other.ask(Ask.DEVICES)[0] is Told.ANSWER


@pytest.mark.slow
def test_a_process_whose_client_has_left_is_ended_although_others_come_and_go(tmp_path: Path) -> None:
    """Each of them wakes the agent before the two seconds are over."""
    hanging = build(tmp_path, count="for (;;) pause();", **TAKING)
    with serve(tmp_path, hanging) as address:
        client = RawClient(address).greet()
        client.send(Ask.DEVICES)
        client.socket.close()
        end = time.monotonic() + LIMIT
        while not is_gone(client.pid):
            assert time.monotonic() < end
            with RawClient(address).greet():
                time.sleep(0.01)


# The socket


def test_the_socket_is_the_user_s_own(address: str) -> None:
    mode = os.stat(address.removeprefix("unix:")).st_mode
    assert stat.S_IMODE(mode) & 0o077 == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_other_users_are_not_served(library: str) -> None:
    """Even if the socket's permissions let them connect."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with serve(Path(folder), library) as address:
            os.chmod(address.removeprefix("unix:"), 0o777)
            assert connect_as(0, address) == 0
            assert connect_as(NOBODY, address) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_and_root_are_served(library: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        path, copied = f"{folder}/agent", f"{folder}/libneuralnetworks.so"
        shutil.copy(library, copied)
        shutil.copy(AGENT, f"{folder}/nnapi-agent")  # the folder of the project may be closed to others
        command = [f"{folder}/nnapi-agent", "--library", copied, "--unix", path]
        with subprocess.Popen(command, user=NOBODY, cwd="/") as process:
            try:
                assert comes_true(lambda: can_greet(path))
                for user in (NOBODY, 0):
                    assert connect_as(user, path) == 0
                os.chmod(path, 0o777)
                os.chmod(folder, 0o755)
                assert connect_as(NOBODY - 1, path) == 3
            finally:
                process.terminate()


def connect_as(user: int, address: str) -> int:
    """Greet an agent as a user; return 0 if it answers, 3 if it ends the connection."""
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            with RawClient(address) as client:
                client.greet()
                status = 0
        except ConnectionError:
            status = 3
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def refuse_to_listen(*words: str) -> str:
    """Return what an agent prints that does not start."""
    ended = subprocess.run([str(AGENT), *words], capture_output=True, text=True, check=False, timeout=LIMIT)
    assert ended.returncode == 1
    return ended.stderr


@pytest.mark.parametrize("kind", ["file", "folder", "fifo", "link", "broken link", "datagrams", "packets", "streams"])
def test_what_is_at_the_path_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left"))
    with ExitStack() as kept:
        if kind in ("datagrams", "packets", "streams"):
            types = {"datagrams": socket.SOCK_DGRAM, "packets": socket.SOCK_SEQPACKET, "streams": socket.SOCK_STREAM}
            other = kept.enter_context(socket.socket(socket.AF_UNIX, types[kind]))
            other.bind(str(path))
            if kind != "datagrams":
                other.listen()
        elif kind == "file":
            path.write_text("precious")
        elif kind == "folder":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / ("left" if kind == "link" else "nothing"))
        before = os.lstat(path)
        said = "in use" if kind in ("datagrams", "packets", "streams") else "exists"
        assert said in refuse_to_listen("--unix", str(path))
        after = os.lstat(path)
        assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET])
def test_the_socket_of_an_ended_process_is_replaced(tmp_path: Path, library: str, kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_UNIX, kind) as left:
        left.bind(str(tmp_path / "agent"))
    with (
        run_agent("--library", library, "--unix", str(tmp_path / "agent")),
        connect_soon(str(tmp_path / "agent")) as client,
    ):
        assert client.ask(Ask.DEVICES)[0] is Told.ANSWER


def test_a_full_queue_of_a_running_agent_does_not_stop_a_second_one(tmp_path: Path) -> None:
    """It says that the socket is in use, instead of waiting to connect."""
    with socket.socket(socket.AF_UNIX) as busy, ExitStack() as kept:
        busy.bind(str(tmp_path / "agent"))
        busy.listen(0)
        waiting = kept.enter_context(socket.socket(socket.AF_UNIX))
        waiting.connect(str(tmp_path / "agent"))
        assert "in use" in refuse_to_listen("--unix", str(tmp_path / "agent"))


def test_two_agents_that_start_at_once(tmp_path: Path, library: str) -> None:
    """Only one replaces the socket of an ended process: the folder is locked meanwhile."""
    path = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with run_agent("--library", library, "--unix", str(path)) as process:
        time.sleep(0.3)
        assert process.poll() is None
        assert not is_listening(path), "it waits for the lock"
        os.close(folder)
        with connect_soon(str(path)) as client:
            assert client.ask(Ask.DEVICES)[0] is Told.ANSWER


@pytest.mark.parametrize("path", ["{}/no/agent", "{}/" + "a" * 108])
def test_a_path_that_is_not_possible(tmp_path: Path, path: str) -> None:
    said = refuse_to_listen("--unix", path.format(tmp_path))
    assert said.startswith("nnapi-agent: cannot l")
    assert "No such file" in said or "File name too long" in said


@each_row("port", ["99999", "65536", "-1", "", "0x50", "80 ", "1e3", "4294967296", "9" * 400])
@each_row("host", ["", "127.0.0.1:"])
def test_a_port_that_is_not_possible(host: str, port: str) -> None:
    said = refuse_to_listen("--tcp", host + port)
    assert said == f"nnapi-agent: {host}{port}: a port is a number from 0 to 65535\n"


@pytest.mark.parametrize("host", ["localhost", "1.2.3", "127.0.0.1:1", "1" * 100])
def test_an_address_that_is_not_possible(host: str) -> None:
    assert refuse_to_listen("--tcp", f"{host}:0") == f"nnapi-agent: cannot listen at {host}:0: Invalid argument\n"


def test_a_stranger_on_tcp_holds_no_place(library: str) -> None:
    with ExitStack() as kept, serve_tcp(library, {"NNAPI_AGENT_TOKEN": TOKEN}) as address:
        host, _, port = address.removeprefix("tcp:").partition(":")
        for _ in range(2 * MOST_CLIENTS):
            kept.enter_context(socket.create_connection((host, int(port)), LIMIT))
        kept.enter_context(pytest.MonkeyPatch.context()).setenv("NNAPI_AGENT_TOKEN", TOKEN)
        agent = Agent(address, LIMIT)
        assert len(agent.list_devices()) == 1
        agent.close()
