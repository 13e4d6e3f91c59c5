"""The Android Neural Networks API for any Linux machine: describe a model, compile it for devices, execute it."""

import os

from nnapi.codes import (
    DeviceTypeCode,
    DurationCode,
    FeatureLevelCode,
    FuseCode,
    OperandCode,
    OperationCode,
    PaddingCode,
    PreferenceCode,
    PriorityCode,
    ResultCode,
)
from nnapi.errors import (
    BadDataError,
    BadStateError,
    DeadObjectError,
    IncompleteError,
    MissedDeadlineError,
    MissedDeadlinePersistentError,
    MissedDeadlineTransientError,
    NnapiError,
    OpFailedError,
    OutOfMemoryError,
    OutputInsufficientSizeError,
    ResourceExhaustedError,
    ResourceExhaustedPersistentError,
    ResourceExhaustedTransientError,
    UnavailableDeviceError,
    UnexpectedNullError,
    UnmappableError,
)
from nnapi.exporters import export
from nnapi.importers import load
from nnapi.model.builder import Builder
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation, Result, compile
from nnapi.runtime.device import Device, device, devices, unavailable_devices
from nnapi.runtime.event import Event
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import DeviceMemory, HardwareBuffer, MemoryDesc, copy_memory
from nnapi.runtime.settings import Partitioning, settings
from nnapi.trace.vlog import vlog

__all__ = [
    "BadDataError",
    "BadStateError",
    "Builder",
    "Burst",
    "ChannelQuantization",
    "Compilation",
    "DeadObjectError",
    "Device",
    "DeviceMemory",
    "DeviceTypeCode",
    "DurationCode",
    "Event",
    "Execution",
    "FeatureLevelCode",
    "FuseCode",
    "HardwareBuffer",
    "IncompleteError",
    "Memory",
    "MemoryDesc",
    "MissedDeadlineError",
    "MissedDeadlinePersistentError",
    "MissedDeadlineTransientError",
    "Model",
    "NnapiError",
    "OpFailedError",
    "OperandCode",
    "OperandType",
    "OperationCode",
    "OutOfMemoryError",
    "OutputInsufficientSizeError",
    "PaddingCode",
    "Partitioning",
    "PreferenceCode",
    "PriorityCode",
    "ResourceExhaustedError",
    "ResourceExhaustedPersistentError",
    "ResourceExhaustedTransientError",
    "Result",
    "ResultCode",
    "UnavailableDeviceError",
    "UnexpectedNullError",
    "UnmappableError",
    "compile",
    "copy_memory",
    "device",
    "devices",
    "export",
    "load",
    "settings",
    "tensor",
    "unavailable_devices",
    "vlog",
]

if os.environ.get("NNAPI_TRACE"):
    from nnapi.report import process as _process  # noqa: F401  (records from now on)
