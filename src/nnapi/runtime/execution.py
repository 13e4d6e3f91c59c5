"""Executions: one computation of a compilation on given buffers (``ANeuralNetworksExecution``)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import OEM_SCALAR
from nnapi.drivers.base import DEFAULT_LOOP_TIMEOUT, Request
from nnapi.errors import (
    BadDataError,
    BadStateError,
    NnapiError,
    OpFailedError,
    OutputInsufficientSizeError,
    UnexpectedNullError,
    UnmappableError,
    need,
)
from nnapi.model.memory import Memory
from nnapi.model.model import Operand
from nnapi.model.operand import MAX_BYTES, Array, OperandType, Shape, check_type, combine
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.event import Event

MAXIMUM_LOOP_TIMEOUT = 15_000_000_000
"""Nanoseconds that a WHILE may run at most, whatever the execution asks for."""


@dataclass(slots=True)
class Argument:
    """An input or output as bound: bytes or a region of a memory (nothing when omitted), and the extents known."""

    dimensions: Shape
    buffer: Array | None = None
    region: tuple[Memory, int, int] | None = None

    @property
    def is_omitted(self) -> bool:
        return self.buffer is None and self.region is None

    def bytes(self) -> Array:
        """The bytes; a memory is mapped here, at the latest moment."""
        if self.buffer is not None:
            return self.buffer
        assert self.region is not None
        return self.region[0].view(*self.region[1:])


class Execution:
    """One computation: buffers are bound in the preparation state, then it runs once.

    The buffers belong to the caller and must stay valid and unchanged until the computation completes.
    """

    def __init__(self, compilation: Compilation) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        self._prepared = compilation.prepared
        self.compilation = compilation
        self.model = compilation.model
        self._inputs: list[Argument | None] = [None] * len(self.model.inputs)
        self._outputs: list[Argument | None] = [None] * len(self.model.outputs)
        self._loop_timeout = DEFAULT_LOOP_TIMEOUT
        self._state = "preparation"
        self._lock = threading.Lock()
        self._error: NnapiError | None = None
        self._shapes: list[Shape] = [self._operand("output", i).type.dimensions for i in range(len(self._outputs))]
        self._insufficient: list[bool] = [False] * len(self._outputs)

    # Binding

    def set_input(self, index: int, buffer: Any, type: OperandType | None = None, length: int | None = None) -> None:
        """Bind a buffer to an input; None omits it (``ANeuralNetworksExecution_setInput``).

        ``type`` fills in extents that the model leaves open; only its dimensions are used. An array's shape does
        that by itself. ``length`` defaults to the buffer's bytes.
        """
        self._set("input", index, buffer, type, length)

    def set_output(self, index: int, buffer: Any, type: OperandType | None = None, length: int | None = None) -> None:
        """Bind a writable buffer to an output; None omits it (``ANeuralNetworksExecution_setOutput``)."""
        self._set("output", index, buffer, type, length)

    def set_input_from_memory(
        self, index: int, memory: Memory, offset: int, length: int, type: OperandType | None = None
    ) -> None:
        """Bind a region of a memory to an input (``ANeuralNetworksExecution_setInputFromMemory``)."""
        self._set_from_memory("input", index, memory, offset, length, type)

    def set_output_from_memory(
        self, index: int, memory: Memory, offset: int, length: int, type: OperandType | None = None
    ) -> None:
        """Bind a region of a memory to an output (``ANeuralNetworksExecution_setOutputFromMemory``)."""
        self._set_from_memory("output", index, memory, offset, length, type)

    def set_loop_timeout(self, duration: int) -> None:
        """Nanoseconds that each WHILE may run (``ANeuralNetworksExecution_setLoopTimeout``); at most 15 s are kept."""
        self._need_preparation("set the loop timeout")
        self._loop_timeout = min(duration, MAXIMUM_LOOP_TIMEOUT)

    # Running

    def compute(self) -> None:
        """Run and wait (``ANeuralNetworksExecution_compute``)."""
        self._begin()
        self._run()

    def start_compute(self) -> Event:
        """Run in the background (``ANeuralNetworksExecution_startCompute``); the outcome is the event's."""
        self._begin()
        return Event(self._run)

    # Results

    def output_operand_rank(self, index: int) -> int:
        """Rank of an output after the run (``ANeuralNetworksExecution_getOutputOperandRank``); 0 for a scalar.

        Raises OutputInsufficientSizeError, whose ``dimensions`` hold what was needed, for a buffer that was too small.
        """
        return len(self._output_shape(index))

    def output_operand_dimensions(self, index: int) -> Shape:
        """Extents of an output after the run (``ANeuralNetworksExecution_getOutputOperandDimensions``)."""
        shape = self._output_shape(index)
        need(shape, f"output {index} has no dimensions", BadDataError)
        return shape

    # Within

    def _operand(self, role: str, index: int) -> Operand:
        indices = self.model.inputs if role == "input" else self.model.outputs
        need(0 <= index < len(indices), f"{role} {index} does not exist, the model has {len(indices)}", BadDataError)
        return self.model.operands[indices[index]]

    def _arguments(self, role: str) -> list[Argument | None]:
        return self._inputs if role == "input" else self._outputs

    def _set(self, role: str, index: int, buffer: Any, type: OperandType | None, length: int | None) -> None:
        need(
            buffer is not None or not length,
            f"no buffer, but a length of {length}, for {role} {index}",
            UnexpectedNullError,
        )
        self._need_preparation(f"set {role} {index}")
        operand = self._operand(role, index)
        if buffer is None:
            self._bind(role, index, Argument(self._dimensions(operand, type)))
            return
        data, shape = _as_bytes(operand, buffer, writable=role == "output")
        dimensions = self._dimensions(operand, type, shape)
        self._need_known(role, operand, dimensions)
        length = data.nbytes if length is None else length
        need(length <= MAX_BYTES, f"length {length} for {role} {index} is above {MAX_BYTES}", BadDataError)
        self._need_unset(role, index)
        need(length, f"an empty buffer for {role} {index}", BadDataError)
        need(length <= data.nbytes, f"length {length} of a buffer of {data.nbytes} bytes", BadDataError)
        self._need_length(role, operand, dimensions, length)
        self._bind(role, index, Argument(dimensions, data[:length]))

    def _set_from_memory(
        self, role: str, index: int, memory: Memory, offset: int, length: int, type: OperandType | None
    ) -> None:
        need(memory is not None, f"memory for {role} {index} is None", UnexpectedNullError)
        self._need_preparation(f"set {role} {index}")
        operand = self._operand(role, index)
        dimensions = self._dimensions(operand, type)
        self._need_known(role, operand, dimensions)
        need(offset or length, "offset and length are both 0", BadDataError)
        memory.check_region(offset, length)
        self._need_unset(role, index)
        self._need_length(role, operand, dimensions, length)
        self._bind(role, index, Argument(dimensions, region=(memory, offset, length)))

    def _bind(self, role: str, index: int, argument: Argument) -> None:
        self._need_unset(role, index)
        self._arguments(role)[index] = argument

    def _need_preparation(self, what: str) -> None:
        need(self._state == "preparation", f"cannot {what}: the execution is in {self._state}", BadStateError)

    def _need_unset(self, role: str, index: int) -> None:
        need(self._arguments(role)[index] is None, f"{role} {index} has been set already", BadStateError)

    def _need_known(self, role: str, operand: Operand, dimensions: Shape) -> None:
        known = operand.type.is_scalar or (dimensions and 0 not in dimensions)
        need(known or role == "output", f"{operand}: extents must be known, got {list(dimensions)}", BadDataError)

    def _need_length(self, role: str, operand: Operand, dimensions: Shape, length: int) -> None:
        type = operand.type.with_dimensions(dimensions)
        if type.code == OEM_SCALAR or not type.is_known:
            return
        need(length == type.nbytes, f"{operand} takes {type.nbytes} bytes, got {length}", BadDataError)

    def _dimensions(self, operand: Operand, type: OperandType | None, shape: Shape | None = None) -> Shape:
        """Extents of an argument: the model's, completed by the caller's."""
        if type is not None:
            check_type(type)
        if operand.type.is_scalar or (type is None and shape is None):
            return operand.type.dimensions
        given = type.dimensions if type is not None else shape or ()
        dimensions = combine(operand.type.dimensions, given)
        need(
            dimensions is not None and (not operand.type.dimensions or len(given) == len(operand.type.dimensions)),
            f"{operand} cannot be given extents {list(given)}",
            BadDataError,
        )
        assert dimensions is not None
        return dimensions

    def _begin(self) -> None:
        with self._lock:
            need(self._state == "preparation", f"cannot compute: the execution is in {self._state}", BadStateError)
            self._state = "computation"
        for role in ("input", "output"):
            for index, argument in enumerate(self._arguments(role)):
                if argument is None:
                    self._error = BadDataError(f"{role} {index} ({self._operand(role, index)}) has not been set")
                    self._state = "completed"
                    raise self._error

    def _run(self) -> None:
        try:
            arrays = [self._input_array(index) for index in range(len(self._inputs))]
            outcome = self._prepared.execute(Request(arrays, loop_timeout=self._loop_timeout))
            self._deliver(outcome.outputs)
        except NnapiError as error:
            self._error = error
            raise
        except Exception as error:
            self._error = OpFailedError(f"{type(error).__name__}: {error}")
            raise self._error from error
        finally:
            self._state = "completed"

    def _input_array(self, index: int) -> Array | None:
        argument = self._inputs[index]
        assert argument is not None
        if argument.is_omitted:
            return None
        type = self._operand("input", index).type
        return argument.bytes().view(type.dtype).reshape(argument.dimensions)

    def _deliver(self, arrays: Sequence[Array]) -> None:
        """Copy results where the caller wants them; refuse buffers that are too small, after looking at all."""
        for index, (array, argument) in enumerate(zip(arrays, self._outputs, strict=True)):
            assert argument is not None
            operand = self._operand("output", index)
            self._shapes[index] = () if operand.type.is_scalar else array.shape
            if argument.is_omitted:
                continue
            if argument.region is not None:
                need(argument.region[0].writable, f"{operand}: the memory is not writable", UnmappableError)
            target = argument.bytes()
            self._insufficient[index] = target.nbytes < array.nbytes
            if not self._insufficient[index]:
                target[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if any(self._insufficient):
            index = self._insufficient.index(True)
            raise OutputInsufficientSizeError(
                f"{self._operand('output', index)} came out as {list(self._shapes[index])}, more than its buffer holds"
            )

    def _output_shape(self, index: int) -> Shape:
        need(self._state == "completed", f"the execution is in {self._state}, not completed", BadStateError)
        failed = self._error is not None and not isinstance(self._error, OutputInsufficientSizeError)
        need(not failed, f"the execution failed: {self._error}", BadStateError)
        self._operand("output", index)
        if self._insufficient[index]:
            error = OutputInsufficientSizeError(f"output {index} needs {list(self._shapes[index])}")
            error.dimensions = self._shapes[index]
            raise error
        return self._shapes[index]

    def __repr__(self) -> str:
        return f"<nnapi.Execution of {self.model.name!r}, {self._state}>"


def _as_bytes(operand: Operand, buffer: Any, *, writable: bool) -> tuple[Array, Shape | None]:
    """The buffer's bytes without a copy, and its shape if it is an array of the operand's elements."""
    if not isinstance(buffer, np.ndarray):
        try:
            data = np.frombuffer(buffer, np.uint8)
        except (TypeError, ValueError) as error:
            raise BadDataError(f"{operand} was given {type(buffer).__name__}, no buffer of bytes: {error}") from None
        need(not writable or data.flags.writeable, f"{operand}: the buffer is read-only", BadDataError)
        return data, None
    dtype = operand.type.dtype
    legal = buffer.dtype == dtype or buffer.dtype == np.uint8 or (buffer.dtype == np.bool_ and dtype == np.uint8)
    need(legal, f"{operand} stores {dtype}, got an array of {buffer.dtype}", BadDataError)
    need(buffer.flags.c_contiguous, f"{operand}: the array is not C-contiguous", BadDataError)
    need(not writable or buffer.flags.writeable, f"{operand}: the array is read-only", BadDataError)
    shape = buffer.shape if buffer.dtype.itemsize == dtype.itemsize and buffer.ndim else None
    return buffer.reshape(-1).view(np.uint8), shape if shape != (buffer.nbytes,) or operand.type.rank == 1 else None
