"""The ways to an agent: ssh, sockets that are not there, and addresses that are wrong."""

import os
from pathlib import Path

import pytest

from nnapi.errors import DeadObjectError, UnavailableDeviceError
from nnapi.host import adb
from tests.drivers.foreign.agent_cases import add_constant, load_driver, needs_agent
from tests.drivers.foreign.library_cases import build_adder, needs_compiler


def make_ssh(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """A program ssh that runs a line instead of its last word's."""
    (folder / "ssh").write_text(f"#!/bin/sh\n{line}\n")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@needs_agent
@needs_compiler
def test_ssh_starts_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_adder(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    (tmp_path / "nnapi-agent").symlink_to(adb.LOCAL)
    make_ssh(tmp_path, monkeypatch, 'for last; do :; done; exec sh -c "$last"')
    driver = load_driver("board", "ssh:me@board", 0)
    assert driver.info.name == "board-adder"
    assert [verdict.supported for verdict in driver.verdicts(add_constant())] == [True]
    agent = driver._agent
    driver.close()
    with pytest.raises(DeadObjectError, match="the connection to ssh:me@board was closed"):
        agent.list_devices()
    assert [verdict.supported for verdict in driver.verdicts(add_constant())] == [True]


@pytest.mark.parametrize("first", ["", "exec <&- >&-;", "sleep 0.3;"], ids=["at once", "closed", "later"])
def test_ssh_that_fails_says_why(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A greeting that it leaves unread resets the connection instead of ending it."""
    make_ssh(tmp_path, monkeypatch, f"{first} echo 'me@board: Permission denied (publickey).' >&2; exit 255")
    with pytest.raises(UnavailableDeviceError, match=r"ssh:me@board was lost: me@board: Permission denied"):
        load_driver("board", "ssh:me@board", 0)


WRONG = {
    "unix:/nowhere": "nothing answers at unix:/nowhere: No such file",
    "tcp:127.0.0.1:1": "nothing answers at tcp:127.0.0.1:1: Connection refused",
    "tcp:127.0.0.1": "must be tcp:HOST:PORT, with a port from 1 to 65535",
    "tcp:127.0.0.1:0": "must be tcp:HOST:PORT, with a port from 1 to 65535",
    "tcp:127.0.0.1:65536": "must be tcp:HOST:PORT, with a port from 1 to 65535",
    "tcp:127.0.0.1:\u0664": "must be tcp:HOST:PORT, with a port from 1 to 65535",
    f"tcp:127.0.0.1:{'9' * 5000}": "must be tcp:HOST:PORT, with a port from 1 to 65535",
    "ssh:-oProxyCommand=true": "must be ssh:USER@HOST",
}


@pytest.mark.parametrize("address", WRONG)
def test_addresses_that_are_wrong(address: str) -> None:
    with pytest.raises(UnavailableDeviceError, match=WRONG[address]):
        load_driver("board", address, 0)
