"""Processes of Python in tests that need not import NumPy and nnapi anew, under the numbers of their own.

`WarmPopen` is `subprocess.Popen`, but ``python -c``, ``python -m`` and ``python FILE.py`` are forks of the process of
`tests/warm_python.py`. They are children of the process that asks. With options that a fork lacks, in an environment
that imports read, and in a fork of the test's process, Python starts as always.
"""

from __future__ import annotations

import inspect
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from tests.warm_python import ANSWER, Request, start_server

LIMITS = 16
DEFAULTS = {
    **dict.fromkeys(("executable", "preexec_fn", "startupinfo", "uid", "gid", "gids")),
    **dict.fromkeys(("shell", "start_new_session"), False),
    **dict.fromkeys(("umask", "process_group"), -1),
    "close_fds": True,
}
"""Options that a fork does not have."""
STREAMS = "p2cread", "c2pwrite", "errwrite"
PYTHON = sys.executable
"""Tests replace the original."""
_owner = os.getpid()
_one_asks = threading.Lock()


class WarmPopen(subprocess.Popen[Any]):
    """A process that has imported nnapi before it starts."""

    is_warm = False

    def _execute_child(self, *values: Any) -> None:
        start: Any = super()._execute_child  # type: ignore[misc]
        given = inspect.signature(start).bind(*values).arguments
        pid = ask(given) if can_be_forked(given) else 0
        if pid <= 0:
            start(*values)
            return
        self.pid, self.is_warm, self._child_created = pid, True, True
        names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[name] for name in names))  # type: ignore[attr-defined]


def can_be_forked(given: dict[str, Any]) -> bool:
    is_python = isinstance(given["args"], (list, tuple)) and given["args"][0] == PYTHON
    is_plain = all(given.get(name, value) == value for name, value in DEFAULTS.items())
    return is_python and is_plain and os.getpid() == _owner


def ask(given: dict[str, Any]) -> int:
    """Return the number of a fork, or one below 1 if there is none."""
    server = start_server()
    if server is None:
        return 0
    streams = [number if given[name] == -1 else given[name] for number, name in enumerate(STREAMS)]
    numbers = sorted(given["pass_fds"])
    with open(os.memfd_create("request"), "w+b") as file:
        pickle.dump(vars(make_request(given, numbers)), file)
        file.flush()
        file.seek(0)
        folder = os.open(given["cwd"] or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            with _one_asks:
                socket.send_fds(server, [b"!"], [file.fileno(), *streams, folder, *numbers])
                pid: int = ANSWER.unpack(server.recv(ANSWER.size, socket.MSG_WAITALL))[0]
        finally:
            os.close(folder)
    return pid


def make_request(given: dict[str, Any], numbers: list[int]) -> Request:
    environment = os.environ if given["env"] is None else given["env"]
    os.umask(mask := os.umask(0))
    return Request(
        words=[os.fsencode(word) for word in given["args"]],
        environment={os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
        mask=mask,
        ignores_interrupts=signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
        limits=[resource.getrlimit(limit) for limit in range(LIMITS)],
        descriptors=[],
        numbers=numbers,
        blocked=signal.pthread_sigmask(signal.SIG_BLOCK, []),
        processors=os.sched_getaffinity(0),
    )
