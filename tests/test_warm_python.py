"""Programs in forks of a process that has imported nnapi end as Python itself does."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.rows import each_row
from tests.waiting import comes_true
from tests.warm_python import HEAD, warm_python

SHOW = """
import os, resource, signal, sys
print(sys.argv[1:], sys.orig_argv[1:2], sys.path[0] == "", __name__, os.getcwd(), os.environ.get("GIVEN"))
print(os.umask(0), resource.getrlimit(resource.RLIMIT_CORE), sys.stdin.read())
print(sorted(os.listdir("/proc/self/fd")), file=sys.stderr)
"""
needs_fork = pytest.mark.skipif(warm_python() == sys.executable, reason="no C compiler")


def run(python: str, *words: str, **options: object) -> tuple[int, str, str]:
    done = subprocess.run([python, *words], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    return done.returncode, done.stdout, done.stderr


@each_row(
    "words",
    [
        ["-c", "print('a')"],
        ["-c", "raise SystemExit(3)"],
        ["-c", "raise SystemExit('b')"],
        ["-c", "1 / 0"],
        ["-c", "def f(): raise OSError from ValueError()\nf()"],
        ["-c", "raise KeyboardInterrupt"],
        ["-c", "import os; os.kill(os.getpid(), 15)"],
        ["-c", "import sys; print('c'); sys.stdout.flush(); sys.stdout.close()"],
        ["-c", "import atexit, threading; atexit.register(print, 'd'); threading.Timer(0.01, print, 'e').start()"],
        ["-m", "nnapi", "info", "nowhere"],
        ["-W", "error", "-c", "print('f')"],
    ],
)
def test_it_prints_and_ends_as_python_does(words: list[str], tmp_path: Path) -> None:
    warm, cold = (run(python, *words, cwd=tmp_path) for python in (warm_python(), sys.executable))
    assert (warm[0], warm[1], warm[2].splitlines()[-1:]) == (cold[0], cold[1], cold[2].splitlines()[-1:])
    assert "warm_python" not in warm[2].replace(warm_python(), "")


@pytest.mark.parametrize("is_file", [False, True])
def test_it_inherits_what_python_does(tmp_path: Path, is_file: bool) -> None:
    (tmp_path / "show.py").write_text(SHOW)
    words = ["show.py" if is_file else "-c", *([] if is_file else [SHOW]), "x", "\udcff"]

    def limit() -> None:
        os.umask(0o31)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    given = {"cwd": tmp_path, "env": {**os.environ, "GIVEN": "\udcfe"}, "input": "read", "preexec_fn": limit}
    warm, cold = (run(python, *words, errors="surrogateescape", **given) for python in (warm_python(), sys.executable))
    assert warm == cold


@needs_fork
def test_nnapi_is_imported_before() -> None:
    code = "import sys; print('nnapi.cli' in sys.modules, 'ai_edge_litert' in sys.modules)"
    assert run(warm_python(), "-c", code) == (0, "True False\n", "")


@needs_fork
def test_variables_that_imports_read_start_python_itself() -> None:
    code = "import sys; print('nnapi' in sys.modules)"
    assert run(warm_python(), "-c", code, env={**os.environ, "PYTHONUTF8": "0"})[1] == "False\n"


def test_a_signal_reaches_the_program() -> None:
    code = "import signal, time\nsignal.signal(15, lambda *_: exit(7))\nprint(flush=True)\ntime.sleep(600)"
    with subprocess.Popen([warm_python(), "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 7


def test_the_program_does_not_outlive_its_starter() -> None:
    code = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
    with subprocess.Popen([warm_python(), "-c", code], stdout=subprocess.PIPE) as process:
        program = int(process.stdout.readline())
        process.kill()
    assert comes_true(lambda: not Path(f"/proc/{program}").exists())


@needs_fork
def test_starters_that_are_killed_leave_it_running() -> None:
    code = "import sys; print('nnapi' in sys.modules)"
    for delay in range(20):
        with subprocess.Popen([warm_python(), "-c", code], stdout=subprocess.DEVNULL) as process:
            time.sleep(delay / 5000)
            process.kill()
    address = str(Path(warm_python()).with_name("socket"))
    for sent in (b"", bytes(HEAD.size), HEAD.pack(0, 0, 9, 0, 0, *bytes(32))):
        with socket.socket(socket.AF_UNIX) as connection, open(os.devnull) as stream:
            connection.connect(address)
            if sent:
                socket.send_fds(connection, [sent], [stream.fileno()])
    assert run(warm_python(), "-c", code) == (0, "True\n", "")
