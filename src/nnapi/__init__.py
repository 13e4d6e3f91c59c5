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
from nnapi.errors import NnapiError
from nnapi.importers import load
from nnapi.model.builder import Builder
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation, compile
from nnapi.runtime.device import Device, device, devices, unavailable_devices
from nnapi.runtime.event import Event
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import DeviceMemory, HardwareBuffer, MemoryDesc, copy_memory
from nnapi.runtime.preparation import Partitioning, settings
from nnapi.trace.vlog import vlog

__all__ = [
    "Builder",
    "Burst",
    "ChannelQuantization",
    "Compilation",
    "Device",
    "DeviceMemory",
    "DeviceTypeCode",
    "DurationCode",
    "Event",
    "Execution",
    "FeatureLevelCode",
    "FuseCode",
    "HardwareBuffer",
    "Memory",
    "MemoryDesc",
    "Model",
    "NnapiError",
    "OperandCode",
    "OperandType",
    "OperationCode",
    "PaddingCode",
    "Partitioning",
    "PreferenceCode",
    "PriorityCode",
    "ResultCode",
    "compile",
    "copy_memory",
    "device",
    "devices",
    "load",
    "settings",
    "tensor",
    "unavailable_devices",
    "vlog",
]

if os.environ.get("NNAPI_TRACE"):
    from nnapi.report import process as _process  # noqa: F401  (records from now on)
