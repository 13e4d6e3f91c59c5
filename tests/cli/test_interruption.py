"""Ctrl-C and SIGTERM: a command ends wherever it is, with a code for scripts, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.waiting import comes_true

pytestmark = pytest.mark.usefixtures("interruptible")

BEGIN = """
import ctypes, signal, sys, time, types
from nnapi.cli import main
from nnapi.store.temporary import temporary_folder

def devices():
    with temporary_folder("test"):
        print("results", end="\\n")
        sys.stderr.write("ready\\n")
        sys.stderr.flush()
        {work}

sys.modules["nnapi.cli.devices"] = types.SimpleNamespace(devices=devices)
sys.argv = ["nnapi", "devices"]
main()
"""
IN_PYTHON = "while True: time.sleep(0.01)"
# The main thread does not see the signal, as inside an engine.
IN_AN_ENGINE = "signal.pthread_sigmask(signal.SIG_BLOCK, {2, 15}); ctypes.CDLL(None).sleep(600)"
IN_A_FINALIZER = """
        class Engine:
            def __del__(self):
                time.sleep(600)
        Engine()
        time.sleep(600)"""


def is_running(pid: int) -> bool:
    """A killed process stays a zombie until init collects it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("work", [IN_PYTHON, IN_AN_ENGINE, IN_A_FINALIZER], ids=["Python", "engine", "finalizer"])
def test_it_ends_with_the_signals_code_and_no_folder(work: str, number: signal.Signals, tmp_path: Path) -> None:
    code = [sys.executable, "-c", BEGIN.format(work=work)]
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=there) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "ready\n"
        assert [path.name.startswith("nnapi-test-") for path in tmp_path.iterdir()] == [True]
        running.send_signal(number)
        out, err = running.communicate(timeout=300)
    assert (running.returncode, out, err) == (128 + number, "results\n", "nnapi: stopped\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [IN_PYTHON, IN_AN_ENGINE], ids=["Python", "engine"])
def test_processes_that_it_started_end_too(place: str) -> None:
    work = f"import subprocess; subprocess.Popen(['sh', '-c', 'sleep 600 & echo $!; wait'])\n        {place}"
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(work=work)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        grandchild = int(running.stdout.readline())
        running.send_signal(signal.SIGTERM)
        assert running.wait(300) == 143
    assert comes_true(lambda: not is_running(grandchild))


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    """As SIGHUP after ``nohup``, and SIGINT in the background of a script."""
    work = "import os; os.kill(os.getpid(), signal.SIGHUP); os.kill(os.getpid(), signal.SIGINT)"
    before = "import signal; signal.signal(1, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN)\n"
    done = subprocess.run([sys.executable, "-c", before + BEGIN.format(work=work)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "ready\n")


def test_a_command_may_handle_a_signal_itself() -> None:
    work = """
        from nnapi.cli.interruption import handlers
        import os
        with handlers({2: lambda *_: None}):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1.5)
        sys.stderr.write("mine\\n")
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)"""
    done = subprocess.run([sys.executable, "-c", BEGIN.format(work=work)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "ready\nmine\nnnapi: stopped\n")


@pytest.mark.skipif(find_spec("nnapi.cli._signals") is None, reason="pip found no C compiler")
def test_it_ends_while_an_engine_holds_the_gil() -> None:
    """LiteRT holds it for as long as it prepares a graph."""
    work = "signal.pthread_sigmask(signal.SIG_BLOCK, {2}); ctypes.PyDLL(None).sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(work=work)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(300) == 130


WRITING = """
import ctypes, signal, sys, types
from nnapi.cli import main
from nnapi.store.files import output_file

def devices():
    with output_file({path!r}) as file:
        file.write(b"a part")
        signal.pthread_sigmask(signal.SIG_BLOCK, {{2, 15}})
        sys.stderr.write("ready\\n")
        sys.stderr.flush()
        ctypes.CDLL(None).sleep(600)

sys.modules["nnapi.cli.devices"] = types.SimpleNamespace(devices=devices)
sys.argv = ["nnapi", "devices"]
main()
"""


def test_an_unfinished_file_is_removed(tmp_path: Path) -> None:
    """A part of it is written beside the old one when the process must end."""
    (tmp_path / "out").write_text("old")
    code = [sys.executable, "-c", WRITING.format(path=str(tmp_path / "out"))]
    with subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 2
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=300)
    assert running.returncode == 130
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
