"""Drivers and models for tests of isolated drivers; their processes import this module too."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nnapi import Builder, DeviceTypeCode, Model, device, tensor
from nnapi.contract.driver import (
    CacheEntry,
    Capabilities,
    DeviceInfo,
    Driver,
    Outcome,
    Performance,
    Prepared,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.host_memory import HostBuffer
from nnapi.model.operand import OperandType


def reference() -> Driver:
    return device("nnapi-reference").driver


@dataclass
class Misbehaving:
    """The reference, which does harm in one phase at models that hold an operation of code ``operation``, or any.

    With ``once``, a file that is not there yet, only the first time.
    """

    harm: str
    phase: str
    operation: int | None = None
    once: str = ""
    version: str = "1"

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("misbehaving", self.version, DeviceTypeCode.DEVICE_ACCELERATOR, 8)

    def capabilities(self) -> Capabilities:
        return Capabilities(Performance(0.01, 0.01), launch_seconds=0.0)

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        self.strike("verdicts", model)
        return reference().verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.strike("prepare", model)
        return Executing(self, model, reference().prepare(model, options))

    def cache_entry(self, prepared: Prepared) -> bytes:
        return b"kept"

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        assert bytes(entry.content) == b"kept"
        self.strike("restore", model)
        return Executing(self, model, reference().prepare(model, options))

    def allocate(self, type: OperandType) -> HostBuffer:
        return HostBuffer()

    def strike(self, phase: str, model: Model) -> None:
        hit = self.operation is None or any(call.code == self.operation for call in model.operations)
        if phase != self.phase or not hit:
            return
        if self.once:
            if os.path.exists(self.once):
                return
            Path(self.once).touch()
        HARMS[self.harm]()


class Executing:
    def __init__(self, driver: Misbehaving, model: Model, prepared: Prepared) -> None:
        self._driver, self._model, self._prepared = driver, model, prepared

    def execute(self, request: Request) -> Outcome:
        self._driver.strike("execute", self._model)
        return self._prepared.execute(request)._replace(hardware_ns=5)

    def close(self) -> None:
        self._prepared.close()


def garbage(packet: bytes) -> None:
    """Send a packet through every socket of this process, and go on."""
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as found:
                found.send(packet)
        except OSError:
            continue
    time.sleep(1.0)  # it arrives before an answer does


def fault() -> None:
    ctypes.string_at(0)


def fragment() -> None:
    """Take and free 64 MiB in small pieces, with a used one behind them."""
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    pieces = [library.malloc(1 << 16) for _ in range(1 << 10)]
    for piece in pieces:
        ctypes.memset(piece, 1, 1 << 16)
    library.malloc(1 << 16)
    for piece in pieces:
        library.free(piece)


HARMS = {
    "abort": os.abort,
    "fault": fault,
    "exit": lambda: os._exit(3),
    "kill": lambda: (os.kill(os.getpid(), signal.SIGKILL), time.sleep(60)),
    "hang": lambda: time.sleep(600),
    "stop": lambda: (os.kill(os.getpid(), signal.SIGSTOP), time.sleep(0.2)),
    "late": lambda: time.sleep(2.0),
    "raise": lambda: 1 // 0,
    "fragment": fragment,
    "noise": lambda: garbage(b"\0garbage" * 20),
    "wrong": lambda: garbage(b"NNIP" + bytes([1, 0, 0, 0]) + b"\2\0\0\0{}"),
    "deep": lambda: garbage(b"NNIP" + bytes([1, 0, 0, 0]) + (20_000).to_bytes(4, "little") + b"[" * 20_000),
}


@dataclass
class Trying(Misbehaving):
    """The reference, which tries to do something at each model that it prepares: one line of ``harm`` after another."""

    harm: str
    phase: str = "never"

    def __post_init__(self) -> None:
        self._lines = iter(self.harm.splitlines())

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        what, _, rest = next(self._lines).partition(" ")
        ATTEMPTS[what](rest)
        return super().prepare(model, options)


def on_a_thread(_: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: socket.socket().close()).result()


def trace_nobody(_: str) -> None:
    """Attach to process 0, which does not exist."""
    if ctypes.CDLL(None, use_errno=True).ptrace(16, 0, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def take_descriptor(_: str) -> None:
    """Take a descriptor of this process by the call for those of others."""
    process = os.pidfd_open(os.getpid())
    if ctypes.CDLL(None, use_errno=True).syscall(438, process, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")


ATTEMPTS: dict[str, Callable[[str], object]] = {
    "socket": lambda _: socket.socket().close(),
    "thread's": on_a_thread,
    "pair": lambda _: [end.close() for end in socket.socketpair()],
    "read": lambda file: Path(file).read_text(),
    "write": lambda file: Path(file).write_text("new"),
    "append": lambda file: open(file, "a").close(),
    "make": lambda file: Path(file + "2").touch(),
    "remove": os.unlink,
    "rename": lambda file: os.rename(file, file + "3"),
    "cut": lambda file: os.truncate(file, 1),
    "fifo": lambda file: os.mkfifo(file + "4"),
    "node": lambda file: os.mknod(file + "5"),
    "mode": lambda file: os.chmod(file, 0o600),
    "owner": lambda file: os.chown(file, os.getuid(), -1),
    "times": os.utime,
    "attribute": lambda file: os.setxattr(file, "user.test", b"x"),
    "trace": trace_nobody,
    "descriptor": take_descriptor,
    "take": lambda megabytes: bytearray(int(megabytes) << 20),
}


class Asking(Misbehaving):
    """A driver that wants to have a process of its own."""

    isolated = True


def asking() -> Misbehaving:
    return Asking("abort", "never")


@dataclass
class Changing:
    """The reference under the version that a file holds."""

    path: str

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("changing", Path(self.path).read_text(), DeviceTypeCode.DEVICE_ACCELERATOR, 8)

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return reference().verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return reference().prepare(model, options)


class Unimportable:
    """Nobody can make it."""

    def __init__(self) -> None:
        raise RuntimeError("no engine here")


def model(*operations: str, size: int = 4, name: str = "model") -> Model:
    """One unary operation after the other on so many floats."""
    b = Builder(name)
    x = b.input(tensor("float32", (size,)))
    for operation in operations or ("abs",):
        x = getattr(b, operation)(x)
    b.output(x)
    return b.finish()


def is_running(pid: int | None) -> bool:
    """Whether the process is there, and no mere remnant."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pid: int | None) -> None:
    """End a process, if it has not ended since it was asked for."""
    if pid:  # 0 would be every process of this one's group
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":  # an application of its own: says the number of its driver's process, and waits
    from nnapi import Device, compile
    from nnapi.drivers.isolated import Isolated

    driver = Isolated("nnapi-reference")
    compiled = compile(model(), Device(driver))
    print(driver.pid, flush=True)
    sys.stdin.read()
