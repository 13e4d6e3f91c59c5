"""A service of misbehaving drivers in a process of its own, and clients that keep to no rule."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from nnapi import Device, Model, device
from nnapi.drivers.isolated import Isolated, plain_values
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.channel import ANSWER, BINDING, REQUEST, SIZE
from nnapi.drivers.isolated.constants import lay_out
from nnapi.drivers.isolated.descriptors import shared_file
from nnapi.drivers.isolated.protocol import Body, Message, receive, send
from nnapi.drivers.isolated.service import RATE, Service
from tests.drivers.isolated.isolated_cases import Misbehaving, is_running
from tests.warm_process import WarmPopen

OPTIONS = [1, 100, None, None, [], ""]
"""Of a preparation."""
SPANS = {"kind": "spans", "first": 0}
"""A question that is always answered."""


CONNECT = [
    sys.executable,
    "-c",
    "import sys\n"
    "from nnapi.drivers.isolated import Isolated\n"
    "driver = Isolated('nnapi-reference', service=sys.argv[1])\n"
    "driver.wait()\n"
    "print('in', flush=True)\n"
    "sys.stdin.read()\n",
]
"""Connect to a service until stdin ends."""


@contextmanager
def serving(path: Path, *options: str, harm: str = "", phase: str = "") -> Iterator[subprocess.Popen[str]]:
    """A service of the reference, and of a driver that does ``harm`` at an ABS in a ``phase``. It leaves nothing."""
    command = [sys.executable, "-m", "tests.drivers.isolated.service_cases", str(path), harm, phase, *options]
    with WarmPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "serving\n"
            yield process
            if process.poll() is None:
                process.terminate()
                assert process.wait(120) == 0
                assert process.stderr.read() == "", "nothing is printed, whatever applications do"
        finally:
            process.kill()


def workers(pid: int) -> list[int]:
    """The processes that a service has forked and not yet waited for."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in tasks for child in file.read_text().split() if is_running(int(child))]


def application(path: Path, name: str = "nnapi-reference") -> Device:
    return Device(Isolated(name, service=path))


def pid_of(found: Device) -> int:
    pid: int = found.driver.pid  # type: ignore[attr-defined]
    return pid


def counted(pid: int) -> int:
    """Descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


class RawClient:
    """A connection to a service without any of the care of the library."""

    def __init__(self, path: Path, name: str = "nnapi-reference") -> None:
        """Say hello; no ``name`` of a device is not to."""
        self.channels: list[RawChannel] = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(120)
        self.socket.connect(os.fspath(path))
        self.greeting: Body = {}
        if name:
            send(self.socket, {"kind": "hello", "device": name, "nice": 0})
            message = receive(self.socket)
            self.greeting = message.body if message else {}

    def channel(self, page: int | None = None, descriptors: Sequence[int] | None = None) -> RawChannel:
        """Open a channel, over a page that keeps its size if not over another one."""
        self.channels.append(RawChannel(self.socket, page, descriptors))
        return self.channels[-1]

    def is_ended(self) -> bool:
        """Return whether the service closes the connection, with or without a word."""
        try:
            while message := receive(self.socket):
                message.close()
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        """Close the connection, and its channels."""
        self.socket.close()
        for channel in self.channels:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RawChannel:
    """The application's side of a channel."""

    def __init__(self, main: socket.socket, page: int | None, descriptors: Sequence[int] | None) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(120)
        self.page = shared_file(SIZE, "page") if page is None else page
        self.bells = os.eventfd(0, os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)
        sent = [theirs.fileno(), self.page, *self.bells] if descriptors is None else descriptors
        self.runs = 0
        self.is_closed = False
        try:
            with theirs:
                send(main, {"kind": "channel"}, sent)
        except OSError:
            self.close()
            raise

    def ask(self, body: Body, descriptors: Sequence[int] = ()) -> Body:
        """Return the answer; nothing where the channel was closed."""
        with suppress(BrokenPipeError):
            send(self.socket, body, descriptors)
        try:
            message: Message | None = receive(self.socket)
        except ConnectionError:
            return {}
        if message is None:
            return {}
        message.close()
        return message.body

    def prepare(self, model: Model) -> int:
        """Describe a model and prepare it."""
        described, arrays = plain_values.of_model(model)
        layout, descriptors = lay_out(arrays)
        number = self.ask({"kind": "model", "model": described, "layout": layout}, descriptors)["model"]
        for descriptor in descriptors:
            os.close(descriptor)
        prepared: int = self.ask({"kind": "prepare", "model": number, "options": OPTIONS})["prepared"]
        return prepared

    def ring(self, binding: int = 0) -> None:
        """Ask for a run without a message."""
        self.runs += 1
        with mmap.mmap(self.page, SIZE) as page, memoryview(page).cast("Q") as words:
            words[BINDING] = binding
            words[REQUEST] = self.runs
        os.eventfd_write(self.bells[0], 1)

    def has_answered(self) -> bool:
        """Return whether the last run has ended."""
        with mmap.mmap(self.page, SIZE) as page, memoryview(page).cast("Q") as words:
            return bool(words[ANSWER] == self.runs)

    def close(self) -> None:
        """Close its descriptors, if that was not done before."""
        if self.is_closed:
            return
        self.is_closed = True
        self.socket.close()
        for descriptor in (self.page, *self.bells):
            os.close(descriptor)


def error_of(body: Body) -> str:
    """Return what an answer says went wrong; nothing where nothing did."""
    found: Any = body.get("error", (0, "", False))
    return str(found[1])


def main() -> None:
    """Serve until SIGTERM: ``PATH HARM PHASE [NAME=VALUE…]``, limits, ``applications``, ``rate`` and ``devices``."""
    path, harm, phase, *options = sys.argv[1:]
    said = dict(option.split("=") for option in options)
    drivers = {name: device(name).driver for name in said.pop("devices", "nnapi-reference").split(",")}
    rate = float(said.pop("rate", RATE))
    values = {name: float(value) if name == "seconds" else int(value) for name, value in said.items()}
    applications = int(values.pop("applications", 64))
    if harm:
        drivers["misbehaving"] = Misbehaving(harm, phase)
    allowance = Allowance()._replace(**values)  # type: ignore[arg-type]
    service = Service(path, drivers, allowance=allowance, applications=applications, rate=rate)
    signal.signal(signal.SIGTERM, lambda *_: service.close())
    print("serving", flush=True)
    service.run()


if __name__ == "__main__":
    main()
