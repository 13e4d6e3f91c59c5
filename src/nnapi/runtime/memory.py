"""Memories of the runtime: opaque ones made from a descriptor, hardware buffers, copies between them."""

import mmap
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Allocates, Buffer
from nnapi.contract.host_memory import HostBuffer
from nnapi.errors import (
    BadDataError,
    BadStateError,
    NnapiError,
    OpFailedError,
    UnexpectedNullError,
    UnmappableError,
    need,
    need_value,
    translate_errors,
)
from nnapi.model.lifecycle import State
from nnapi.model.memory import PROTECTIONS, Memory, need_memory, view_bytes
from nnapi.model.operand import MAX_BYTES, Array, OperandType, Shape, combine
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.executors.output_check import describe_misfit


@dataclass(frozen=True)
class Role:
    """A use of a memory: as this input or output of this compilation."""

    compilation: Compilation
    kind: str
    index: int


class MemoryDesc:
    """The intended use of an opaque memory (``ANeuralNetworksMemoryDesc``): roles first, then :meth:`finish`."""

    def __init__(self) -> None:
        self.roles: list[Role] = []
        self.type: OperandType | None = None
        """The operand type of all roles, without dimensions."""
        self._dimensions: Shape = ()
        self._state = State("the descriptor is", "open", open="finish() it first")

    def add_input_role(self, compilation: Compilation, index: int, frequency: float = 1.0) -> None:
        """Use the memory as input ``index`` of a compilation, in ``frequency`` of its runs (``..._addInputRole``)."""
        self._add_role(compilation, "input", index, frequency)

    def add_output_role(self, compilation: Compilation, index: int, frequency: float = 1.0) -> None:
        """Use the memory as output ``index`` of a compilation, in ``frequency`` of its runs (``..._addOutputRole``)."""
        self._add_role(compilation, "output", index, frequency)

    def set_dimensions(self, dimensions: Sequence[int]) -> None:
        """Set ``dimensions``, 0 for unknown ones; several calls must agree (``..._setDimensions``)."""
        need(dimensions is not None, "dimensions are None", UnexpectedNullError)
        self._state.need("open", to="set dimensions")
        scalar = self.type is not None and self.type.is_scalar
        need(not (scalar and len(dimensions)), "the roles are scalars, which have no dimensions", BadDataError)
        self._dimensions = self._combine(tuple(dimensions))

    def finish(self) -> None:
        """Freeze the descriptor (``..._finish``). BadDataError if it has no role; it can then still be changed."""
        self._state.need("open", to="finish")
        need(self.roles, "the descriptor has no role", BadDataError)
        self._state.value = "finished"

    def create_memory(self) -> "DeviceMemory":
        """Create the memory (``ANeuralNetworksMemory_createFromDesc``).

        If one device has all roles, that device allocates the memory. Otherwise the memory is shared memory, if its
        size is known and no role belongs to a compilation for chosen devices other than CPUs. Raises OpFailedError in
        all other cases.
        """
        self._state.need("finished", to="create a memory")
        type = need_value(self.type, "the descriptor has no role", BadDataError).with_dimensions(self._dimensions)
        return DeviceMemory(self, type, self._allocate(type))

    def _allocate(self, type: OperandType) -> Buffer:
        touching = (role.compilation.devices_of(role.kind, role.index) for role in self.roles)
        devices = {id(device): device for found in touching for device in found}
        reason = "its roles are on several devices" if devices else "no step uses it"
        if len(devices) == 1:
            (device,) = devices.values()
            try:
                if isinstance(device.driver, Allocates):
                    buffer = device.driver.allocate(type)
                    need(isinstance(buffer, Buffer), f"{device.name} returned {buffer!r} for a buffer of {type}")
                    return buffer
                reason = f"{device.name} allocates no memory"
            except NnapiError as error:
                reason = str(error)
        explicit = any(role.compilation.is_explicit for role in self.roles)
        only_cpu = all(device.type == DeviceTypeCode.DEVICE_CPU for device in devices.values())
        need(type.is_known, f"memory of unknown dimensions {list(type.dimensions)} cannot be shared; {reason}")
        need(not explicit or only_cpu, f"no device allocates the memory: {reason}")
        return HostBuffer()

    def _add_role(self, compilation: Compilation, kind: str, index: int, frequency: float) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        need(isinstance(compilation, Compilation), f"{compilation!r} is not a Compilation", BadDataError)
        self._state.need("open", to="add a role")
        need(Role(compilation, kind, index) not in self.roles, f"{kind} {index} was added already", BadDataError)
        need(compilation.is_ready, f"{compilation!r} is not ready", BadDataError)
        model = compilation.model
        indices = model.inputs if kind == "input" else model.outputs
        need(0 <= index < len(indices), f"{kind} {index} does not exist, the model has {len(indices)}", BadDataError)
        operand = model.operands[indices[index]]
        bare = operand.type.replace(dimensions=())
        same = self.type is None or self.type.replace(dimensions=()) == bare
        need(same, f"{operand} differs from {self.type}, the type of the roles added before", BadDataError)
        has_dimensions = bare.is_scalar and self._dimensions
        need(not has_dimensions, f"{operand} is a scalar, dimensions have been set", BadDataError)
        dimensions = self._combine(operand.type.dimensions)
        need(0 < frequency <= 1, f"frequency is {frequency}, must be in (0, 1]", BadDataError)
        self.type, self._dimensions = bare, dimensions
        self.roles.append(Role(compilation, kind, index))

    def _combine(self, dimensions: Shape) -> Shape:
        contradiction = f"dimensions {list(dimensions)} contradict {list(self._dimensions)}"
        return need_value(combine(self._dimensions, dimensions), contradiction, BadDataError)


