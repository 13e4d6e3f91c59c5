"""Both sides of a connection in this process, so that a test can hold the driver where it is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from nnapi import Model
from nnapi.contract.driver import Driver, Outcome, Prepared, PrepareOptions, Request, Verdict
from nnapi.drivers.isolated import connection as connection_module
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.connection_server import Server
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.session import Session
from tests.drivers.isolated.isolated_cases import Misbehaving, reference

STATUS = "its process ended with status 7"


class Loopback:
    """A thread that acts as a driver's process; it ends with its connection."""

    descriptor: int | None = None

    def __init__(
        self, driver: Driver | None = None, session: Session | None = None, *, by_itself: bool = False, said: str = ""
    ) -> None:
        """Without a ``driver`` nobody answers; ``by_itself`` and ``said`` are what is told at the end."""
        self.connection, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = 0
        self.hello: Body = {}
        self.session = session or Session()
        self.told: list[Any] = []
        self._by_itself, self._said = by_itself, said
        self._thread: threading.Thread | None = None
        if driver is not None:
            self._driver = driver
            server = Server(self.theirs, self._find, self.session)
            self._thread = threading.Thread(target=server.run, daemon=True)
            self._thread.start()

    def _find(self, body: Body) -> Driver:
        self.hello = body
        return self._driver

    def end(self, patience: float = 0) -> tuple[str, bool]:
        self.told += ["end", patience] if patience else ["end"]
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        return STATUS, self._by_itself

    def read_last_words(self) -> str:
        return self._said

    def close(self) -> None:
        self.told.append("close")
        self.connection.close()
        if self._thread is not None:
            self._thread.join()
        self.theirs.close()

    def leave(self) -> None:
        self.told.append("leave")


class Holding(Misbehaving):
    """The reference, whose phases wait until the test lets them go on."""

    def __init__(self, *phases: str) -> None:
        super().__init__("", "")
        self.phases = phases
        self.go_on, self.arrived = threading.Event(), threading.Semaphore(0)
        self.harms: dict[str, Callable[[], object]] = {}

    def strike(self, phase: str, model: Model) -> None:
        if phase in self.phases:
            self.arrived.release()
            self.go_on.wait(60)
        if phase in self.harms:
            self.harms[phase]()


class Bare:
    """A driver that has only what every driver has."""

    info = Misbehaving("", "").info

    def __init__(self, execute: Callable[[Request], Outcome] | None = None) -> None:
        self._execute = execute

    def capabilities(self) -> Any:
        return Misbehaving("", "").capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return reference().verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return BarePrepared(self._execute or reference().prepare(model, options).execute)


class BarePrepared:
    def __init__(self, execute: Callable[[Request], Outcome]) -> None:
        self._execute = execute
        self.is_closed = False

    def execute(self, request: Request) -> Outcome:
        return self._execute(request)

    def close(self) -> None:
        self.is_closed = True


@contextmanager
def connected(
    driver: Driver | None = None,
    *,
    process: Loopback | None = None,
    patience: float | None = None,
    grace: float = 60.0,
    limited: str = "",
) -> Iterator[tuple[Connection, Loopback]]:
    """A connection to a driver, the reference by default, and the thread that acts as its process."""
    made = process or Loopback(driver or reference())
    connection = Connection("test", {"device": ""}, patience, grace, lambda: made, limited)  # type: ignore[arg-type,return-value]
    try:
        yield connection, made
    finally:
        if isinstance(driver, Holding):
            driver.go_on.set()
        connection.close()


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on it is 100 s."""
    monkeypatch.setattr(connection_module, "time", type("Clock", (), {"monotonic": staticmethod(lambda: 100.0)}))


class StandIn:
    """A channel that notes what it is told, and finds what it was made with."""

    def __init__(self, found: Any, status: int = 0) -> None:
        self.socket, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.found, self.status = found, status
        self.words = [0] * 16
        self.runs, self.is_lost = 4, False
        self.told: list[tuple[int, int]] = []
        self.waited: list[tuple[Any, ...]] = []
        self.bindings: dict[Any, Any] = {}

    def tell(self, word: int, value: int) -> None:
        self.told.append((word, value))
        self.words[9] = self.status

    def wait(self, *args: Any) -> Any:
        self.waited.append(args)
        return self.found

    def wait_for_message(self, end: float | None) -> Any:
        self.waited.append((end,))
        return self.found

    def close(self) -> None:
        self.socket.close()
        self.theirs.close()
