"""LiteRT's C API, for a file compiled for the CPU with options that the Python interpreter lacks."""

import ctypes
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_void_p
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.model.operand import Array

ELEMENTS = {"float32": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "float16": 10}
"""LiteRT's enum values of element types, by the types' names in NumPy."""
CPU = 1
SEVERITY, ACCELERATORS = 25, 24
"""Options of an environment: minimum severity of log messages; accelerators to search for."""
SILENT, INTEGER = 4, 2
STATUS = {1: "invalid argument", 2: "out of memory", 3: "runtime failure", 5: "unsupported", 6: "not found"}
"""Meanings of the status codes of functions that fail."""
ALIGNMENT = 64
SPARE = 128
"""Bytes after a tensor that kernels may read."""


class _Option(ctypes.Structure):
    _fields_ = (("tag", c_int), ("type", c_int64), ("value", c_int64))


class _TensorType(ctypes.Structure):
    _fields_ = (("element", c_int), ("rank", c_uint), ("dimensions", c_int32 * 8), ("strides", c_uint32 * 8))


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)
_keeps = _DELETER(lambda address: None)
"""The function that LiteRT calls to free a text. It does nothing, as the texts belong to Python."""

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
    "GetProfilerEvents": (c_void_p, c_int, c_void_p),
}
_DESTROYERS = ("TensorBuffer", "CompiledModel", "Options", "Model")


@cache
def _library() -> ctypes.CDLL:
    """Load the library; raise OSError if that fails, AttributeError if it lacks a function."""
    found = find_spec("ai_edge_litert")
    folders = found.submodule_search_locations if found else None
    library = ctypes.CDLL(os.path.join((folders or [""])[0], "libLiteRt.so"))
    for name, types in _SIGNATURES.items():
        getattr(library, f"LiteRt{name}").argtypes = types
    for name in _DESTROYERS:
        function = getattr(library, f"LiteRtDestroy{name}")
        function.argtypes, function.restype = (c_void_p,), None
    return library


def call(name: str, *arguments: Any) -> None:
    status = getattr(_library(), f"LiteRt{name}")(*arguments)
    if status:
        raise RuntimeError(f"LiteRt{name} fails: {STATUS.get(status, f'status {status}')}")


def make(name: str, *arguments: Any) -> c_void_p:
    """Call a function; return the handle that it stores through its last argument."""
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle


@cache
def _environment() -> c_void_p:
    """Return the process's environment: only the CPU, without log messages."""
    options = (_Option * 2)(_Option(SEVERITY, INTEGER, SILENT), _Option(ACCELERATORS, INTEGER, CPU))
    return make("CreateEnvironment", len(options), options)


class CompiledModel(ExitStack):
    """A file compiled for the CPU. ``views`` are its memory for inputs and outputs; it starts with a copy of
    ``arrays``."""

    def __init__(self, content: bytes, arrays: Sequence[Sequence[Array]], options: Mapping[bytes, bytes]) -> None:
        """``arrays`` has the initial inputs, then the initial outputs. RuntimeError if LiteRT refuses the file."""
        super().__init__()
        self._kept = content, options
        try:
            model = self._own("Model", make("CreateModelFromBuffer", _environment(), content, len(content)))
            chosen = self._own("Options", make("CreateOptions"))
            call("SetOptionsHardwareAccelerators", chosen, CPU)
            for name, text in options.items():
                call("AddOpaqueOptions", chosen, make("CreateOpaqueOptions", name, text, _keeps))
            with hide_delegate_message():
                self.handle = self._own("CompiledModel", make("CreateCompiledModel", _environment(), model, chosen))
            self.views: list[Array] = []
            self._buffers = [(c_void_p * len(side))(*map(self._buffer, side)) for side in arrays]
            inputs, outputs = ((len(side), ctypes.cast(side, _HANDLE)) for side in self._buffers)
            self.invoke = partial(call, "RunCompiledModel", self.handle, 0, *inputs, *outputs)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()

    def _own(self, kind: str, handle: c_void_p) -> c_void_p:
        self.callback(getattr(_library(), f"LiteRtDestroy{kind}"), handle)
        return handle

    def _buffer(self, view: Array) -> int:
        size = view.nbytes
        memory = np.zeros(size + ALIGNMENT + SPARE, np.uint8)
        memory = memory[-memory.ctypes.data % ALIGNMENT :]
        self.views.append(memory[:size].view(view.dtype).reshape(view.shape))
        self.views[-1][...] = view
        type = _TensorType(ELEMENTS[view.dtype.name], view.ndim, (c_int32 * 8)(*view.shape))
        made = make("CreateTensorBufferFromHostMemory", byref(type), memory.ctypes.data, size, None)
        handle = self._own("TensorBuffer", made).value
        assert handle is not None
        return handle
