"""The Android Neural Networks API for any Linux machine: describe a model, compile it for devices, execute it."""

import importlib
import os
import typing

from nnapi.codes import (
    DeviceTypeCode,
    DurationCode,
    FeatureLevelCode,
    FuseCode,
    OperandCode,
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
from nnapi.errors import translate_errors as _translate_errors
from nnapi.garbage_collection import pause_collecting as _pause_collecting
from nnapi.notebook_display import register_drawing as _register_drawing

if typing.TYPE_CHECKING:
    from nnapi.cluster.predictor import Predictor
    from nnapi.compiling import compile
    from nnapi.exporters import export
    from nnapi.importers import load
    from nnapi.model.builder import Builder
    from nnapi.model.memory import Memory
    from nnapi.model.model import Model
    from nnapi.model.operand import ChannelQuantization, OperandType, tensor
    from nnapi.operation_codes import OperationCode
    from nnapi.ops.quantized_values import dequantize, quantize
    from nnapi.runtime.burst import Burst
    from nnapi.runtime.by_name import Outputs
    from nnapi.runtime.choice.tune import tune
    from nnapi.runtime.compilation import Compilation
    from nnapi.runtime.device import Device, device, devices, unavailable_devices
    from nnapi.runtime.event import Event, Result
    from nnapi.runtime.execution import Execution
    from nnapi.runtime.memory import DeviceMemory, HardwareBuffer, MemoryDesc, copy_memory
    from nnapi.runtime.settings import Partitioning, Winograd, settings
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
    "Outputs",
    "PaddingCode",
    "Partitioning",
    "Predictor",
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
    "Winograd",
    "compile",
    "copy_memory",
    "dequantize",
    "device",
    "devices",
    "export",
    "load",
    "quantize",
    "settings",
    "tensor",
    "tune",
    "unavailable_devices",
    "vlog",
]

_MODULES = {
    "nnapi.cluster.predictor": "Predictor",
    "nnapi.exporters": "export",
    "nnapi.importers": "load",
    "nnapi.model.builder": "Builder",
    "nnapi.model.memory": "Memory",
    "nnapi.model.model": "Model",
    "nnapi.model.operand": "ChannelQuantization OperandType tensor",
    "nnapi.operation_codes": "OperationCode",
    "nnapi.ops.quantized_values": "dequantize quantize",
    "nnapi.runtime.burst": "Burst",
    "nnapi.compiling": "compile",
    "nnapi.runtime.compilation": "Compilation",
    "nnapi.runtime.device": "Device device devices unavailable_devices",
    "nnapi.runtime.event": "Event Result",
    "nnapi.runtime.execution": "Execution",
    "nnapi.runtime.memory": "DeviceMemory HardwareBuffer MemoryDesc copy_memory",
    "nnapi.runtime.by_name": "Outputs",
    "nnapi.runtime.settings": "Partitioning Winograd settings",
    "nnapi.runtime.choice.tune": "tune",
    "nnapi.trace.vlog": "vlog",
}
"""The modules of the other public names, loaded on demand."""
_PACKAGES = "drivers", "exporters", "formats", "importers", "model", "runtime", "trace"
"""Packages that are imported at the first access to their names."""

__version__: str

if not typing.TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # on demand: 20 ms

            return version("nnapi")
        if name in _PACKAGES:
            return importlib.import_module(f"{__name__}.{name}")
        home = next((home for home, names in _MODULES.items() if name in names.split()), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with _pause_collecting(), _translate_errors(f"{__name__}.{name} cannot be imported"):
            value = globals()[name] = getattr(importlib.import_module(home), name)
        return value

    def __dir__() -> list[str]:
        special = {name for name in globals() if name.startswith("__")}
        return sorted({*special, *__all__, *_PACKAGES, "codes", "errors"})


def _draw(shown: object) -> str | None:
    from nnapi.report.notebook import draw  # for notebooks only

    return draw(shown)


_register_drawing(_draw)
if os.environ.get("DEBUG_NN_VLOG") or os.environ.get("ANDROID_LOG_TAGS"):
    from nnapi.trace import vlog as _vlog  # noqa: F401  (shows what they ask for from now on)
if _trace := os.environ.get("NNAPI_TRACE"):
    from nnapi.report.trace_writer import record_process as _record_process

    _record_process(_trace)
