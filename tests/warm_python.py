"""Python programs in tests that need not import NumPy and nnapi anew, which takes most of the time of a short one.

`warm_python()` is the path of a program that takes the arguments of `python`. It runs ``-c CODE``, ``-m MODULE`` and
``FILE.py`` in a fork of a process that has imported nnapi, without engines. With other arguments, or in an environment
that imports read, it becomes Python itself. Tests of imports, of the end of Python, of Ctrl-C and of sessions start
`sys.executable`. `tests/warm_process.py` starts forks that are children of the test's process.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import fcntl
import gc
import os
import pickle
import pkgutil
import platform
import resource
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import types
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from shutil import which

HEAD = struct.Struct(f"@5I{2 * 16}q")
"""As in warm_python.c: numbers of words and variables, their size, mask of new files, Ctrl-C is ignored; limits."""
ANSWER = struct.Struct("@i")
DESCRIPTORS = 4
REFUSED = -1
MOST_DESCRIPTORS = 64
CLONE_PARENT = 0x8000
CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of this system call."""
READ_BY_IMPORTS = (
    *("PYTHON", "LD_", "LC_", "LANG", "OPENBLAS", "OMP_", "MALLOC", "GLIBC", "ASAN", "NPY", "ANDROID_LOG"),
    *("DEBUG_NN_VLOG", "NNAPI_TRACE", "NNAPI_DROPIN", "NNAPI_PYTHON", "TERM", "FORCE_COLOR", "NO_COLOR"),
    *("PY_COLORS", "GITHUB_ACTIONS"),
)
"""How variables begin that Python, NumPy, Typer or nnapi read when they are imported."""
COLD = {
    *("__main__", "torch", "openvino", "webgpu", "qualcomm", "ethos_u"),
    *("litert", "xnnpack", "onnx", "cluster", "capi", "drop_in", "delegate"),
}
"""Modules and packages of nnapi that import other packages, or of which little would be used."""

ROOT = Path(__file__).resolve().parents[1]
_kept = tempfile.TemporaryDirectory(prefix="nnapi-warm-")


@cache
def warm_python() -> str:
    """Return the program's path: `sys.executable` without a C compiler."""
    compiler = which("gcc") or which("cc")
    if compiler is None or start_server() is None:
        return sys.executable
    made = Path(_kept.name, "python")
    macros = [f'-DSOCKET="{_kept.name}/socket"', f'-DPYTHON="{sys.executable}"']
    source = str(Path(__file__).with_suffix(".c"))
    subprocess.run([compiler, "-std=gnu11", "-O1", *macros, source, "-o", str(made)], check=True)
    made.with_name("nnapi").symlink_to(made)
    return str(made)


@cache
def start_server() -> socket.socket | None:
    """Start the process that forks; return the connection to it, or None if its socket's name would be too long."""
    if len(socket_path := f"{_kept.name}/socket") > 100:
        return None
    ours, theirs = socket.socketpair()
    with theirs, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path)
        listener.listen(16)
        passed = [listener.fileno(), theirs.fileno()]
        command = [sys.executable, "-m", "tests.warm_python", *map(str, passed)]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs.fileno())  # which cannot seek
        process = subprocess.Popen(command, pass_fds=passed, cwd=ROOT, **streams)  # type: ignore[call-overload]
    atexit.register(stop, process, ours)
    return ours


