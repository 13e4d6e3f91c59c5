"""Objects to call the functions of the C library with, made through the library itself."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from nnapi.capi.client import ADDRESS, call, library, make_handle
from nnapi.codes import OperandCode, OperationCode
from nnapi.model.c_structures import OperandTypeStruct, uint32s
from nnapi.model.operand import OperandType

P = "ANeuralNetworks"
SIZE = 8
"""Bytes of the values: two float32."""


class World:
    """Objects to call functions with, made through the library itself. ``kept`` keeps buffers alive."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.compilation_of: dict[int, int] = {}

    def keep(self, value: Any) -> Any:
        self.kept.append(value)
        return value

    def room(self) -> Any:
        """Where a function can write its answer."""
        return self.keep((ctypes.c_uint64 * 8)())

    def type(self, code: int = OperandCode.TENSOR_FLOAT32, dimensions: tuple[int, ...] = (2,), scale: float = 0) -> Any:
        return ctypes.byref(self.keep(OperandTypeStruct.of(OperandType(code, dimensions, scale))))

    def bytes(self, size: int = SIZE) -> Any:
        return self.keep(ctypes.create_string_buffer(size))

    def model(self, dimensions: tuple[int, ...] = (2,), *, finish: bool = False, add: bool = True) -> int:
        """x (0) + y (1), without activation (2), gives z (3); a filter (4) and a reference to a model (5) besides."""
        model = make_handle(f"{P}Model_create")
        scalar, filter = OperandCode.INT32, OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL
        types = [self.type(dimensions=dimensions)] * 2 + [self.type(scalar, ()), self.type(dimensions=dimensions)]
        if not finish:
            types += [self.type(filter, (2, 3)), self.type(OperandCode.MODEL, ()), self.type(filter, (0, 3))]
            types += [self.type(dimensions=(0,))]
        for type in types:
            call(f"{P}Model_addOperand", model, type)
        call(f"{P}Model_setOperandValue", model, 2, self.keep(ctypes.c_int32(0)).value.to_bytes(4, "little"), 4)
        if add:
            arrays = (3, uint32s([0, 1, 2]), 1, uint32s([3]))
            call(f"{P}Model_addOperation", model, OperationCode.ADD, *arrays)
            call(f"{P}Model_identifyInputsAndOutputs", model, 2, uint32s([0, 1]), 1, uint32s([3]))
        if finish:
            call(f"{P}Model_finish", model)
        return model

    def finished(self) -> int:
        return self.model(finish=True)

    def invalid(self) -> int:
        """A model whose finish has failed."""
        model = make_handle(f"{P}Model_create")
        assert library().ANeuralNetworksModel_finish(model)
        return model

    def devices(self, *indices: int | None) -> Any:
        handles = [None if index is None else make_handle(f"{P}_getDevice", index) for index in indices]
        return self.keep((ADDRESS * len(handles))(*[handle or 0 for handle in handles]))

    def single(self, code: OperationCode, inputs: list[Any], output: Any) -> int:
        """A model of one operation, everything an input of it."""
        model = make_handle(f"{P}Model_create")
        for type in (*inputs, output):
            call(f"{P}Model_addOperand", model, type)
        indices, last = uint32s(range(len(inputs))), uint32s([len(inputs)])
        call(f"{P}Model_addOperation", model, code, len(inputs), indices, 1, last)
        call(f"{P}Model_identifyInputsAndOutputs", model, len(inputs), indices, 1, last)
        call(f"{P}Model_finish", model)
        return model

    def ints(self) -> int:
        """A compilation whose inputs are TENSOR_INT32, TENSOR_INT32 and a scalar."""
        tensor, scalar = self.type(OperandCode.TENSOR_INT32), self.type(OperandCode.INT32, ())
        return self.compilation(model=self.single(OperationCode.ADD, [tensor, tensor, scalar], tensor))

    def compilation(
        self, *, finish: bool = True, explicit: bool = True, dimensions: tuple[int, ...] = (2,), model: int = 0
    ) -> int:
        model = model or self.model(dimensions, finish=True)
        last = self.count() - 1
        if explicit:
            made_ = make_handle(f"{P}Compilation_createForDevices", model, self.devices(last), 1)
        else:
            made_ = make_handle(f"{P}Compilation_create", model)
        if finish:
            call(f"{P}Compilation_finish", made_)
        return made_

    def count(self) -> int:
        answer = ctypes.c_uint32()
        call(f"{P}_getDeviceCount", ctypes.byref(answer))
        return answer.value

    def execution(
        self, compilation: int = 0, *, bind: bool = True, run: bool = False, size: int = SIZE, **options: Any
    ) -> int:
        compilation = compilation or self.compilation(**options)
        execution = make_handle(f"{P}Execution_create", compilation)
        self.compilation_of[execution] = compilation
        if bind or run:
            type = self.type() if options.get("dimensions") else None
            for index in range(2):
                call(f"{P}Execution_setInput", execution, index, type, self.bytes(), SIZE)
            call(f"{P}Execution_setOutput", execution, 0, None, self.bytes(size), size)
        if run:
            assert library().ANeuralNetworksExecution_compute(execution) in (0, 8)
        return execution

    def too_small(self) -> int:
        """An execution whose output's buffer was too small."""
        return self.execution(run=True, size=4, dimensions=(0,))

    def bad_activation(self) -> int:
        """An execution whose operation will refuse a value."""
        execution = self.execution(self.ints(), bind=False)
        for index, value in enumerate((bytes(SIZE), bytes(SIZE), b"\x63\0\0\0")):
            call(f"{P}Execution_setInput", execution, index, None, self.keep(value), len(value))
        call(f"{P}Execution_setOutput", execution, 0, None, self.bytes(), SIZE)
        return execution

    def scalar_result(self) -> int:
        """An execution that has computed a scalar."""
        model = self.single(OperationCode.RANK, [self.type()], self.type(OperandCode.INT32, ()))
        execution = self.execution(self.compilation(model=model), bind=False)
        call(f"{P}Execution_setInput", execution, 0, None, self.bytes(), SIZE)
        call(f"{P}Execution_setOutput", execution, 0, None, self.bytes(4), 4)
        call(f"{P}Execution_compute", execution)
        return execution

    def hardware_buffer(self) -> int:
        desc, handle = (ctypes.c_uint32 * 12)(SIZE, 1, 1, 0x21), ADDRESS()
        assert library().AHardwareBuffer_allocate(desc, ctypes.byref(handle)) == 0
        return handle.value

    def memory(self, size: int = SIZE, protect: int = 3) -> int:
        fd = os.memfd_create("rules")
        os.ftruncate(fd, SIZE)
        try:
            return make_handle(f"{P}Memory_createFromFd", size, protect, fd, 0)
        finally:
            os.close(fd)

    def desc(self, compilation: int = 0, *, finish: bool = False, role: str = "Input", index: int = 0) -> int:
        desc = make_handle(f"{P}MemoryDesc_create")
        call(f"{P}MemoryDesc_add{role}Role", desc, compilation or self.compilation(), index, 1.0)
        if finish:
            call(f"{P}MemoryDesc_finish", desc)
        return desc

    def opaque(self, compilation: int = 0, role: str = "Input") -> int:
        """A memory without data."""
        return make_handle(f"{P}Memory_createFromDesc", self.desc(compilation, finish=True, role=role))

    def event(self) -> int:
        event = make_handle(f"{P}Execution_startCompute", self.execution())
        call(f"{P}Event_wait", event)
        return event

    def broken_fence(self) -> int:
        """An event over the end of a pipe that nobody can write to any more."""
        reading, writing = os.pipe()
        event = make_handle(f"{P}Event_createFromSyncFenceFd", writing)
        os.close(writing)
        os.close(reading)
        return event
