"""The functions that libnnapi_delegate.so calls through the bridge; importing this module registers them. In C,
delegates and partitions are numbers. A failing function returns 0 and sets nnapi_last_error of its thread."""

import os
from collections.abc import Callable
from typing import Any

from nnapi.capi._bridge import ffi, lib
from nnapi.delegate.delegate import Delegate
from nnapi.delegate.partition import NotClaimed, Partition
from nnapi.delegate.settings import DelegateSettings
from nnapi.errors import NnapiError
from nnapi.locks import Numbers

_numbers = Numbers()
_delegates: dict[int, Delegate] = {}
_parts: dict[int, Partition] = {}
_runs: dict[int, Callable[[], None]] = {}


def open_delegate(keys: Any, values: Any, length: int) -> int:
    options = {_text(keys[index]): _text(values[index]) for index in range(length)}
    number = next(_numbers)
    _delegates[number] = Delegate(DelegateSettings(options))
    return number


def close_delegate(number: int) -> None:
    _delegates.pop(number).close()


def choose(number: int, context: Any, claimed: Any) -> int:
    nodes = _delegates[number].choose(ffi.cast("TfLiteContext*", context))
    claimed[0] = len(nodes)
    for index, node in enumerate(nodes, 1):
        claimed[index] = node
    return 1


def open_part(delegate: int, context: Any, params: Any) -> int:
    number = next(_numbers)
    given = ffi.cast("TfLiteDelegateParams*", params)
    _parts[number] = _delegates[delegate].open_part(ffi.cast("TfLiteContext*", context), given)
    return number


def close_part(number: int) -> None:
    _runs.pop(number, None)
    _parts.pop(number).close()


def prepare(number: int, context: Any) -> int:
    _parts[number].prepare(ffi.cast("TfLiteContext*", context))
    return 1


def bind(number: int, context: Any) -> int:
    _runs[number] = _parts[number].bind(ffi.cast("TfLiteContext*", context))
    return 1


def run(number: int) -> int:
    _runs[number]()
    return 1


def _text(pointer: Any) -> str:
    return os.fsdecode(ffi.string(pointer))


def _report(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    """Set nnapi_last_error; cffi then returns 0 to the caller."""
    is_explained = isinstance(error, (NnapiError, NotClaimed))
    message = str(error) if is_explained else f"{kind.__name__}: {error}"
    lib.nnapi_bridge_say(f"nnapi: {message}".encode(errors="replace"))


ANSWERS: dict[str, Callable[..., int]] = {
    "open": open_delegate,
    "open_part": open_part,
    "choose": choose,
    "prepare": prepare,
    "bind": bind,
    "run": run,
}
for name, answer in ANSWERS.items():
    ffi.def_extern(name=f"py_delegate_{name}", error=0, onerror=_report)(answer)
ffi.def_extern(name="py_delegate_close")(close_delegate)
ffi.def_extern(name="py_delegate_close_part")(close_part)
