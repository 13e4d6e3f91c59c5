"""The Python side of libneuralnetworks.so; importing this module connects the exported functions to the runtime."""

import atexit
import logging
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from nnapi.capi._bridge import ffi, lib
from nnapi.capi.calls import compile_function
from nnapi.capi.diagnostics import Diagnostics
from nnapi.capi.functions import FUNCTIONS, NO_TIMING
from nnapi.capi.handles import Handles
from nnapi.capi.prototype import HANDLES, Function
from nnapi.capi.record import Recorder
from nnapi.capi.strace import CallReporter
from nnapi.capi.support_library import (
    cache_in_descriptors,
    each_extension_type,
    each_performance,
    extension_at,
    no_cache_files,
    performance,
)
from nnapi.codes import BYTE_SIZE_OF_CACHE_TOKEN, ResultCode
from nnapi.errors import BadDataError, BadStateError, NnapiError, UnexpectedNullError, need
from nnapi.exits import call_after_preparing, hurry, must_skip_destructors
from nnapi.forks import after_fork, before_fork
from nnapi.locks import make_lock
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device, devices
from nnapi.runtime.event import Event
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import HardwareBuffer, MemoryDesc, copy_memory
from nnapi.trace import begin_async_section, begin_section, end_async_section, end_section, is_enabled

LONGEST = 1 << 62
"""Maximum bytes of a buffer in Python; the runtime's limits are far lower."""

HANDLES_OF = {kind: Handles(kind) for kind in HANDLES.values()}
QUIET = os.environ.get("NNAPI_QUIET", "0") not in ("", "0")

ANSWERS: dict[str, Callable[..., Any]] = {}
DIAGNOSTICS = Diagnostics(HANDLES_OF)

_registering = make_lock()
_texts: dict[str, Any] = {}
_holders: dict[int, int] = {}
"""Reference counts of hardware buffers, except those that were never acquired."""
_holding = make_lock()


# Failing


def code_of(error: BaseException) -> int:
    """Return the result code for any exception."""
    if isinstance(error, NnapiError):
        return int(error.code)
    return int(ResultCode.OUT_OF_MEMORY if isinstance(error, MemoryError) else ResultCode.OP_FAILED)


def report_failure(function: str, error: BaseException) -> int:
    """Report an error: print a line on stderr, and set the message of nnapi_last_error for this thread."""
    code = ResultCode(code_of(error))
    message = str(error) if isinstance(error, NnapiError) else f"{type(error).__name__}: {error}"
    line = f"{function}: {code.name}: {message}"
    lib.nnapi_bridge_say(line.encode(errors="replace"))
    say(line)
    return int(code)


def say(line: str) -> None:
    """Print a line on stderr, unless NNAPI_QUIET is set."""
    if not QUIET:
        os.write(2, f"nnapi: {line}\n".encode(errors="replace"))


# Conversion of C's arguments to Python's values


def operand_type(type: Any) -> OperandType:
    count, listed = type.dimensionCount, type.dimensions
    need(
        bool(count) == bool(listed),
        f"dimensionCount is {count}, but dimensions are {'given' if listed else 'null'}",
        BadDataError,
    )
    return OperandType(type.type, tuple(ffi.unpack(listed, count)) if count else (), type.scale, type.zeroPoint)


def channel_scales(params: Any) -> tuple[int, list[float] | None]:
    return params.channelDim, ffi.unpack(params.scales, params.scaleCount) if params.scales else None


def buffer_desc(desc: Any) -> tuple[int, int, int, int, int]:
    return desc.width, desc.height, desc.layers, desc.format, desc.usage


def memory_at(pointer: Any, length: int) -> memoryview:
    return memoryview(ffi.buffer(pointer, min(length, LONGEST)))


def string(pointer: Any) -> str:
    text = ffi.string(pointer)
    assert isinstance(text, bytes)
    return os.fsdecode(text)


def read_token(pointer: Any) -> bytes:
    return bytes(ffi.buffer(pointer, BYTE_SIZE_OF_CACHE_TOKEN))


def objects(handles: Handles, pointer: Any, count: int) -> list[Any]:
    return [handles[handle] if handle else None for handle in ffi.unpack(pointer, count)]


# Conversion of Python's results to C


def store(target: Any, values: Sequence[int]) -> None:
    for index, value in enumerate(values):
        target[index] = value


def keep_text(text: str) -> Any:
    """Return a C string that lives as long as the process."""
    known = _texts.get(text)
    return _texts.setdefault(text, ffi.new("char[]", text.encode())) if known is None else known  # atomic