class DeviceMemory(Memory):
    """An opaque memory. Only its roles may use it, always as a whole. It holds no data at first."""

    def __init__(self, desc: MemoryDesc, type: OperandType, buffer: Buffer) -> None:
        self.roles = tuple(desc.roles)
        self.declared = type
        self._buffer = buffer
        super().__init__(type.nbytes if type.is_known else 0, PROTECTIONS, np.empty(0, np.uint8))

    @property
    def has_data(self) -> bool:
        return self._buffer.has_data

    @property
    def dimensions(self) -> Shape:
        """Dimensions of the data; the declared dimensions if there is none."""
        contents = self.load() if self.has_data else None
        return self.declared.dimensions if contents is None or self.declared.is_scalar else contents.shape

    def load(self) -> Array:
        """Return the data, read only; OpFailedError if there is none, or if the driver returns data of another type."""
        need(self._buffer.has_data, "the memory holds no data")
        contents = self._buffer.load()
        if (found := describe_misfit(self.declared, contents)) is not None:
            raise OpFailedError(f"the device returned {found} for its memory of {self.declared}")
        return contents

    def store(self, array: Array) -> None:
        """Use an array as the data, without a copy."""
        self._buffer.store(array)

    def invalidate(self) -> None:
        """Clear the data, because the computation that should have written it failed."""
        self._buffer.clear()

    def need_role(self, compilation: Compilation, kind: str, index: int) -> None:
        """Raise BadDataError if ``kind`` (input or output) ``index`` of the compilation is not a role of the memory."""
        is_role = Role(compilation, kind, index) in self.roles
        need(is_role, f"the memory was not made to be {kind} {index} of this compilation", BadDataError)

    def view(self, offset: int = 0, length: int | None = None) -> Array:
        raise BadDataError("a memory made from a descriptor is opaque: it cannot be used by the byte")

    def check_region(self, offset: int, length: int) -> None:
        raise BadDataError("a memory made from a descriptor is opaque: it has no regions and holds no constants")

    def __repr__(self) -> str:
        return f"<nnapi.DeviceMemory of {self.declared}, {'with' if self.has_data else 'without'} data>"


def copy_memory(source: Memory, target: Memory) -> None:
    """Copy all of ``source`` to ``target`` (``ANeuralNetworksMemory_copy``).

    BadDataError if sizes or types differ, or if the source has no data. After an error, an opaque target has no data.
    """
    need_memory(source, "source")
    need_memory(target, "target")
    if source is target:
        return
    try:
        _copy(source, target)
    except NnapiError:
        if isinstance(target, DeviceMemory):
            target.invalidate()
        raise


