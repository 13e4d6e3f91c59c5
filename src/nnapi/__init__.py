"""The Android Neural Networks API for any Linux machine: describe a model, compile it for devices, execute it."""

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
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from nnapi.runtime.compilation import Burst, Compilation, compile
from nnapi.runtime.device import Device, device, devices, unavailable_devices
from nnapi.runtime.event import Event
from nnapi.runtime.execution import Execution

__all__ = [
    "Burst",
    "ChannelQuantization",
    "Compilation",
    "Device",
    "DeviceTypeCode",
    "DurationCode",
    "Event",
    "Execution",
    "FeatureLevelCode",
    "FuseCode",
    "Memory",
    "Model",
    "NnapiError",
    "OperandCode",
    "OperandType",
    "OperationCode",
    "PaddingCode",
    "PreferenceCode",
    "PriorityCode",
    "ResultCode",
    "compile",
    "device",
    "devices",
    "load",
    "tensor",
    "unavailable_devices",
]