def to_signed(number: int) -> int:
    """Return a type number as int32_t, as C passes it."""
    return number - (1 << 32) if number >= 1 << 31 else number


@cache
def devices_here() -> list[Device]:
    return devices()


def device_at(index: int) -> Device:
    found = devices_here()
    need(index < len(found), f"device {index} does not exist, there are {len(found)}", BadDataError)
    return found[index]


def to_timing(nanoseconds: int | None) -> int:
    return NO_TIMING if nanoseconds is None else nanoseconds


def need_idle(execution: Execution) -> None:
    running = execution.state.value == "computation"
    need(not running, "the execution is running, wait for its event first; it is not freed", BadStateError)


# Hardware buffers


def unlock(buffer: HardwareBuffer) -> int:
    """Unlock a buffer and return -1 as its fence: there is nothing to wait for."""
    buffer.unlock()
    return -1


def describe(buffer: HardwareBuffer, desc: Any) -> None:
    ffi.memmove(desc, ffi.new("AHardwareBuffer_Desc*"), ffi.sizeof("AHardwareBuffer_Desc"))
    desc.width, desc.height, desc.layers, desc.format = buffer.width, buffer.height, buffer.layers, buffer.format
    desc.usage, desc.stride = buffer.usage, buffer.stride


def hold(handle: int, more: int) -> None:
    """Add ``more`` (1 or -1) to a buffer's reference count; free the handle at 0."""
    with _holding:
        handles = HANDLES_OF["HardwareBuffer"]
        handles[handle]  # raises if another thread has freed it since
        count = _holders.pop(handle, 1) + more
        if count:
            _holders[handle] = count
        else:
            handles.free(handle)


# Connecting


def end() -> int:
    """Run Python's exit handlers when a C program ends, because the interpreter is never finalized. Return 1 if a
    thread still computes."""
    hurry()
    atexit._run_exitfuncs()
    return int(must_skip_destructors())


def _answer_with(function: Function, answer: Callable[..., Any]) -> None:
    failure = int(ResultCode.OP_FAILED) if function.returns_code else function.failure
    ffi.def_extern(name=f"py_{function.name}", error=failure)(answer)


def register_callbacks(compiled: Any, ran: Any, context: Any) -> None:
    """Register callbacks; at the first registration, replace the functions that diagnostics watch."""
    with _registering:
        if not DIAGNOSTICS.is_watching:
            for function in FUNCTIONS:
                watched = None if function.answer else DIAGNOSTICS.watch(function.name, ANSWERS[function.name])
                if watched:
                    _answer_with(function, watched)
        DIAGNOSTICS.register(compiled, ran, context)


USED_BY_CALLS = (
    *(Burst, Compilation, Event, Execution, HardwareBuffer, Memory, MemoryDesc, Model),
    *(UnexpectedNullError, code_of, report_failure),
    *(buffer_desc, channel_scales, memory_at, objects, operand_type, string, read_token),
    *(copy_memory, device_at, devices_here, keep_text, need_idle, to_signed, store, to_timing),
    *(describe, hold, unlock),
    *(cache_in_descriptors, each_extension_type, each_performance, extension_at, no_cache_files, performance),
    register_callbacks,
    *(begin_async_section, begin_section, end_async_section, end_section, is_enabled),
)
"""Names used by the table of functions and by the functions made from it."""


def connect() -> None:
    logging.getLogger("nnapi").addHandler(logging.NullHandler())  # a C program has not asked for warnings on stderr
    names: dict[str, Any] = {f"{kind}Handles": handles for kind, handles in HANDLES_OF.items()}
    names |= {value.__name__: value for value in USED_BY_CALLS}
    names |= {"ffi": ffi}
    record = os.environ.get("NNAPI_RECORD")
    recorder = Recorder(record, HANDLES_OF, say) if record else None
    strace = os.environ.get("NNAPI_STRACE")
    reporter = CallReporter(strace, HANDLES_OF, say) if strace else None
    if reporter:
        names["report_failure"] = reporter.note(report_failure)
    for function in FUNCTIONS:
        if function.answer:
            continue  # implemented in C
        answer = compile_function(function, names)
        if recorder:
            answer = recorder.watch(function.name, answer)
        if reporter:
            answer = reporter.watch(function, answer)
        ANSWERS[function.name] = answer
        _answer_with(function, answer)
    for name, handler in {"end": end, "before_fork": before_fork, "after_fork": after_fork}.items():
        ffi.def_extern(name=f"py_{name}")(handler)
    call_after_preparing(lib.nnapi_bridge_after_preparing)
    os.register_at_fork(after_in_child=lib.nnapi_bridge_revive)


connect()
