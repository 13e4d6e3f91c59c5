"""The process that made a connection to a service."""

import os
import socket
from collections.abc import Iterator

import pytest

from nnapi.drivers.isolated import application as application_module
from nnapi.drivers.isolated.application import Application
from tests.waiting import comes_true, count_descriptors


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as made:
        made.bind("")
        made.listen()
        yield made


@pytest.mark.parametrize("option", [application_module.SO_PEERPIDFD, 12345], ids=["Linux 6.5", "before"])
def test_the_end_of_a_process_is_noticed_although_its_connection_is_open(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, option: int
) -> None:
    monkeypatch.setattr(application_module, "SO_PEERPIDFD", option)
    before = count_descriptors()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as theirs:
        going, stop = os.pipe()
        child = os.fork()
        if not child:
            os.close(stop)
            theirs.connect(listener.getsockname())
            os.read(going, 1)
            os._exit(0)
        application = Application(listener.accept()[0])
        assert (application.process, application.user) == (child, os.getuid())
        assert not application.has_ended()
        os.close(stop)
        os.waitpid(child, 0)
        assert comes_true(application.has_ended)
        application.connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            application.connection.recv(1)
        application.close()
        os.close(going)
    assert count_descriptors() == before


def test_a_process_of_another_namespace_before_linux_6_5(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application_module, "SO_PEERPIDFD", 12345)
    with pytest.raises(OSError, match="it is in another PID namespace, which needs Linux 6.5"):
        application_module._open_process(listener, 0)


def test_another_error_is_not_hidden() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as unconnected, pytest.raises(OSError, match="^.Errno"):
        Application(unconnected)
