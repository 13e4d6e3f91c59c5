"""A model compiled by another NNAPI library for one of its devices."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import ResultCode
from nnapi.drivers.base import DEFAULT_LOOP_TIMEOUT, Outcome, PrepareOptions, Request
from nnapi.drivers.foreign.library import Library
from nnapi.drivers.foreign.rebuilding import Rebuilt
from nnapi.drivers.prepared import CLOSED, check_deadline
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.c_structures import OperandTypeStruct, uint32s
from nnapi.model.call import check_declared
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape

GUESS = 1
"""The assumed size of an output's dynamic dimension until the library returns its shape."""
MOST_DIMENSIONS = 32
TRIALS = 3
"""Maximum runs until the library has reported the outputs' sizes."""


class PreparedForeign:
    """A finished compilation; each run is a separate execution, so runs may be concurrent."""

    def __init__(self, library: Library, device: int, model: Model, options: PrepareOptions) -> None:
        self._library, self._level = library, library.level
        self._inputs = [model.operands[index].type for index in model.inputs]
        self._outputs = [model.operands[index].type for index in model.outputs]
        self._lock = make_lock()
        self._runs, self._is_closed = 0, False
        self._rebuilt = Rebuilt(library, model)
        try:
            devices = (ctypes.c_void_p * 1)(device)
            self._handle = library.make("Compilation_createForDevices", self._rebuilt.handle, devices, 1)
        except BaseException:
            self._rebuilt.close()
            raise
        try:
            self._set_options(options)
            library.call("Compilation_finish", self._handle)
        except BaseException:
            self._free()
            raise

    def execute(self, request: Request) -> Outcome:
        check_deadline(request)
        with self._lock:
            need(not self._is_closed, CLOSED, OpFailedError)
            self._runs += 1
        try:
            return self._run(request)
        finally:
            with self._lock:
                self._runs -= 1
                is_last = self._is_closed and not self._runs
            if is_last:
                self._free()

    def close(self) -> None:
        with self._lock:
            is_free = not (self._is_closed or self._runs)
            self._is_closed = True
        if is_free:
            self._free()

    def _free(self) -> None:
        self._library.free("Compilation", self._handle)
        self._rebuilt.close()

    def _set_options(self, options: PrepareOptions) -> None:
        self._library.call("Compilation_setPreference", self._handle, options.preference)
        if self._level >= 4:
            self._library.call("Compilation_setPriority", self._handle, options.priority)
            if options.deadline is not None:
                self._library.call("Compilation_setTimeout", self._handle, _find_rest(options.deadline))

    def _run(self, request: Request) -> Outcome:
        shapes: list[Shape] = [tuple([n or GUESS for n in type.dimensions]) for type in self._outputs]
        for _ in range(TRIALS):
            execution = self._library.make("Execution_create", self._handle)
            try:
                buffers = [_make_buffer(shape, type) for shape, type in zip(shapes, self._outputs, strict=True)]
                kept = self._bind(execution, request, buffers)
                code = self._library.call_for_code("Execution_compute", execution)
                del kept  # until here the library read them
                if code and code != ResultCode.OUTPUT_INSUFFICIENT_SIZE:
                    raise self._library.error("Execution_compute", code)
                found = self._read_shapes(execution)
            finally:
                self._library.free("Execution", execution)
            if not code:
                return Outcome([self._cut(*each) for each in zip(found, buffers, strict=True)])
            shapes = found
        raise OpFailedError(f"{self._library.path} asks for larger outputs than it has said that they are")

    def _bind(self, execution: int, request: Request, outputs: Sequence[Array]) -> list[Any]:
        """Set buffers and limits; return what must live until the execution has computed."""
        library = self._library
        arrays = [None if array is None else np.ascontiguousarray(array) for array in request.inputs]
        for index, (type, array) in enumerate(zip(self._inputs, arrays, strict=True)):
            if array is None:
                library.call("Execution_setInput", execution, index, None, None, 0)
                continue
            given = None if type.is_known else ctypes.byref(OperandTypeStruct.of(type.with_dimensions(array.shape)))
            library.call("Execution_setInput", execution, index, given, array.ctypes.data, array.nbytes)
        for index, array in enumerate(outputs):
            library.call("Execution_setOutput", execution, index, None, array.ctypes.data, array.nbytes)
        if self._level >= 4:
            if request.deadline is not None:
                library.call("Execution_setTimeout", execution, _find_rest(request.deadline))
            if request.loop_timeout != DEFAULT_LOOP_TIMEOUT:
                library.call("Execution_setLoopTimeout", execution, request.loop_timeout)
        return [*arrays, *outputs]

    def _cut(self, shape: Shape, buffer: Array) -> Array:
        count = math.prod(shape)
        need(
            count <= buffer.size,
            f"{self._library.path} says that it gave {count} elements, there was room for {buffer.size}",
            OpFailedError,
        )
        return buffer[:count].reshape(shape)

    def _read_shapes(self, execution: int) -> list[Shape]:
        """Return the outputs' dimensions, asking the library for dynamic ones."""
        return [
            type.dimensions if type.is_known else self._read_shape(execution, index)
            for index, type in enumerate(self._outputs)
        ]

    def _read_shape(self, execution: int, index: int) -> Shape:
        rank = ctypes.c_uint32()
        codes = ResultCode.NO_ERROR, ResultCode.OUTPUT_INSUFFICIENT_SIZE
        name = "Execution_getOutputOperandRank"
        code = self._library.call_for_code(name, execution, index, ctypes.byref(rank))
        if code not in codes:
            raise self._library.error(name, code)
        what = f"{self._library.path}: output {index}"
        need(rank.value <= MOST_DIMENSIONS, f"{what} is said to have {rank.value} dimensions", OpFailedError)
        dimensions = uint32s([0] * rank.value)
        name = "Execution_getOutputOperandDimensions"
        code = self._library.call_for_code(name, execution, index, dimensions) if rank.value else 0
        if code not in codes:
            raise self._library.error(name, code)
        shape, declared = tuple(dimensions or ()), self._outputs[index]
        try:
            check_declared(declared.with_dimensions(shape), declared, is_model_output=True)
        except OpFailedError as error:
            raise OpFailedError(f"{what} {error}") from None
        return shape


def _make_buffer(shape: Shape, type: OperandType) -> Array:
    """Return flat memory for an output, of at least one element, as libraries refuse zero bytes."""
    return np.empty(max(math.prod(shape), 1), type.dtype)


def _find_rest(deadline: int) -> int:
    rest = deadline - time.monotonic_ns()
    need(rest > 0, "the time limit has passed", MissedDeadlinePersistentError)
    return rest
