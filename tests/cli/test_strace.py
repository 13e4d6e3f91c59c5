"""`nnapi strace`: calls as lines and as counts, and the program's own end."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from nnapi.capi import installation
from nnapi.capi.strace import Begin, End
from nnapi.cli import app, strace
from nnapi.cli.strace import Calls, is_wanted

built = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))
COUNT = "from nnapi.capi.client import library; import ctypes, os; n = ctypes.c_uint32()\n"
COUNT += "library().ANeuralNetworks_getDeviceCount(ctypes.byref(n)); library().ANeuralNetworks_getDeviceCount(None)\n"


def seen(filters: list[str], *messages: Begin | End) -> tuple[Calls, str]:
    lines = io.StringIO()
    calls = Calls(lines, filters)
    for message in messages:
        calls.add(message)
    calls.end()
    return calls, lines.getvalue()


CREATE = Begin(1, 1, "ANeuralNetworksModel_create", ""), End(1, 1, "NO_ERROR", "model=0x1000", "", 1500)
WAIT = Begin(1, 2, "ANeuralNetworksEvent_wait", "event=0x1010")
FINISH = Begin(1, 1, "ANeuralNetworksModel_finish", "model=0x1000"), End(1, 1, "BAD_DATA", "", "no inputs", 2000)


def test_lines() -> None:
    calls, lines = seen([], WAIT, *CREATE, *FINISH)
    assert lines.splitlines() == [
        "ANeuralNetworksModel_create() = NO_ERROR model=0x1000 <1.5 µs>",
        "ANeuralNetworksModel_finish(model=0x1000) = BAD_DATA (no inputs) <2.0 µs>",
        "[2] ANeuralNetworksEvent_wait(event=0x1010) unfinished",
    ]
    assert calls.summarize() == (
        "2 calls of 2 functions in 0.0035 ms, 1 failed, 1 unfinished; "
        "most time in ANeuralNetworksModel_finish (0.002 ms)"
    )


def test_counts() -> None:
    calls, _ = seen([], *CREATE, *FINISH, *FINISH)
    table = io.StringIO()
    calls.print_counts(table)
    assert [line.split() for line in table.getvalue().splitlines()[1:]] == [
        ["0.004", "2.0", "2.0", "2", "2", "ANeuralNetworksModel_finish"],
        ["0.002", "1.5", "1.5", "1", "ANeuralNetworksModel_create"],
    ]


def test_filters_choose_lines_counts_and_summary() -> None:
    calls, lines = seen(["Model_*", "!*_create"], WAIT, *CREATE, *FINISH)
    assert [line.partition("(")[0] for line in lines.splitlines()] == ["ANeuralNetworksModel_finish"]
    assert list(calls.counts) == ["ANeuralNetworksModel_finish"]
    assert calls.summarize().startswith("1 call of 1 function in ")
    assert seen(["Burst_*"], *CREATE)[0].summarize() == "no call to libneuralnetworks.so that the filter lets through"


@pytest.mark.parametrize(
    ("name", "filters", "wanted"),
    [
        ("ANeuralNetworksModel_free", [], True),
        ("ANeuralNetworksModel_free", ["!*_free"], False),
        ("ANeuralNetworksModel_create", ["!*_free"], True),
        ("ANeuralNetworksModel_create", ["ANeuralNetworksModel_create"], True),
        ("ANeuralNetworksModel_create", ["Memory_*", "Model_*"], True),
        ("AHardwareBuffer_lock", ["Memory_*"], False),
    ],
)
def test_filters(name: str, filters: list[str], wanted: bool) -> None:
    assert is_wanted(name, filters) == wanted


@pytest.mark.slow
@built
def test_a_program_is_shown_and_its_exit_code_kept(tmp_path: Path) -> None:
    file = tmp_path / "calls.txt"
    words = ["strace", "-o", str(file), "--", sys.executable, "-c", COUNT + "raise SystemExit(3)"]
    result = CliRunner().invoke(app, words, env={"DEBUG_NN_CPUONLY": "1", "NNAPI_QUIET": "1"})
    assert result.exit_code == 3, result.output
    first, second, last = file.read_text().splitlines()
    assert first.startswith("ANeuralNetworks_getDeviceCount() = NO_ERROR numDevices=1 <")
    assert second.startswith("ANeuralNetworks_getDeviceCount() = UNEXPECTED_NULL (numDevices is null) <")
    assert last.startswith("nnapi: 2 calls of 1 function in ")


@built
def test_a_program_that_is_killed_leaves_its_counts() -> None:
    end = f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    result = CliRunner().invoke(
        app, ["strace", "-c", "--", sys.executable, "-c", COUNT + end], env={"NNAPI_QUIET": "1"}
    )
    assert result.exit_code == 128 + signal.SIGKILL
    assert result.stderr.splitlines()[1].split()[-3:] == ["2", "1", "ANeuralNetworks_getDeviceCount"]


@pytest.mark.slow
@built
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_program_and_no_folder_is_left(number: signal.Signals) -> None:
    program = "import time; print('ready', flush=True); time.sleep(600)"
    words = [sys.executable, "-m", "nnapi", "strace", "--", sys.executable, "-c", program]
    with tempfile.TemporaryDirectory() as folder:  # its path is short enough for a socket
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": folder}, start_new_session=True
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == b"ready\n"
            assert len(os.listdir(folder)) == 1
            running.send_signal(number)
            assert running.wait(300) == 128 + number
        assert os.listdir(folder) == []


def test_ctrl_c_of_a_terminal_reaches_the_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal sends it to both."""
    sent: list[int] = []
    running = SimpleNamespace(send_signal=sent.append)
    for in_foreground in (True, False):
        monkeypatch.setattr(strace, "is_in_foreground", lambda is_so=in_foreground: is_so)
        for number in (signal.SIGINT, signal.SIGTERM):
            strace._pass_on(running, number, None)  # type: ignore[arg-type]
    assert sent == [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]


def test_the_foreground_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    parent, terminal = os.openpty()
    monkeypatch.setattr(strace, "TERMINAL", os.ttyname(terminal))
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    assert strace.is_in_foreground()
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
    assert not strace.is_in_foreground()
    os.close(terminal)
    os.close(parent)
    monkeypatch.setattr(strace, "TERMINAL", "/no/such/terminal")
    assert not strace.is_in_foreground()


@built
def test_mistakes(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["strace", "--", str(tmp_path / "nowhere")])
    assert (result.exit_code, result.stderr) == (
        2,
        f"nnapi: {tmp_path}/nowhere cannot be run: No such file or directory\n",
    )
    result = CliRunner().invoke(app, ["strace", "--", "true"], env=dict(os.environ))
    assert (result.exit_code, result.stderr) == (0, "nnapi: no call to libneuralnetworks.so\n")


@pytest.mark.slow
def test_names_the_reason_where_the_library_was_not_built() -> None:
    program = "import sys; sys.modules['nnapi.capi._bridge'] = None; from nnapi.cli import main; main()"
    words = [sys.executable, "-c", program, "strace", "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert "and the package again: pip install " in done.stderr
