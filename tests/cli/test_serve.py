"""``nnapi serve``: a process of its own, two applications, and the end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nnapi import Device, PriorityCode, compile
from nnapi.cli import app
from nnapi.drivers.isolated import Isolated
from nnapi.errors import DeadObjectError
from tests.drivers.isolated.isolated_cases import is_running, model
from tests.waiting import comes_true

X = np.array([1, -2, 3, -4], np.float32)


@contextmanager
def serving(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A service of the reference, which does not outlive its test."""
    command = [sys.executable, "-m", "nnapi", "serve", str(path), "-d", "nnapi-reference"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("serving nnapi-reference at ")
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    path = tmp_path / "socket"
    with serving(path) as process:
        devices = [Device(Isolated("nnapi-reference", service=path)) for _ in range(2)]
        compiled = [compile(model(), device) for device in devices]
        assert [each.run(X)[0].tolist() for each in compiled] == [[1, 2, 3, 4]] * 2
        assert {device.driver.pid for device in devices} == {process.pid}  # type: ignore[attr-defined]
        process.send_signal(end)
        assert process.wait(60) == 0
    assert not path.exists()
    for each, device in zip(compiled, devices, strict=True):
        with pytest.raises(DeadObjectError):
            each.run(X)
        device.close()


def test_low_priority_computes_in_a_process_that_gives_way(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path) as process:
        with Device(Isolated("nnapi-reference", service=path)) as device:
            assert compile(model(), device).run(X)[0].tolist() == [1, 2, 3, 4]
            assert children(process.pid) == [], "nobody needs it yet"
            low = compile(model(), device, priority=PriorityCode.PRIORITY_LOW)
            assert low.run(X)[0].tolist() == [1, 2, 3, 4]
            (child,) = children(process.pid)
            usual = os.getpriority(os.PRIO_PROCESS, process.pid)
            threads = [int(name) for name in os.listdir(f"/proc/{child}/task")]
            assert usual == os.getpriority(os.PRIO_PROCESS, 0)
            assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {min(usual + 10, 19)}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert comes_true(lambda: not is_running(child))


def children(pid: int) -> list[int]:
    """The processes that it has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in tasks for child in file.read_text().split()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/no/socket"], "cannot be served: No such file"),
        (["{}/socket", "--mode", "rw"], "rw are no permissions"),
        (["{}/socket", "-d", "no-device"], "no device 'no-device'"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["serve", *[argument.format(tmp_path) for argument in arguments]])
    assert result.exit_code != 0
    assert message in f"{result.output}{result.exception}"
