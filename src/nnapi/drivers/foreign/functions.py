"""The C functions of another NNAPI library that its driver calls, and their order in a support library."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

PREFIX = "ANeuralNetworks"
ENTRY_OF_SUPPORT_LIBRARY = PREFIX + "_getSLDriverImpl"
TYPES: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int32,
    "u": ctypes.c_uint32,
    "q": ctypes.c_uint64,
    "z": ctypes.c_size_t,
    "b": ctypes.c_bool,
}


class Signature(NamedTuple):
    """The feature level that introduced a function, and a letter of TYPES for each parameter.

    Functions that free an object return nothing, all others a result code.
    """

    level: int
    parameters: str


FUNCTIONS = {
    "_getDeviceCount": Signature(3, "p"),
    "_getDevice": Signature(3, "up"),
    "Device_getName": Signature(3, "pp"),
    "Device_getType": Signature(3, "pp"),
    "Device_getVersion": Signature(3, "pp"),
    "Device_getFeatureLevel": Signature(3, "pp"),
    "Memory_createFromFd": Signature(1, "ziizp"),
    "Memory_free": Signature(1, "p"),
    "Model_create": Signature(1, "p"),
    "Model_free": Signature(1, "p"),
    "Model_addOperand": Signature(1, "pp"),
    "Model_setOperandValue": Signature(1, "pipz"),
    "Model_setOperandValueFromMemory": Signature(1, "pipzz"),
    "Model_setOperandValueFromModel": Signature(4, "pip"),
    "Model_setOperandSymmPerChannelQuantParams": Signature(3, "pip"),
    "Model_addOperation": Signature(1, "piupup"),
    "Model_identifyInputsAndOutputs": Signature(1, "pupup"),
    "Model_relaxComputationFloat32toFloat16": Signature(2, "pb"),
    "Model_finish": Signature(1, "p"),
    "Model_getSupportedOperationsForDevices": Signature(3, "ppup"),
    "Compilation_createForDevices": Signature(3, "ppup"),
    "Compilation_free": Signature(1, "p"),
    "Compilation_setPreference": Signature(1, "pi"),
    "Compilation_setPriority": Signature(4, "pi"),
    "Compilation_setTimeout": Signature(4, "pq"),
    "Compilation_finish": Signature(1, "p"),
    "Execution_create": Signature(1, "pp"),
    "Execution_free": Signature(1, "p"),
    "Execution_setInput": Signature(1, "pippz"),
    "Execution_setOutput": Signature(1, "pippz"),
    "Execution_setTimeout": Signature(4, "pq"),
    "Execution_setLoopTimeout": Signature(4, "pq"),
    "Execution_compute": Signature(3, "p"),
    "Execution_getOutputOperandRank": Signature(3, "pip"),
    "Execution_getOutputOperandDimensions": Signature(3, "pip"),
}
"""By their names without the prefix."""

NAMES = """
Burst_create Burst_free Compilation_createForDevices Compilation_finish Compilation_free
Compilation_getPreferredMemoryAlignmentForInput Compilation_getPreferredMemoryAlignmentForOutput
Compilation_getPreferredMemoryPaddingForInput Compilation_getPreferredMemoryPaddingForOutput
Compilation_setCaching Compilation_setPreference Compilation_setPriority Compilation_setTimeout
Device_getExtensionSupport Device_getFeatureLevel Device_getName Device_getType Device_getVersion Device_wait
Event_createFromSyncFenceFd Event_free Event_getSyncFenceFd Event_wait Execution_burstCompute Execution_compute
Execution_create Execution_enableInputAndOutputPadding Execution_free Execution_getDuration
Execution_getOutputOperandDimensions Execution_getOutputOperandRank Execution_setInput
Execution_setInputFromMemory Execution_setLoopTimeout Execution_setMeasureTiming Execution_setOutput
Execution_setOutputFromMemory Execution_setReusable Execution_setTimeout Execution_startComputeWithDependencies
MemoryDesc_addInputRole MemoryDesc_addOutputRole MemoryDesc_create MemoryDesc_finish MemoryDesc_free
MemoryDesc_setDimensions Memory_copy Memory_createFromAHardwareBuffer Memory_createFromDesc Memory_createFromFd
Memory_free Model_addOperand Model_addOperation Model_create Model_finish Model_free
Model_getExtensionOperandType Model_getExtensionOperationType Model_getSupportedOperationsForDevices
Model_identifyInputsAndOutputs Model_relaxComputationFloat32toFloat16 Model_setOperandExtensionData
Model_setOperandSymmPerChannelQuantParams Model_setOperandValue Model_setOperandValueFromMemory
Model_setOperandValueFromModel _getDefaultLoopTimeout _getDevice _getDeviceCount
"""
TABLE = tuple(PREFIX + name for name in NAMES.split())
"""The first functions in the pointer table of a support library, in its order, as far as they are called."""
