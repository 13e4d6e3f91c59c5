"""Format the arguments and results of an exported function by its prototype. A client's pointer may be invalid, so
memory is read through /proc/self/mem, where reading an invalid address fails but does not end the process."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any

import numpy as np

from nnapi.capi._bridge import ffi
from nnapi.capi.handles import Handles
from nnapi.capi.prototype import SEVERAL, Function, Parameter
from nnapi.codes import (
    BYTE_SIZE_OF_CACHE_TOKEN,
    DeviceTypeCode,
    DurationCode,
    FeatureLevelCode,
    OperationCode,
    PreferenceCode,
    PriorityCode,
)
from nnapi.errors import NnapiError
from nnapi.model.operand import OperandType

CODES: Mapping[str, type[IntEnum]] = {
    "preference": PreferenceCode,
    "priority": PriorityCode,
    "durationCode": DurationCode,
    "featureLevel": FeatureLevelCode,
}
"""Parameters that are members of an enumeration, by name."""

PROTECTIONS = {1: "PROT_READ", 2: "PROT_WRITE"}
MOST_ELEMENTS, MOST_BYTES, MOST_TEXT = 32, 16, 256
"""Maximum elements of a list, bytes of a buffer and characters of a text in the output."""


class CallFormatter:
    """Format the values of calls. Safe to use from several threads."""

    def __init__(self, handles: Mapping[str, Handles]) -> None:
        self._handles = handles
        self._open()
        os.register_at_fork(after_in_child=self._open)

    def format_arguments(self, function: Function, raw: Sequence[Any]) -> str:
        values = {parameter.name: value for parameter, value in zip(function.parameters, raw, strict=True)}
        said = (
            f"{parameter.name}={self._format(function, parameter, values)}"
            for parameter in function.parameters
            if not parameter.is_output
        )
        return ", ".join(said)

    def format_results(self, function: Function, raw: Sequence[Any]) -> str:
        """Format the outputs that a successful call has written."""
        values = {parameter.name: value for parameter, value in zip(function.parameters, raw, strict=True)}
        return ", ".join(
            f"{parameter.name}={self._format_output(function, parameter, values)}"
            for parameter in function.parameters
            if parameter.is_output and values[parameter.name]
        )

    # Arguments

    def _format(self, function: Function, parameter: Parameter, values: Mapping[str, Any]) -> str:
        value = values[parameter.name]
        if not parameter.is_pointer:
            return _format_number(parameter, value)
        if not value:
            return "null"
        if parameter.is_handle:
            return self._format_handle(str(parameter.kind), value)
        count = values[parameter.count] if parameter.count else 1
        is_read = "const" in parameter.type  # otherwise it is a buffer for results
        if parameter.kind:
            listed = self._numbers(value, np.uintp, count)
            return _join_some([self._format_handle(str(parameter.kind), each) for each in listed], count)
        match parameter.base:
            case "ANeuralNetworksOperandType":
                said = self._format_type(value)
            case "ANeuralNetworksSymmPerChannelQuantParams":
                said = self._format_scales(value)
            case "AHardwareBuffer_Desc" if is_read:
                said = self._format_fields(value, "width", "height", "layers", "format", "usage")
            case "uint32_t":
                said = _join_some(self._numbers(value, np.uint32, count), count)
            case "char":
                said = self._format_text(value)
            case "uint8_t":
                said = self._read(value, BYTE_SIZE_OF_CACHE_TOKEN).hex()
            case "void" if parameter.count:
                said = self._format_bytes(function, values, value, count) if is_read else ""
            case _:
                said = ""
        return said or f"{_address(value):#x}"

    def _format_handle(self, kind: str, handle: int) -> str:
        """Format a device as its name, any other handle as its number."""
        if kind == "Device":
            with suppress(NnapiError):
                return f'"{self._handles[kind][handle].name}"'
        return f"{handle:#x}" if handle else "null"

    def _format_type(self, pointer: Any) -> str:
        type = self._structure("ANeuralNetworksOperandType", pointer)
        if type is None:
            return ""
        dimensions = self._numbers(type.dimensions, np.uint32, type.dimensionCount) if type.dimensions else []
        return str(OperandType(type.type, tuple(dimensions), type.scale, type.zeroPoint))

    def _format_scales(self, pointer: Any) -> str:
        params = self._structure("ANeuralNetworksSymmPerChannelQuantParams", pointer)
        if params is None:
            return ""
        scales = self._numbers(params.scales, np.float32, params.scaleCount) if params.scales else []
        return (
            f"{{channelDim={params.channelDim}, scales={_join_some([f'{s:.6g}' for s in scales], params.scaleCount)}}}"
        )

    def _format_fields(self, pointer: Any, *names: str) -> str:
        value = self._structure("AHardwareBuffer_Desc", pointer)
        return "" if value is None else "{" + ", ".join(f"{name}={getattr(value, name)}" for name in names) + "}"

    def _format_text(self, pointer: Any) -> str:
        text, end, _ = self._read(pointer, MOST_TEXT).partition(b"\0")
        return f'"{text.decode(errors="replace")}{"" if end else "…"}"' if text or end else ""

    def _format_bytes(self, function: Function, values: Mapping[str, Any], pointer: Any, length: int) -> str:
        """Format a scalar as its value, and up to a few other bytes in hexadecimal."""
        data = self._read(pointer, length) if length <= MOST_BYTES else b""
        if data and function.name == "ANeuralNetworksModel_setOperandValue":
            with suppress(NnapiError, IndexError, KeyError, ValueError):
                type = self._handles["Model"][values["model"]].operands[values["index"]].type
                if type.is_scalar:
                    return str(np.frombuffer(data, type.dtype)[0])
        return f"{_address(pointer):#x} ({data.hex(' ')})" if data else ""

    # Outputs

    def _format_output(self, function: Function, parameter: Parameter, values: Mapping[str, Any]) -> str:
        pointer = values[parameter.name]
        if parameter.kind:
            return self._format_handle(parameter.kind, pointer[0])
        if parameter.name in SEVERAL:
            count = self._count_results(values)
            return _join_some(
                [_format_number(parameter, pointer[index]) for index in range(min(count, MOST_ELEMENTS))], count
            )
        if parameter.base == "char":
            return self._format_text(pointer[0])
        if parameter.base == "void":
            return f"{_address(pointer[0]):#x}"
        if function.name == "ANeuralNetworksDevice_getType":
            return _name(DeviceTypeCode, pointer[0])
        return _format_number(parameter, pointer[0])

    def _count_results(self, values: Mapping[str, Any]) -> int:
        """Return the number of values that a function has written to an output array."""
        with suppress(NnapiError):
            if "model" in values:
                return len(self._handles["Model"][values["model"]].operations)
            return int(self._handles["Execution"][values["execution"]].output_operand_rank(values["index"]))
        return 0

    # Memory

    def _open(self) -> None:
        """Open the memory of this process; a forked child does so again."""
        try:
            self._memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._memory = -1

    def _read(self, pointer: Any, size: int) -> bytes:
        """Read ``size`` bytes of memory; return b"" for an invalid pointer."""
        try:
            return os.pread(self._memory, size, _address(pointer))
        except (OSError, OverflowError):
            return b""

    def _structure(self, name: str, pointer: Any) -> Any:
        size = ffi.sizeof(name)
        data = self._read(pointer, size)
        if len(data) < size:
            return None
        copy = ffi.new(f"{name}*")
        ffi.memmove(copy, data, size)
        return copy

    def _numbers(self, pointer: Any, dtype: Any, count: int) -> list[Any]:
        size = np.dtype(dtype).itemsize
        data = self._read(pointer, size * min(count, MOST_ELEMENTS))
        found: list[Any] = np.frombuffer(data, dtype, len(data) // size).tolist()
        return found


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _name(codes: type[IntEnum], number: int) -> str:
    return codes(number).name if number in codes.__members__.values() else str(number)


def _format_number(parameter: Parameter, value: Any) -> str:
    if parameter.base == "bool":
        return "true" if value else "false"
    if parameter.base == "ANeuralNetworksOperationType":
        return _name(OperationCode, value)
    if parameter.name in CODES:
        return _name(CODES[parameter.name], value)
    if parameter.name == "protect":
        return "|".join(_protections(value)) or "PROT_NONE"
    if parameter.type.endswith("Callback"):
        return f"{_address(value):#x}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _protections(value: int) -> Iterator[str]:
    yield from (name for bit, name in PROTECTIONS.items() if value & bit)
    if rest := value & ~sum(PROTECTIONS):
        yield f"{rest:#x}"


def _join_some(values: Sequence[Any], count: int) -> str:
    """Join the elements that could be read, out of ``count``."""
    more = ["…"] if len(values) < count else []
    return "[" + ", ".join([*map(str, values), *more]) + "]"