def stop(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    """End the process, so that its time is counted."""
    connection.close()
    process.wait()


@dataclass
class Request:
    """A program to run, and what it inherits."""

    words: list[bytes]
    environment: dict[bytes, bytes]
    mask: int
    ignores_interrupts: int
    limits: list[tuple[int, int]]
    descriptors: list[int]
    """Its streams, its folder, and those that become the ``numbers``."""
    numbers: list[int] = field(default_factory=list)
    blocked: set[int] = field(default_factory=set)
    """Signals."""
    processors: set[int] = field(default_factory=set)
    """Those it may run on; empty for all."""


def receive(connection: socket.socket) -> Request:
    content, control, _, _ = connection.recvmsg(HEAD.size, socket.CMSG_SPACE(DESCRIPTORS * 4))
    descriptors = list(array.array("i", control[0][2]))
    count, variables, size, mask, ignores_interrupts, *limits = HEAD.unpack(content)
    rest = b""
    while len(rest) < size:
        if not (received := connection.recv(size - len(rest))):
            raise ConnectionResetError
        rest += received
    texts = rest.split(b"\0")[: count + variables]
    environment = dict(text.split(b"=", 1) for text in texts[count:])
    pairs = list(zip(limits[::2], limits[1::2], strict=True))
    return Request(texts[:count], environment, mask, ignores_interrupts, pairs, descriptors)


def can_run(request: Request) -> bool:
    """Return whether a program would be the same without imports of its own."""
    names = request.environment.keys() | os.environb.keys()
    differing = (os.fsdecode(name) for name in names if request.environment.get(name) != os.environb.get(name))
    if any(map(os.isatty, request.descriptors)):
        return False
    is_program = len(request.words) > 1 and (request.words[1] in (b"-c", b"-m") or request.words[1].endswith(b".py"))
    return is_program and not any(name.startswith(READ_BY_IMPORTS) for name in differing)


def serve(listener: socket.socket, parent: socket.socket) -> Request:
    """Fork for each request, and tell how the fork ended. Return the request in the fork."""
    with selectors.DefaultSelector() as selector:
        selector.register(parent, selectors.EVENT_READ, partial(start_sibling, parent))
        selector.register(listener, selectors.EVENT_READ, partial(accept, listener, selector))
        while True:
            for key, _ in selector.select():
                if request := key.data():
                    return request


def start_sibling(parent: socket.socket) -> Request | None:
    """Fork for the process that started this one, whose child the fork is too. End with that process."""
    content, descriptors, _, _ = socket.recv_fds(parent, 1, MOST_DESCRIPTORS)
    if not content:
        os._exit(0)
    with open(descriptors.pop(0), "rb") as file:
        request = Request(**pickle.load(file) | {"descriptors": descriptors})
    pid = fork_sibling() if can_run(request) else REFUSED
    if pid == 0:
        return request
    for descriptor in descriptors:
        os.close(descriptor)
    parent.sendall(ANSWER.pack(pid))
    return None


def fork_sibling() -> int:
    """Fork, so that this process's parent is the fork's parent too, waits for it, and is told how it ended."""
    if (number := CLONE.get(platform.machine())) is None:
        return REFUSED
    if len(os.listdir("/proc/self/task")) > 1:
        os.waitpid(os.fork() or os._exit(0), 0)  # OpenBLAS ends its threads; the next call does not tell it of a fork
    ctypes.pythonapi.PyOS_BeforeFork()
    pid: int = ctypes.pythonapi.syscall(number, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    (ctypes.pythonapi.PyOS_AfterFork_Parent if pid else ctypes.pythonapi.PyOS_AfterFork_Child)()
    return pid


def accept(listener: socket.socket, selector: selectors.BaseSelector) -> Request | None:
    connection, _ = listener.accept()
    try:
        request = receive(connection)
    except (OSError, IndexError):  # the starter was killed before it had asked
        connection.close()
        return None
    pid = os.fork() if can_run(request) else REFUSED
    if pid == 0:
        return request
    for descriptor in request.descriptors:
        os.close(descriptor)
    if pid == REFUSED:
        connection.close()
    else:
        ended = os.pidfd_open(pid)
        with suppress(OSError):  # of a starter that was killed
            connection.sendall(ANSWER.pack(pid))
        selector.register(connection, selectors.EVENT_READ, partial(abandon, pid, connection, selector))
        selector.register(ended, selectors.EVENT_READ, partial(finish, pid, ended, connection, selector))
    return None


def abandon(pid: int, connection: socket.socket, selector: selectors.BaseSelector) -> None:
    """End a program whose starter was killed."""
    with suppress(KeyError, ProcessLookupError):  # if the program ended at the same time
        selector.unregister(connection)
        os.kill(pid, signal.SIGKILL)


def finish(pid: int, ended: int, connection: socket.socket, selector: selectors.BaseSelector) -> None:
    with suppress(KeyError):
        selector.unregister(connection)
    selector.unregister(ended)
    os.close(ended)
    with suppress(OSError), connection:
        connection.sendall(ANSWER.pack(os.waitpid(pid, 0)[1]))


def inherit(request: Request) -> None:
    """Give this process what the program has at its start."""
    os.fchdir(request.descriptors.pop(DESCRIPTORS - 1))
    take_descriptors(request.descriptors, [0, 1, 2, *request.numbers])
    os.environb.clear()
    os.environb.update(request.environment)
    os.umask(request.mask)
    for limit, (soft, hard) in enumerate(request.limits):
        if resource.getrlimit(limit) != (soft, hard):
            resource.setrlimit(limit, (soft, hard))
    signal.signal(signal.SIGINT, signal.SIG_IGN if request.ignores_interrupts else signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, request.blocked)
    if request.processors:
        os.sched_setaffinity(0, request.processors)


def take_descriptors(descriptors: list[int], numbers: list[int]) -> None:
    """Give descriptors these numbers, and close all others."""
    beyond = max(numbers) + 1
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, beyond) for descriptor in descriptors]
    for descriptor, number in zip(moved, numbers, strict=True):
        os.dup2(descriptor, number)
    for number, following in pairwise(sorted([*numbers, max(*descriptors, *moved) + 100])):
        os.closerange(number + 1, following)


def run(words: list[str]) -> None:
    """Run ``-c CODE``, ``-m MODULE`` or ``FILE.py`` as Python does."""
    sys.orig_argv = words
    sys.excepthook = lambda kind, error, trace: sys.__excepthook__(kind, error.with_traceback(skip_own(trace)), None)
    _, first, *rest = words
    if first == "-c":
        sys.argv, sys.path[0] = [first, *rest[1:]], ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    elif first == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        sys.modules.pop(rest[0], None)  # else runpy warns
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [first, *rest], str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


def skip_own(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Return the part of a traceback that begins in the program."""
    while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def keep(modules: list[types.ModuleType], names: list[str]) -> None:
    """Let the end of Python not free these modules, which takes longer than a fork."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))
    for name in names:
        del sys.modules[name]


def import_all(package: types.ModuleType) -> None:
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name.rpartition(".")[2] not in COLD:
            module = import_module(found.name)
            if found.ispkg:
                import_all(module)


if __name__ == "__main__":
    imported: list[str] = []
    atexit.register(lambda: keep([sys.modules[name] for name in imported], imported))  # as the last of all
    before = set(sys.modules)

    import nnapi

    import_all(nnapi)
    gc.collect()
    gc.freeze()
    imported += [name for name in sys.modules if name not in before]
    given = serve(*(socket.socket(fileno=int(word)) for word in sys.argv[1:]))
    inherit(given)
    run([os.fsdecode(word) for word in given.words])
