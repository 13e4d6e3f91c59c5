"""The runtime's classes implemented by calls to libneuralnetworks.so, for tests and ``nnapi check --via-c``. Result
codes are raised as exceptions, with the message of ``nnapi_last_error``."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Sequence
from functools import cache, partialmethod
from typing import Any, Self

import numpy as np

from nnapi.capi import installation
from nnapi.capi.functions import FUNCTIONS
from nnapi.capi.prototype import Function
from nnapi.errors import UnavailableDeviceError, error_for, need
from nnapi.model import memory as own_memory
from nnapi.model import model as own_model
from nnapi.model.c_structures import ChannelStruct, OperandTypeStruct, uint32s
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.runtime.device import Device, devices

ADDRESS = ctypes.c_size_t
SIMPLE = {
    "int": ctypes.c_int,
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "size_t": ctypes.c_size_t,
    "ANeuralNetworksOperationType": ctypes.c_int32,
    **{f"int{bits}_t": getattr(ctypes, f"c_int{bits}") for bits in (16, 32, 64)},
    **{f"uint{bits}_t": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


@cache
def library() -> ctypes.CDLL:
    """Load the library and declare its functions; raise UnavailableDeviceError if it was not built."""
    problem = installation.library_problem()
    need(problem is None, str(problem), UnavailableDeviceError)
    loaded = ctypes.CDLL(str(installation.library()))
    for function in FUNCTIONS:
        exported = getattr(loaded, function.name)
        exported.argtypes = [_ctype(function, position) for position in range(len(function.parameters))]
        exported.restype = SIMPLE.get(function.result)
    loaded.nnapi_last_error.restype = ctypes.c_char_p
    return loaded


def _ctype(function: Function, position: int) -> Any:
    parameter = function.parameters[position]
    is_address = parameter.is_pointer or parameter.type.endswith("Callback")
    return ctypes.c_void_p if is_address else SIMPLE[parameter.type.removeprefix("const ")]


def call(name: str, *arguments: Any) -> None:
    code = getattr(library(), name)(*arguments)
    if code:
        raise error_for(code)(library().nnapi_last_error().decode())


def make_handle(name: str, *arguments: Any) -> int:
    """Return the handle that a function writes through its last parameter."""
    handle = ADDRESS()
    call(name, *arguments, ctypes.byref(handle))
    return handle.value


def buffer_of(value: Any) -> tuple[int | None, int, Any]:
    """Return address and length in bytes of an array or buffer, and the object that keeps them valid."""
    if value is None:
        return None, 0, None
    array = value if isinstance(value, np.ndarray) else np.frombuffer(value, np.uint8)
    return array.ctypes.data, array.nbytes, array


def forward(name: str) -> Callable[..., None]:
    def method(self: Owner, *arguments: Any) -> None:
        call(f"ANeuralNetworks{name}", self.handle, *(getattr(each, "handle", each) for each in arguments))

    return method


class Owner:
    """An object behind a handle; its handle is freed with it."""

    def __init__(self, kind: str, handle: int) -> None:
        self.handle = handle
        self.free = weakref.finalize(self, getattr(library(), f"ANeuralNetworks{kind}_free"), handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


@cache
def device_handle(device: Device) -> int:
    return make_handle("ANeuralNetworks_getDevice", devices().index(device))


class Memory(Owner):
    """A memory over an anonymous file. One made from an array copies it; :func:`copy_memory` writes the array back."""

    def __init__(self, handle: int, array: Array | None = None, view: Array | None = None) -> None:
        super().__init__("Memory", handle)
        self.array, self.view = array, view

    @classmethod
    def from_array(cls, array: Array) -> Memory:
        fd = os.memfd_create("nnapi-client")
        try:
            os.ftruncate(fd, array.nbytes)
            view = np.empty(0, np.uint8)
            if array.nbytes:
                view = own_memory.Memory.from_fd(array.nbytes, own_memory.PROTECTIONS, fd).view()
                view[:] = array.reshape(-1).view(np.uint8)
            arguments = (array.nbytes, own_memory.PROTECTIONS, fd, 0)
            return cls(make_handle("ANeuralNetworksMemory_createFromFd", *arguments), array, view)
        finally:
            os.close(fd)


def copy_memory(source: Memory, target: Memory) -> None:
    call("ANeuralNetworksMemory_copy", source.handle, target.handle)
    if target.array is not None and target.view is not None:
        target.array.reshape(-1).view(np.uint8)[:] = target.view


class Model(own_model.Model):
    """A model that makes each call in C, and on a runtime's Model for questions that C has no functions for."""

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self.owner = Owner("Model", make_handle("ANeuralNetworksModel_create"))
        self.kept: list[Any] = []

    @property
    def handle(self) -> int:
        return self.owner.handle

    def add_operand(self, type: OperandType, name: str = "") -> int:
        call("ANeuralNetworksModel_addOperand", self.handle, ctypes.byref(OperandTypeStruct.of(type)))
        return super().add_operand(type, name)

    def set_operand_value(self, index: int, value: Any, length: int | None = None) -> None:
        address, size, keeper = buffer_of(None if value is None else np.ascontiguousarray(value))
        self.kept.append(keeper)  # finish reads longer values
        call("ANeuralNetworksModel_setOperandValue", self.handle, index, address, size if length is None else length)
        super().set_operand_value(index, value, length)

    def set_operand_value_from_memory(self, index: int, memory: Any, offset: int, length: int) -> None:
        arguments = (index, memory.handle, offset, length)
        call("ANeuralNetworksModel_setOperandValueFromMemory", self.handle, *arguments)
        super().set_operand_value_from_memory(index, own_memory.Memory.from_array(memory.view), offset, length)

    def set_operand_value_from_model(self, index: int, model: own_model.Model) -> None:
        assert isinstance(model, Model)
        call("ANeuralNetworksModel_setOperandValueFromModel", self.handle, index, model.handle)
        super().set_operand_value_from_model(index, model)

    def set_operand_symm_per_channel_quant_params(self, index: int, channel_dim: int, scales: Sequence[float]) -> None:
        name = "ANeuralNetworksModel_setOperandSymmPerChannelQuantParams"
        call(name, self.handle, index, ctypes.byref(ChannelStruct.of(channel_dim, scales)))
        super().set_operand_symm_per_channel_quant_params(index, channel_dim, scales)

    def add_operation(self, code: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        lists = (len(inputs), uint32s(inputs), len(outputs), uint32s(outputs))
        call("ANeuralNetworksModel_addOperation", self.handle, code, *lists)
        super().add_operation(code, inputs, outputs)

    def identify_inputs_and_outputs(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        lists = (len(inputs), uint32s(inputs), len(outputs), uint32s(outputs))
        call("ANeuralNetworksModel_identifyInputsAndOutputs", self.handle, *lists)
        super().identify_inputs_and_outputs(inputs, outputs)

    def relax_computation_float32_to_float16(self, allow: bool) -> None:
        call("ANeuralNetworksModel_relaxComputationFloat32toFloat16", self.handle, allow)
        super().relax_computation_float32_to_float16(allow)

    def finish(self) -> None:
        call("ANeuralNetworksModel_finish", self.handle)
        super().finish()


class Compilation(Owner):
    def __init__(self, model: Model, chosen: Sequence[Device] | None = None) -> None:
        self.model = model
        if chosen is None:
            handle = make_handle("ANeuralNetworksCompilation_create", model.handle)
        else:
            handles = (ADDRESS * len(chosen))(*map(device_handle, chosen))
            handle = make_handle("ANeuralNetworksCompilation_createForDevices", model.handle, handles, len(chosen))
        super().__init__("Compilation", handle)

    def set_caching(self, directory: str, token: bytes) -> None:
        call("ANeuralNetworksCompilation_setCaching", self.handle, os.fsencode(directory), token)

    finish = forward("Compilation_finish")

    def burst(self) -> Burst:
        return Burst(self)


class Burst(Owner):
    def __init__(self, compilation: Compilation) -> None:
        super().__init__("Burst", make_handle("ANeuralNetworksBurst_create", compilation.handle))


class Event(Owner):
    def __init__(self, handle: int) -> None:
        super().__init__("Event", handle)

    wait = forward("Event_wait")


class Execution(Owner):
    def __init__(self, compilation: Compilation) -> None:
        self.compilation, self.model = compilation, compilation.model
        self.kept: list[Any] = []
        super().__init__("Execution", make_handle("ANeuralNetworksExecution_create", compilation.handle))

    def _bind(
        self, name: str, index: int, buffer: Any, type: OperandType | None = None, length: int | None = None
    ) -> None:
        address, size, keeper = buffer_of(buffer)
        self.kept.append(keeper)
        given = self._complete_type(name, index, buffer) if type is None else type
        pointer = None if given is None else ctypes.byref(OperandTypeStruct.of(given))
        call(name, self.handle, index, pointer, address, size if length is None else length)

    def _complete_type(self, name: str, index: int, buffer: Any) -> OperandType | None:
        """Return the type to pass to C if an input's dimensions are unspecified: with the array's own shape."""
        declared = self.model.operands[self.model.inputs[index]].type if name.endswith("Input") else None
        if declared is None or declared.is_known or not isinstance(buffer, np.ndarray):
            return None
        return declared.with_dimensions(buffer.shape)

    def _bind_memory(self, name: str, index: int, memory: Memory, offset: int, length: int) -> None:
        self.kept.append(memory)
        call(name, self.handle, index, None, memory.handle, offset, length)

    set_input = partialmethod(_bind, "ANeuralNetworksExecution_setInput")
    set_output = partialmethod(_bind, "ANeuralNetworksExecution_setOutput")
    set_input_from_memory = partialmethod(_bind_memory, "ANeuralNetworksExecution_setInputFromMemory")
    set_output_from_memory = partialmethod(_bind_memory, "ANeuralNetworksExecution_setOutputFromMemory")
    set_loop_timeout = forward("Execution_setLoopTimeout")
    compute = forward("Execution_compute")
    burst_compute = forward("Execution_burstCompute")

    def start_compute(self) -> Event:
        return Event(make_handle("ANeuralNetworksExecution_startCompute", self.handle))

    def start_compute_with_dependencies(self, dependencies: Sequence[Event], duration: int = 0) -> Event:
        handles = (ADDRESS * len(dependencies))(*(event.handle for event in dependencies))
        name = "ANeuralNetworksExecution_startComputeWithDependencies"
        return Event(make_handle(name, self.handle, handles, len(dependencies), duration))

    def output_operand_rank(self, index: int) -> int:
        rank = ctypes.c_uint32()
        call("ANeuralNetworksExecution_getOutputOperandRank", self.handle, index, ctypes.byref(rank))
        return rank.value

    def output_operand_dimensions(self, index: int) -> Shape:
        dimensions = (ctypes.c_uint32 * self.output_operand_rank(index))()
        call("ANeuralNetworksExecution_getOutputOperandDimensions", self.handle, index, dimensions)
        return tuple(dimensions)


class MemoryDesc(Owner):
    def __init__(self) -> None:
        super().__init__("MemoryDesc", make_handle("ANeuralNetworksMemoryDesc_create"))

    def add_input_role(self, compilation: Compilation, index: int, frequency: float = 1.0) -> None:
        call("ANeuralNetworksMemoryDesc_addInputRole", self.handle, compilation.handle, index, frequency)

    def add_output_role(self, compilation: Compilation, index: int, frequency: float = 1.0) -> None:
        call("ANeuralNetworksMemoryDesc_addOutputRole", self.handle, compilation.handle, index, frequency)

    finish = forward("MemoryDesc_finish")

    def create_memory(self) -> Memory:
        return Memory(make_handle("ANeuralNetworksMemory_createFromDesc", self.handle))
