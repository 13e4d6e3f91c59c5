"""``nnapi serve``: a process of its own, two applications, and the end."""

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nnapi import Device, compile
from nnapi.cli import app
from nnapi.cli.failure import ExitCode
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.isolated import Isolated
from nnapi.errors import DeadObjectError, NnapiError
from tests.drivers.isolated.isolated_cases import model
from tests.drivers.isolated.service_cases import workers
from tests.warm_process import WarmPopen

X = np.array([1, -2, 3, -4], np.float32)


@contextmanager
def serving(path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A service of the reference, which does not outlive its test."""
    command = [sys.executable, "-m", "nnapi", "serve", str(path), "-d", "nnapi-reference", *options]
    with WarmPopen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("serving nnapi-reference at ")
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_ended(tmp_path: Path, end: signal.Signals) -> None:
    path = tmp_path / "socket"
    with serving(path) as process:
        devices = [Device(Isolated("nnapi-reference", service=path)) for _ in range(2)]
        compiled = [compile(model(), device) for device in devices]
        assert [each.run(X)[0].tolist() for each in compiled] == [[1, 2, 3, 4]] * 2
        assert sorted(device.driver.pid for device in devices) == sorted(workers(process.pid))  # type: ignore[attr-defined]
        process.send_signal(end)
        assert process.wait(60) == (130 if end is signal.SIGINT else 0)
    assert not path.exists()
    for each, device in zip(compiled, devices, strict=True):
        with pytest.raises(DeadObjectError):
            each.run(X)
        device.close()


@pytest.mark.slow
def test_its_limits_are_those_of_the_options(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    options = ["--applications", "8", "--memory", "512", "--models", "1", "--threads", "7", "--descriptors", "99"]
    with serving(path, *options) as process, Device(Isolated("nnapi-reference", service=path)) as device:
        first = compile(model(), device)
        assert first.run(X)[0].tolist() == [1, 2, 3, 4]
        (worker,) = workers(process.pid)
        limits = [resource.prlimit(worker, kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_DATA)]
        assert limits[0] == 99
        assert 512 << 20 < limits[1] < 4 << 30
        with pytest.raises(NnapiError, match=r"as many as the service allows one \(nnapi serve --models\)"):
            device.driver.prepare(model("neg"), PrepareOptions())


def test_a_file_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_text("content")
    result = CliRunner().invoke(app, ["serve", str(file), "-d", "nnapi-reference"])
    assert result.exit_code != 0
    assert f"{file} cannot be served: the file exists and is not a socket" in f"{result.output}{result.exception}"
    assert file.read_text() == "content"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{}/no/socket"], ExitCode.BAD_INPUT, "cannot be served: No such file"),
        (["{}/socket", "--mode", "rw"], ExitCode.BAD_INPUT, "--mode is rw, must be three octal digits"),
        (["{}/socket", "-d", "no-device"], ExitCode.NO_DEVICE, "no device 'no-device'"),
        (["{}/socket", "--models", "0"], ExitCode.BAD_INPUT, "models is 0, must be above 0"),
        (["{}/socket", "--rate", "-1"], ExitCode.BAD_INPUT, "--rate is -1, must be above 0"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: list[str], code: ExitCode, message: str) -> None:
    result = CliRunner().invoke(app, ["serve", *[argument.format(tmp_path) for argument in arguments]])
    assert result.exit_code == code
    assert message in f"{result.output}{result.exception}"
