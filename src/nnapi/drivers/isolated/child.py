"""The process of a driver: ``python -m nnapi.drivers.isolated.child CONNECTION OUTPUT PARENT``. It serves one
connection and ends with it or with the application."""

import ctypes
import gc
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

from nnapi.contract.driver import Driver
from nnapi.drivers.isolated.connection_server import Server
from nnapi.drivers.isolated.process_limits import forbid, limit_memory, lower_priority
from nnapi.drivers.isolated.protocol import Body
from nnapi.errors import UnavailableDeviceError
from nnapi.host.engine_output import share_output
from nnapi.host.installed_packages import Entry, find_entries

GROUP = "nnapi.drivers"
PR_SET_PDEATHSIG = 1


def main() -> None:
    connection, output, parent = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the process group: the application decides
    end_with(parent)
    share_output(output)
    watch_abort()
    Server(socket.socket(fileno=connection), find_driver).run()
    sys.stdout.flush()
    os._exit(0)  # threads of the engine may be computing


def end_with(parent: int) -> None:
    """Ask the system to kill this process when the thread that started it ends, which is when the application ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def watch_abort() -> None:
    """End by SIGTERM, which is not blamed on an operation, if another process sends SIGABRT. All threads block SIGABRT
    from the start; this one waits for it. abort() still works: it unblocks the signal in its own thread."""
    threading.Thread(target=_await_abort, name="nnapi-abort", daemon=True).start()


def _await_abort() -> None:
    sender = signal.sigwaitinfo({signal.SIGABRT}).si_pid
    if sender == os.getpid():
        os.abort()
    os.write(2, f"SIGABRT came from process {sender}\n".encode())
    os.kill(os.getpid(), signal.SIGTERM)


def find_driver(body: Body) -> Driver:
    """Return the driver that the application asks for, after setting the process's limits."""
    sys.path[:] = body["path"]
    limits = body["limits"]
    if limits["memory"] is not None:
        limit_memory(limits["memory"])
    if not (limits["network"] and limits["files"]):
        forbid(sockets=not limits["network"], writing=not limits["files"])
    broken: list[str] = []
    for driver in _find_drivers(body, broken):
        if not body["device"] or driver.info.name == body["device"]:
            lower_priority(body["nice"])  # late, as it would slow the start on a busy machine
            gc.freeze()  # keep libraries' objects out of garbage collections
            return driver
    reasons = "".join(f"; {reason}" for reason in broken)
    raise UnavailableDeviceError(f"no driver of {body['device'] or body['entry']} is installed{reasons}")


def _find_drivers(body: Body, broken: list[str]) -> Iterator[Driver]:
    if body["pickle"]:
        yield from _drivers(pickle.loads(bytes.fromhex(body["pickle"])))
    elif body["entry"]:
        yield from _drivers(Entry(body["entry"], body["entry"]).load())
    else:
        entries = [entry for entry in find_entries(GROUP) if not entry.name.startswith(".")]
        for entry in sorted(entries, key=lambda entry: entry.name != body["device"]):
            try:
                found = _drivers(entry.load())
            except Exception as error:
                if entry.name == body["device"]:
                    broken.append(f"it cannot be loaded: {error!r}")
                continue
            yield from found


def _drivers(loaded: Any) -> list[Driver]:
    """Return the drivers of an entry point: a driver, or a callable that returns one or several."""
    made = loaded() if isinstance(loaded, type) or not isinstance(loaded, Driver) else loaded
    return made if isinstance(made, list) else [made]


if __name__ == "__main__":
    main()
