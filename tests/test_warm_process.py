"""Forks of a process that has imported nnapi, as children of this one."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from tests.warm_process import WarmPopen

SHOW = """
import os, signal, sys
print(os.getpid(), os.getppid(), os.getcwd(), os.environ.get("GIVEN"), sys.argv, "nnapi" in sys.modules)
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), os.sched_getaffinity(0), sys.stdin.read())
print([number for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}")], file=sys.stderr)
"""
IMPORTED = "import sys; print('nnapi' in sys.modules)"


def run(*words: str, **options: Any) -> tuple[bool, int, str, str]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with WarmPopen([sys.executable, *words], **{**pipes, "text": True, **options}) as process:
        output, errors = process.communicate("read")
    return process.is_warm, process.returncode, output, errors


def test_it_is_a_child_of_this_process(tmp_path: Path) -> None:
    with WarmPopen(
        [sys.executable, "-c", SHOW, "x"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "GIVEN": "\udcfe"},
        errors="surrogateescape",
    ) as process:
        output = process.communicate()[0]
    assert process.is_warm
    first = f"{process.pid} {os.getpid()} {tmp_path} \udcfe ['-c', 'x'] True"
    assert output.splitlines() == [first, f"[] {os.sched_getaffinity(0)} "]


def test_it_inherits_descriptors_under_their_numbers_and_blocked_signals() -> None:
    read, write = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})
    code = f"import os, signal\nos.write({write}, b'sent')\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    listed = f"{code}\nprint(sorted(os.listdir('/proc/self/fd')))"
    try:
        found = run("-c", listed, pass_fds=[write])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    listing = sorted(["0", "1", "2", str(write), "3" if write != 3 else "4"])
    assert found == (True, 0, f"{{{signal.SIGABRT!r}}}\n{listing}\n", "")
    assert os.read(read, 9) == b"sent"
    for number in (read, write):
        os.close(number)


@each_row(
    ("code", "status"),
    [
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import os; os._exit(4)", 4),
    ],
)
def test_its_end_is_told(code: str, status: int) -> None:
    assert run("-c", code)[:3] == (True, status, "")


@each_row(
    "options",
    [
        {"env": {**os.environ, "PYTHONUTF8": "0"}},
        {"start_new_session": True},
        {"preexec_fn": lambda: None},
        {"shell": True, "executable": sys.executable},
    ],
)
def test_other_processes_start_as_always(options: dict[str, Any]) -> None:
    assert not run("-c", IMPORTED, **options)[0]


def test_a_fork_of_this_process_starts_its_own_children() -> None:
    pid = os.fork()
    if pid == 0:
        warm, status, *_ = run("-c", IMPORTED)
        os._exit(warm or status)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        run("-c", IMPORTED, cwd="/nowhere")
