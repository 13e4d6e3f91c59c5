"""The socket of a service: a second service, and another one that starts in the same moment."""

import fcntl
import os
import socket
import stat
from pathlib import Path

import pytest

from nnapi.drivers.isolated import service_socket
from nnapi.drivers.isolated.service_socket import ServiceSocket
from tests.waiting import count_descriptors


@pytest.fixture
def abandoned(tmp_path: Path) -> str:
    """A socket on which nobody listens."""
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as made:
        made.bind(path)
    return path


def close(made: ServiceSocket) -> None:
    made.close()
    made.listener.close()


def is_locked(path: str) -> bool:
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(directory)
    return False


def test_the_directory_is_locked_while_a_socket_is_replaced(abandoned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another service would find the same abandoned socket, and remove the new one."""
    found: list[bool] = []
    replace, chmod = service_socket._remove_abandoned, os.chmod

    def look(path: str) -> None:
        found.append(is_locked(path))
        replace(path)

    def look_again(path: str, mode: int) -> None:
        found.append(is_locked(path))
        chmod(path, mode)

    monkeypatch.setattr(service_socket, "_remove_abandoned", look)
    monkeypatch.setattr(os, "chmod", look_again)
    made = ServiceSocket(abandoned, 0o600, 1)
    assert found == [True, True]
    assert not is_locked(abandoned)
    assert os.listdir(os.path.dirname(abandoned)) == ["socket"]
    close(made)
    assert os.listdir(os.path.dirname(abandoned)) == []


def test_a_service_waits_for_another_one_that_starts(abandoned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = os.open(os.path.dirname(abandoned), os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    before = count_descriptors()
    monkeypatch.setattr(service_socket, "PATIENCE", 0.0)
    with pytest.raises(OSError, match="another process has locked the directory"):
        ServiceSocket(abandoned, 0o600, 1)
    assert count_descriptors() == before
    monkeypatch.setattr(service_socket, "PATIENCE", 120.0)
    monkeypatch.setattr("time.sleep", lambda seconds: os.close(directory))
    close(ServiceSocket(abandoned, 0o600, 1))


def test_a_socket_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = ServiceSocket("socket", 0o640, 1)
    assert stat.S_IMODE(os.stat("socket").st_mode) == 0o640
    close(made)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_a_socket_of_a_running_program_stays(tmp_path: Path, kind: socket.SocketKind) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(path)
        if kind != socket.SOCK_DGRAM:
            other.listen()
        with pytest.raises(OSError, match="in use|wrong type"):
            ServiceSocket(path, 0o600, 1)
    assert os.path.exists(path)
