"""The C functions of another NNAPI library that its driver calls, as the headers declare them."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any, NamedTuple

PREFIX = "ANeuralNetworks"
ENTRY_OF_SUPPORT_LIBRARY = PREFIX + "_getSLDriverImpl"
INCLUDE = Path(__file__).parents[2] / "capi" / "include"
DECLARATION = re.compile(rf"Since\s+feature\s+level\s+(\d)\.\s+\*/\n(\w+) {PREFIX}(\w+)\(([^;]*)\);")
POINTER = re.compile(rf"^    .* \(\*({PREFIX}\w+)\)\(", re.MULTILINE)
TYPES: dict[str, Any] = {
    "ANeuralNetworksOperationType": ctypes.c_int32,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "void": None,
}
NAMES = """
Compilation_createForDevices Compilation_finish Compilation_free Compilation_setPreference Compilation_setPriority
Compilation_setTimeout Device_getFeatureLevel Device_getName Device_getType Device_getVersion Execution_compute
Execution_create Execution_free Execution_getOutputOperandDimensions Execution_getOutputOperandRank Execution_setInput
Execution_setLoopTimeout Execution_setOutput Execution_setTimeout Memory_createFromFd Memory_free Model_addOperand
Model_addOperation Model_create Model_finish Model_free Model_getSupportedOperationsForDevices
Model_identifyInputsAndOutputs Model_relaxComputationFloat32toFloat16 Model_setOperandSymmPerChannelQuantParams
Model_setOperandValue Model_setOperandValueFromMemory Model_setOperandValueFromModel _getDevice _getDeviceCount
"""


class Signature(NamedTuple):
    """The feature level that introduced a function, and the type that makes it from its address."""

    level: int
    type: Any


def _read_header() -> dict[str, Signature]:
    header, names, found = (INCLUDE / "NeuralNetworks.h").read_text("utf-8"), NAMES.split(), {}
    for level, result, name, parameters in DECLARATION.findall(header):
        if name in names:
            types = [parameter.rpartition(" ")[0].strip() for parameter in parameters.split(",")]
            arguments = [ctypes.c_void_p if "*" in type else TYPES[type] for type in types]
            found[name] = Signature(int(level), ctypes.CFUNCTYPE(TYPES[result], *arguments))
    return found


FUNCTIONS = _read_header()
"""By their names without the prefix."""
TABLE = tuple(POINTER.findall((INCLUDE / "NeuralNetworksSupportLibraryImpl.h").read_text("utf-8")))
"""The first functions in the pointer table of a support library, in its order."""
