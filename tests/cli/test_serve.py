"""``nnapi serve``: a process of its own, two applications, and the end."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nnapi import Device, compile
from nnapi.cli import app
from nnapi.drivers.isolated import Isolated
from nnapi.errors import DeadObjectError
from tests.drivers.isolated.isolated_cases import model

X = np.array([1, -2, 3, -4], np.float32)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    path = tmp_path / "socket"
    command = [sys.executable, "-m", "nnapi", "serve", str(path), "-d", "nnapi-reference"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving nnapi-reference at ")
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
