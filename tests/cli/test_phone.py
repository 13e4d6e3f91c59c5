"""``nnapi phone``, with a program that answers as adb does, and an agent of this machine's processor."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.cli import connected_phones
from nnapi.errors import UnavailableDeviceError
from nnapi.host import adb
from nnapi.host.adb import LOCAL as AGENT
from tests.drivers.foreign import stand_in_adb
from tests.drivers.foreign.agent_cases import load_driver, needs_agent
from tests.drivers.foreign.library_cases import build_adder, needs_compiler
from tests.warm_python import warm_python

pytestmark = [needs_agent, needs_compiler]


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a phone whose NNAPI library is the adder."""
    folder = tmp_path / "phone"
    (folder / "data/local/tmp").mkdir(parents=True)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "adb").write_text(f'#!/bin/sh\nexec {sys.executable} {stand_in_adb.__file__} "$@"\n')
    (programs / "adb").chmod(0o755)
    build_adder(programs)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(programs))
    monkeypatch.setenv("PHONE", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.delenv("NNAPI_FOREIGN", raising=False)
    yield folder
    adb.remove_agent("SERIAL")


def run(*words: str, command: str = "phone") -> subprocess.CompletedProcess[str]:
    line = [warm_python(), "-m", "nnapi", command, *words]
    environment = {**os.environ, "DEBUG_NN_CPUONLY": "0", "DEBUG_NN_ENABLED_DEVICES": "^foreign$"}
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_an_agent_is_pushed_connected_and_removed(phone: Path) -> None:
    pushed = run("push", "SERIAL", "--binary", str(AGENT), "--name", "pixel")
    assert pushed.returncode == 0, pushed.stderr
    assert "ro.product.model: Stand-in" in pushed.stdout
    assert "pixel-adder: ACCELERATOR, version 1, feature level 8" in pushed.stdout
    assert pushed.stdout.endswith("export NNAPI_FOREIGN=pixel=adb:SERIAL\n")
    assert (phone / "data/local/tmp/nnapi/nnapi-agent").exists()
    assert "pixel-adder" in run("connect", "SERIAL", "--name", "pixel").stdout
    assert run("remove", "SERIAL").returncode == 0
    assert not (phone / "data/local/tmp/nnapi").exists()
    missing = run("connect", "SERIAL")
    assert missing.returncode != 0
    assert "run `nnapi phone push SERIAL`" in missing.stderr


@pytest.mark.slow
def test_a_connected_phone_is_remembered(phone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("push", "SERIAL", "--binary", str(AGENT), "--name", "pixel").returncode == 0
    assert "pixel-adder" in run(command="devices").stdout
    found = run("--device", "pixel", "--json", command="devices")
    assert '"name": "pixel-adder"' in found.stdout, found.stderr
    assert run("connect", "SERIAL", "--name", "other").returncode == 0
    listed = run(command="devices").stdout
    assert "pixel-adder" in listed
    assert "other-adder" in listed
    monkeypatch.setenv("NNAPI_FOREIGN", "")
    assert "adder" not in run(command="devices").stdout
    monkeypatch.delenv("NNAPI_FOREIGN")
    assert run("disconnect", "SERIAL").returncode == 0
    assert "adder" not in run(command="devices").stdout
    assert "must consist of letters, digits, ., _ and -" in run("connect", "SERIAL", "--name", "a=b,c").stderr


def test_phones_are_used_unless_the_variable_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("NNAPI_FOREIGN", "board=/lib/board.so")
    for name, serial in (("pixel", "ONE"), ("tablet", "TWO"), ("pixel", "THREE")):
        connected_phones.add_phone(name, serial)
    connected_phones.use_phones()
    assert os.environ["NNAPI_FOREIGN"] == "board=/lib/board.so"
    monkeypatch.delenv("NNAPI_FOREIGN")
    connected_phones.use_phones()
    assert os.environ["NNAPI_FOREIGN"] == "tablet=adb:TWO,pixel=adb:THREE"
    for serial in ("ONE", "TWO", "THREE"):
        connected_phones.drop_phone(serial)
    assert connected_phones.list_phones() == []


@pytest.mark.slow
def test_an_agent_that_has_ended_is_started_again(phone: Path) -> None:
    adb.push_agent("SERIAL", AGENT)
    assert load_driver("pixel", "adb:SERIAL", 0).info.name == "pixel-adder"
    adb.adb("SERIAL", "shell", "kill $(pidof nnapi-agent)")
    assert load_driver("pixel", "adb:SERIAL", 0).info.name == "pixel-adder"


def test_a_phone_that_is_not_there(phone: Path) -> None:
    with pytest.raises(UnavailableDeviceError, match="adb shell for OTHER fails: adb: device 'OTHER' not found"):
        load_driver("pixel", "adb:OTHER", 0)
    with pytest.raises(UnavailableDeviceError, match="'-x' is not the serial number"):
        load_driver("pixel", "adb:-x", 0)


def test_an_agent_that_was_not_built(phone: Path) -> None:
    with pytest.raises(UnavailableDeviceError, match="none does not exist: it is built with the package where clang"):
        adb.push_agent("SERIAL", phone / "none")


def test_without_adb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnavailableDeviceError, match="the program adb is not installed"):
        adb.adb("SERIAL", "shell", "true")
