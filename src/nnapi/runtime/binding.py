"""Bindings of buffers and memories to an execution. Checks have the specification's order: nulls, state, index, type,
memory or length, already set, length."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import OEM_SCALAR
from nnapi.errors import BadDataError, BadStateError, OpFailedError, UnmappableError, need
from nnapi.model.memory import Memory, view_bytes
from nnapi.model.model import Model, Operand
from nnapi.model.operand import MAX_BYTES, Array, OperandType, Shape, check_type, combine, stores
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.memory import DeviceMemory, ImageMemory


@dataclass(slots=True)
class Argument:
    """A bound input or output: a buffer, a region (memory, offset, length) or an opaque memory; none if omitted."""

    type: OperandType
    buffer: Array | None = None
    region: tuple[Memory, int, int] | None = None
    opaque: DeviceMemory | None = None
    _view: Array | None = None

    @property
    def is_omitted(self) -> bool:
        return self.buffer is None and self.region is None and self.opaque is None

    @property
    def dimensions(self) -> Shape:
        return self.type.dimensions

    def bytes(self) -> Array:
        """Return the bytes of the buffer, or of the region, which is mapped at first use."""
        if self.buffer is None:
            assert self.region is not None
            self.buffer = self.region[0].view(*self.region[1:])
        return self.buffer

    def array(self) -> Array | None:
        """Return the value as an array for a run, without padding; None if omitted."""
        if self.opaque is not None:
            return self._opaque_array(self.opaque)
        if self.is_omitted:
            return None
        if self._view is None:
            self._view = self.bytes()[: self.type.nbytes].view(self.type.dtype).reshape(self.type.dimensions)
        return self._view

    def _opaque_array(self, memory: DeviceMemory) -> Array:
        contents = memory.load()
        if not self.type.is_scalar and contents.shape != self.dimensions:
            raise OpFailedError(f"the memory holds {list(contents.shape)}, bound are {list(self.dimensions)}")
        return contents

    def fill(self, array: Array) -> bool:
        """Copy a result to the buffer or memory; return False if the buffer is too small."""
        if self.opaque is not None:
            self.opaque.store(array)
        elif not self.is_omitted:
            if self.region is not None:
                need(self.region[0].writable, "the memory is not writable", UnmappableError)
            same = array.shape == self.dimensions and array.dtype == self.type.dtype
            if same and (view := self.array()) is not None:
                view[...] = array
                return True
            target = self.bytes()
            if target.nbytes < array.nbytes:
                return False
            target[: array.nbytes] = view_bytes(array)
        return True


class Binding:
    """The arguments of one execution in one role, ``input`` or ``output``."""

    def __init__(self, compilation: Compilation, role: str) -> None:
        self.compilation, self.role = compilation, role
        model: Model = compilation.model
        self.indices = model.inputs if role == "input" else model.outputs
        self.operands = [model.operands[index] for index in self.indices]
        self.arguments: list[Argument | None] = [None] * len(self.operands)
        self.padded = False
        self.is_touched = False
        """Whether a binding got as far as the check of its length. Padding cannot be changed afterwards."""

    def operand(self, index: int) -> Operand:
        count = len(self.operands)
        need(not isinstance(index, str), f"{self.role} {index!r}: give its index; run() takes names", BadDataError)
        if not (0 <= index < count):
            raise BadDataError(f"{self.role} {index} does not exist, the model has {count}")
        return self.operands[index]

    def find_missing(self) -> str | None:
        """Return the message for the first argument that has not been set; None if all have."""
        for index, argument in enumerate(self.arguments):
            if argument is None:
                return f"{self.role} {index} ({self.operands[index].label}) has not been set"
        return None

    def set(self, index: int, buffer: Any, type: OperandType | None, length: int | None) -> None:
        """Bind a buffer to operand ``index``; None omits the operand."""
        operand = self.operand(index)
        if buffer is None:
            dimensions = self._combine_dimensions(operand, type)
            self._need_unset(index)
            self.arguments[index] = Argument(operand.type.with_dimensions(dimensions))
            return
        data, shape = as_bytes(operand, buffer, writable=self.role == "output")
        dimensions = self._combine_dimensions(operand, type, shape)
        if self.role == "output" and type is None:
            dimensions = operand.type.dimensions  # an array may be larger than the result
        self._need_known(operand, dimensions)
        length = data.nbytes if length is None else length
        if length > MAX_BYTES:
            raise BadDataError(f"length {length} for {self.role} {index} is above {MAX_BYTES}")
        self._need_unset(index)
        if not length:
            raise BadDataError(f"an empty buffer for {self.role} {index}")
        if length > data.nbytes:
            raise BadDataError(f"length {length} of a buffer of {data.nbytes} bytes")
        bound = self._need_length(operand, dimensions, length)
        self.arguments[index] = Argument(bound, data[:length])

    def set_from_memory(self, index: int, memory: Memory, offset: int, length: int, type: OperandType | None) -> None:
        """Bind a region of a memory; an opaque memory is bound whole, with offset and length 0."""
        operand = self.operand(index)
        dimensions = self._combine_dimensions(operand, type)
        if isinstance(memory, DeviceMemory):
            self._set_opaque(index, operand, memory, offset, length, dimensions)
            return
        self._need_known(operand, dimensions)
        if isinstance(memory, ImageMemory):
            need(not (offset or length), "an image is used as a whole: offset and length must be 0", BadDataError)
            self._need_unset(index)
            self.arguments[index] = Argument(operand.type.with_dimensions(dimensions), region=(memory, 0, 0))
            return
        need(offset or length, "offset and length are both 0", BadDataError)
        memory.check_region(offset, length)
        self._need_unset(index)
        bound = self._need_length(operand, dimensions, length)
        self.arguments[index] = Argument(bound, region=(memory, offset, length))

    def _set_opaque(
        self, index: int, operand: Operand, memory: DeviceMemory, offset: int, length: int, dimensions: Shape
    ) -> None:
        memory.need_role(self.compilation, self.role, index)
        is_whole = not offset and not length
        need(is_whole, "an opaque memory is used as a whole: offset and length must be 0", BadDataError)
        both = combine(dimensions, memory.declared.dimensions)
        if both is None and not operand.type.is_scalar:
            raise BadDataError(f"{operand} with dimensions {list(dimensions)} cannot live in {memory!r}")
        self._need_known(operand, both or memory.dimensions)
        self._need_unset(index)
        self.arguments[index] = Argument(operand.type.with_dimensions(both or ()), opaque=memory)

    def _need_unset(self, index: int) -> None:
        if self.arguments[index] is not None:
            raise BadStateError(f"{self.role} {index} has been set already")
        self.is_touched = True

    def _need_known(self, operand: Operand, dimensions: Shape) -> None:
        known = operand.type.is_scalar or (dimensions and 0 not in dimensions)
        if not known and self.role == "input":
            raise BadDataError(f"{operand.label}: dimensions must be known, got {list(dimensions)}")

    def _need_length(self, operand: Operand, dimensions: Shape, length: int) -> OperandType:
        type = operand.type.with_dimensions(dimensions)
        if type.code != OEM_SCALAR and type.is_known:
            least = "at least " if self.padded else ""
            if length < type.nbytes or (length > type.nbytes and not self.padded):
                raise BadDataError(f"{operand.label} takes {least}{type.nbytes} bytes, got {length}")
        return type

    def _combine_dimensions(self, operand: Operand, type: OperandType | None, shape: Shape | None = None) -> Shape:
        """Return the declared dimensions, completed by ``type``, else ``shape``; BadDataError if they differ."""
        if type is not None:
            check_type(type)
        if operand.type.is_scalar or (type is None and shape is None):
            return operand.type.dimensions
        given = type.dimensions if type is not None else shape or ()
        if operand.type.dimensions and combine(operand.type.dimensions, given) != given:
            raise BadDataError(f"{operand.label} cannot be given dimensions {list(given)}")
        return given


def as_bytes(operand: Operand, buffer: Any, *, writable: bool) -> tuple[Array, Shape | None]:
    """Return a view of the buffer's bytes, and its shape if it is an array of the operand's elements, else None."""
    if not isinstance(buffer, np.ndarray):
        try:
            data = np.frombuffer(buffer, np.uint8)
        except (TypeError, ValueError) as error:
            raise BadDataError(f"{operand.label} was given {type(buffer).__name__}, needs an array: {error}") from None
        if writable and not data.flags.writeable:
            raise BadDataError(f"{operand.label}: the buffer is read-only")
        return data, None
    dtype = operand.type.dtype
    plain = buffer.dtype == dtype or buffer.dtype == np.uint8 or (buffer.dtype == np.bool_ and dtype == np.uint8)
    if not plain and not stores(operand.type, buffer.dtype):
        raise BadDataError(f"{operand.label} stores {dtype}, got an array of {buffer.dtype}")
    if not buffer.flags.c_contiguous:
        raise BadDataError(f"{operand.label}: the array is not C-contiguous")
    if writable and not buffer.flags.writeable:
        raise BadDataError(f"{operand.label}: the array is read-only")
    shape = buffer.shape if buffer.dtype.itemsize == dtype.itemsize and buffer.ndim else None
    return buffer.reshape(-1).view(np.uint8), shape if shape != (buffer.nbytes,) or operand.type.rank == 1 else None
