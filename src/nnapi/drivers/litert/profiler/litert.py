"""LiteRT's C API for profiles: a model compiled with the profiler, and the events of its runs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from contextlib import ExitStack
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.model.operand import Array

ELEMENTS = {"float32": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
"""LiteRT's codes of element types by NumPy's names."""
CPU = 1
SEVERITY, ACCELERATORS = 25, 24
"""Options of an environment: the least severity that is logged, and the accelerators to search for."""
SILENT, INTEGER = 4, 2
STATUS = {1: "invalid argument", 2: "out of memory", 3: "runtime failure", 5: "unsupported", 6: "not found"}
"""The meanings of the status codes of failed functions."""
KERNEL, DELEGATED = 2, 8
"""Types of events: an operator by LiteRT's own kernel, and one within a delegate."""
ALIGNMENT = 64
SPARE = 128
"""Bytes behind a tensor that kernels may read."""


class _Option(ctypes.Structure):
    _fields_ = (("tag", c_int), ("type", c_int64), ("value", c_int64))


class _TensorType(ctypes.Structure):
    _fields_ = (("element", c_int), ("rank", c_uint), ("dimensions", c_int32 * 8), ("strides", c_uint32 * 8))


class _Event(ctypes.Structure):
    _fields_ = (
        ("tag", c_char_p),
        ("type", c_int),
        ("start", c_uint64),
        ("microseconds", c_uint64),
        ("memory", c_size_t * 6),
        ("operator", c_uint64),
        ("graph", c_uint64),
        ("source", c_int),
    )


class Event(NamedTuple):
    """The time of one operator; ``operator`` is its index in the file, None within XNNPACK."""

    name: str
    operator: int | None
    seconds: float


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)
_keeps = _DELETER(lambda address: None)
"""The callback that frees LiteRT's texts; these belong to Python."""

_HANDLE = POINTER(c_void_p)
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "CreateEnvironment": (c_int, POINTER(_Option), _HANDLE),
    "CreateModelFromBuffer": (c_void_p, c_char_p, c_size_t, _HANDLE),
    "CreateOptions": (_HANDLE,),
    "SetOptionsHardwareAccelerators": (c_void_p, c_int),
    "CreateOpaqueOptions": (c_char_p, c_char_p, _DELETER, _HANDLE),
    "AddOpaqueOptions": (c_void_p, c_void_p),
    "CreateCompiledModel": (c_void_p, c_void_p, c_void_p, _HANDLE),
    "CompiledModelGetProfiler": (c_void_p, _HANDLE),
    "CreateTensorBufferFromHostMemory": (POINTER(_TensorType), c_void_p, c_size_t, c_void_p, _HANDLE),
    "RunCompiledModel": (c_void_p, c_size_t, c_size_t, _HANDLE, c_size_t, _HANDLE),
    "StartProfiler": (c_void_p,),
    "ResetProfiler": (c_void_p,),
    "GetNumProfilerEvents": (c_void_p, POINTER(c_int)),
    "GetProfilerEvents": (c_void_p, c_int, POINTER(_Event)),
}
_DESTROYERS = ("TensorBuffer", "CompiledModel", "Options", "Model")


@cache
def _library() -> ctypes.CDLL:
    """Load the library; OSError if that fails, AttributeError if it lacks a function."""
    found = find_spec("ai_edge_litert")
    folders = found.submodule_search_locations if found else None
    library = ctypes.CDLL(os.path.join((folders or [""])[0], "libLiteRt.so"))
    for name, types in _SIGNATURES.items():
        getattr(library, f"LiteRt{name}").argtypes = types
    for name in _DESTROYERS:
        function = getattr(library, f"LiteRtDestroy{name}")
        function.argtypes, function.restype = (c_void_p,), None
    return library


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library(), f"LiteRt{name}")(*arguments)
    if status:
        raise RuntimeError(f"LiteRt{name} fails: {STATUS.get(status, f'status {status}')}")


def _make(name: str, *arguments: Any) -> c_void_p:
    """Return the handle that a function writes to its last argument."""
    handle = c_void_p()
    _call(name, *arguments, byref(handle))
    return handle


@cache
def _environment() -> c_void_p:
    """Return the process's environment, with the CPU alone and no log."""
    options = (_Option * 2)(_Option(SEVERITY, INTEGER, SILENT), _Option(ACCELERATORS, INTEGER, CPU))
    return _make("CreateEnvironment", len(options), options)


class Profiled(ExitStack):
    """A file compiled with LiteRT's profiler, on copies of the inputs; to be closed, as by ``with``."""

    def __init__(self, content: bytes, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        super().__init__()
        self._content = content
        try:
            model = self._own("Model", _make("CreateModelFromBuffer", _environment(), content, len(content)))
            self._texts = {
                b"runtime_options_string": b"enable_profiling = true\n",
                b"xnnpack": b"num_threads = %d\n" % threads,
            }
            options = self._own("Options", _make("CreateOptions"))
            _call("SetOptionsHardwareAccelerators", options, CPU)
            for name, text in self._texts.items():
                _call("AddOpaqueOptions", options, _make("CreateOpaqueOptions", name, text, _keeps))
            with hide_delegate_message():
                compiled = _make("CreateCompiledModel", _environment(), model, options)
            self._model = self._own("CompiledModel", compiled)
            self._profiler = _make("CompiledModelGetProfiler", self._model)
            self._memory: list[Array] = []
            self._ends = [(c_void_p * len(side))(*map(self._buffer, side)) for side in (inputs, outputs)]
        except BaseException:
            self.close()
            raise

    def run(self) -> list[Event]:
        """Return the operators of one run, in order."""
        inputs, outputs = self._ends
        _call("StartProfiler", self._profiler)
        _call("RunCompiledModel", self._model, 0, len(inputs), _pointer(inputs), len(outputs), _pointer(outputs))
        count = c_int()
        _call("GetNumProfilerEvents", self._profiler, byref(count))
        events = (_Event * count.value)()
        _call("GetProfilerEvents", self._profiler, count, events)
        found = [
            Event(
                (e.tag or b"").decode(errors="replace"), e.operator if e.type == KERNEL else None, e.microseconds / 1e6
            )
            for e in events
            if e.type in (KERNEL, DELEGATED)
        ]
        _call("ResetProfiler", self._profiler)
        return found

    def _own(self, kind: str, handle: c_void_p) -> c_void_p:
        self.callback(getattr(_library(), f"LiteRtDestroy{kind}"), handle)
        return handle

    def _buffer(self, view: Array) -> int:
        size = view.nbytes
        memory = np.zeros(size + ALIGNMENT + SPARE, np.uint8)
        memory = memory[-memory.ctypes.data % ALIGNMENT :]
        memory[:size] = np.ascontiguousarray(view).reshape(-1).view(np.uint8)
        self._memory.append(memory)
        type = _TensorType(ELEMENTS[view.dtype.name], view.ndim, (c_int32 * 8)(*view.shape))
        made = _make("CreateTensorBufferFromHostMemory", byref(type), memory.ctypes.data, size, None)
        handle = self._own("TensorBuffer", made).value
        assert handle is not None
        return handle


def _pointer(handles: Any) -> Any:
    return ctypes.cast(handles, _HANDLE)