def _copy(source: Memory, target: Memory) -> None:
    contents = None
    if isinstance(source, DeviceMemory):
        need(source.has_data, "the source holds no data", BadDataError)
        contents = source.load()
    if isinstance(target, DeviceMemory):
        type = target.declared
        if isinstance(source, DeviceMemory) and contents is not None:
            same = source.declared.replace(dimensions=()) == type.replace(dimensions=())
            need(same, f"{source.declared} cannot be copied into {type}", BadDataError)
            fits = type.is_scalar or combine(contents.shape, type.dimensions) is not None
            need(fits, f"dimensions {list(contents.shape)} do not fit {list(type.dimensions)}", BadDataError)
        else:
            fits = type.is_known and source.size == type.nbytes
            need(fits, f"the source has {source.size} bytes, which do not fit {type}", BadDataError)
            contents = source.view().view(type.dtype).reshape(type.dimensions)
        target.store(contents.copy())
        return
    size = source.size if contents is None else contents.nbytes
    need(size == target.size, f"the source has {size} bytes, the target {target.size}", BadDataError)
    need(target.writable, "the target cannot be written to", UnmappableError)
    target.view()[:] = source.view() if contents is None else view_bytes(contents)


class HardwareBufferFormat(IntEnum):
    """Formats of AHardwareBuffer that this runtime supports."""

    R8G8B8A8_UNORM = 0x01
    BLOB = 0x21


PIXEL_BYTES = 4
"""Bytes per pixel of format R8G8B8A8_UNORM."""


class HardwareBuffer:
    """A buffer like Android's AHardwareBuffer, in an anonymous shared file.

    With ``format`` BLOB it has ``width`` bytes. With R8G8B8A8_UNORM it has ``layers`` × ``height`` × ``width`` pixels.
    Other formats raise BadDataError. ``usage`` is stored and has no effect.
    """

    def __init__(
        self, width: int, height: int = 1, layers: int = 1, format: int = HardwareBufferFormat.BLOB, usage: int = 0
    ) -> None:
        is_blob = format == HardwareBufferFormat.BLOB
        known = is_blob or format == HardwareBufferFormat.R8G8B8A8_UNORM
        need(known, f"format {format:#x} is neither BLOB nor R8G8B8A8_UNORM", BadDataError)
        flat = (height == 1 and layers == 1) or not is_blob
        need(width > 0 and flat, "a BLOB has a width above 0, and height and layers 1", BadDataError)
        need(height > 0 and layers > 0, f"{width} × {height} pixels in {layers} layers are none", BadDataError)
        size = width if is_blob else width * height * layers * PIXEL_BYTES
        need(size <= MAX_BYTES, f"{size} bytes are more than {MAX_BYTES}", BadDataError)
        self.width, self.height, self.layers, self.format, self.usage = width, height, layers, format, usage
        with (
            translate_errors(f"no hardware buffer of {size} bytes"),
            open(os.memfd_create("nnapi-buffer"), "rb") as file,
        ):
            fd = file.fileno()
            os.ftruncate(fd, size)
            self._memory = Memory.from_fd(size, PROTECTIONS, fd) if is_blob else ImageMemory(size)
            self._mapping = mmap.mmap(fd, size)
        self._turn = threading.Lock()

    @property
    def stride(self) -> int:
        """Pixels per row; for a BLOB, its bytes."""
        return self.width

    def lock(self) -> memoryview:
        """Return the bytes, to read and write until :meth:`unlock` (``AHardwareBuffer_lock``)."""
        need(self._turn.acquire(blocking=False), "the buffer is locked already", BadStateError)
        return memoryview(self._mapping)

    def unlock(self) -> None:
        """End the access that :meth:`lock` began (``AHardwareBuffer_unlock``); BadStateError if there is none."""
        try:
            self._turn.release()
        except RuntimeError:
            raise BadStateError("the buffer is not locked") from None

    def memory(self) -> Memory:
        """Return the memory of the buffer (``..._createFromAHardwareBuffer``).

        A BLOB may be any input, output or constant. An image may only be a whole input or output, on a device that
        supports its pixel format.
        """
        return self._memory


class ImageMemory(Memory):
    """The pixels of a hardware buffer. No device here supports them: a run raises UnmappableError."""

    def __init__(self, size: int) -> None:
        super().__init__(size, PROTECTIONS, np.empty(0, np.uint8))

    def view(self, offset: int = 0, length: int | None = None) -> Array:
        raise UnmappableError("the memory is an image, which cannot be mapped as the bytes of an operand")

    def check_region(self, offset: int, length: int) -> None:
        raise BadDataError("the memory is an image: it has no regions and holds no constants")

    def __repr__(self) -> str:
        return f"<nnapi.Memory of {self.size} bytes over an image>"
