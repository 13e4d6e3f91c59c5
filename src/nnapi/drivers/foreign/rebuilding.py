"""A model, or some of its operations, rebuilt in another NNAPI library."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from nnapi.drivers.foreign.library import Library
from nnapi.model.c_structures import ChannelStruct, OperandTypeStruct, uint32s
from nnapi.model.memory import mappings
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.nesting import list_nested
from nnapi.model.operand import Array


class Rebuilt(ExitStack):
    """The handles of a model and of its referenced models, freed together, with the memory that the library reads."""

    def __init__(self, library: Library, model: Model, calls: Sequence[OperationCall] | None = None) -> None:
        """Build all of the model or only ``calls``, whose other operands become inputs. Raises the library's errors."""
        super().__init__()
        self._library = library
        self._kept: list[Any] = []
        self._models: dict[Model, int] = {}
        try:
            for each in list_nested(model):
                if each is not model:
                    self._models[each] = self._build(each, each.operations, each.inputs, each.outputs)
            if calls is None:
                self.handle = self._build(model, model.operations, model.inputs, model.outputs)
            else:
                self.handle = self._build(model, calls, *_find_inputs_and_results(model, calls))
        except BaseException:
            self.close()
            raise

    def _build(
        self, model: Model, calls: Sequence[OperationCall], inputs: Sequence[int], outputs: Sequence[int]
    ) -> int:
        used = {*inputs, *outputs, *(index for call in calls for index in (*call.inputs, *call.outputs))}
        places = {index: place for place, index in enumerate(sorted(used))}
        handle = self._make("Model", "Model_create")
        for index, place in places.items():
            self._add_operand(handle, place, model.operands[index])
        for call in calls:
            lists = [[places[index] for index in indices] for indices in (call.inputs, call.outputs)]
            self._library.call("Model_addOperation", handle, call.code, *_lists(lists))
        ends = [[places[index] for index in indices] for indices in (inputs, outputs)]
        self._library.call("Model_identifyInputsAndOutputs", handle, *_lists(ends))
        if model.relaxed:
            self._library.call("Model_relaxComputationFloat32toFloat16", handle, True)
        self._library.call("Model_finish", handle)
        return handle

    def _make(self, kind: str, name: str, *arguments: Any) -> int:
        handle = self._library.make(name, *arguments)
        self.callback(self._library.free, kind, handle)
        return handle

    def _add_operand(self, model: int, place: int, operand: Operand) -> None:
        library, type = self._library, operand.type
        library.call("Model_addOperand", model, ctypes.byref(OperandTypeStruct.of(type)))
        if type.channel is not None:
            params = ChannelStruct.of(type.channel.dimension, type.channel.scales)
            library.call("Model_setOperandSymmPerChannelQuantParams", model, place, ctypes.byref(params))
        if operand.lifetime is Lifetime.NO_VALUE:
            library.call("Model_setOperandValue", model, place, None, 0)
        elif operand.lifetime is Lifetime.SUBGRAPH:
            library.call("Model_setOperandValueFromModel", model, place, self._models[operand.value])
        elif operand.lifetime is Lifetime.CONSTANT:
            self._set_constant(model, place, operand.value)

    def _set_constant(self, model: int, place: int, value: Array) -> None:
        """Set a constant by its file if that can be opened, else by its address, without a copy."""
        array = np.ascontiguousarray(value)
        for mapping in mappings([array]):
            descriptor = mapping.file.open() if mapping.file is not None else None
            if descriptor is not None:
                self._kept.append(mapping)
                self._set_from_file(model, place, descriptor, mapping.offset_of(array), array.nbytes)
                return
        self._kept.append(array)
        self._library.call("Model_setOperandValue", model, place, array.ctypes.data, array.nbytes)

    def _set_from_file(self, model: int, place: int, descriptor: int, offset: int, length: int) -> None:
        try:
            size = os.fstat(descriptor).st_size
            memory = self._make("Memory", "Memory_createFromFd", size, mmap.PROT_READ, descriptor, 0)
        finally:
            os.close(descriptor)
        self._library.call("Model_setOperandValueFromMemory", model, place, memory, offset, length)


def _find_inputs_and_results(model: Model, calls: Sequence[OperationCall]) -> tuple[list[int], list[int]]:
    """Return the operands that the operations read from elsewhere, and those that they compute."""
    computed = [index for call in calls for index in call.outputs]
    read = dict.fromkeys(index for call in calls for index in call.inputs if index not in computed)
    open_ends = Lifetime.INPUT, Lifetime.TEMPORARY, Lifetime.OUTPUT
    return [index for index in read if model.operands[index].lifetime in open_ends], computed


def _lists(lists: Sequence[Sequence[int]]) -> list[Any]:
    return [argument for numbers in lists for argument in (len(numbers), uint32s(numbers))]
