"""NNAPI_STRACE=SOCKET: report each call of the C library to that socket, where `nnapi strace` listens. A call is
reported when it begins and when it ends, so that hanging calls are visible. Calls implemented in C are not reported."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nnapi.capi.handles import Handles
from nnapi.capi.prototype import Function
from nnapi.codes import ResultCode

Call = Callable[..., Any]


@dataclass(frozen=True)
class Begin:
    """A message: a call has begun."""

    process: int
    thread: int
    function: str
    arguments: str


@dataclass(frozen=True)
class End:
    """A message: the last call that this thread began has ended. ``reason`` is the message of a failure."""

    process: int
    thread: int
    result: str
    outputs: str
    reason: str
    nanoseconds: int


def encode(message: Begin | End) -> bytes:
    return json.dumps(vars(message), ensure_ascii=False).encode(errors="replace")


def decode(data: bytes) -> Begin | End:
    fields = json.loads(data)
    return End(**fields) if "result" in fields else Begin(**fields)


class CallReporter:
    """Report the calls of this process to a listener. Safe to use from several threads."""

    def __init__(self, address: str, handles: Mapping[str, Handles], say: Callable[[str], None]) -> None:
        from nnapi.capi.call_text import CallFormatter  # needs the bridge; `nnapi strace` reports if that is missing

        self._formatter = CallFormatter(handles)
        self._here = threading.local()
        self._socket: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.connect(address)
        except OSError as error:
            say(f"NNAPI_STRACE: {address}: {error.strerror}")
            self._socket = None

    def watch(self, function: Function, call: Call) -> Call:
        """Return a function that calls the exported one and reports it; without a listener, the exported one itself."""
        return call if self._socket is None else lambda *raw: self._report(function, call, raw)

    def note(self, report: Callable[[str, BaseException], int]) -> Callable[[str, BaseException], int]:
        """Wrap the function that reports failures, so that the call's report includes the reason."""

        def report_and_keep(function: str, error: BaseException) -> int:
            self._here.reason = str(error) or type(error).__name__
            return report(function, error)

        return report_and_keep

    def _report(self, function: Function, call: Call, raw: tuple[Any, ...]) -> Any:
        here = os.getpid(), threading.get_native_id()
        self._send(Begin(*here, function.name, self._formatter.format_arguments(function, raw)))
        self._here.reason = ""
        begin = time.perf_counter_ns()
        result = call(*raw)
        spent = time.perf_counter_ns() - begin
        reason = self._here.reason
        stored = not reason or (function.returns_code and result in function.otherwise)
        outputs = self._formatter.format_results(function, raw) if stored else ""
        self._send(End(*here, _format_result(function, result), outputs, reason, spent))
        return result

    def _send(self, message: Begin | End) -> None:
        listener = self._socket
        if listener is not None:
            try:
                listener.send(encode(message), socket.MSG_NOSIGNAL)
            except OSError:  # the listener has ended
                self._socket = None


def _format_result(function: Function, result: Any) -> str:
    if function.returns_code:
        return ResultCode(result).name
    return "" if function.result == "void" else str(result).lower()
