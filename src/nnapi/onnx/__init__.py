"""A drop-in replacement for ONNX Runtime's ``InferenceSession`` in Python, with inference by this library's devices.

A program needs only ``import nnapi.onnx as onnxruntime`` instead of ``import onnxruntime``; with ``python -m nnapi.onnx
program.py`` it runs unchanged. ONNX Runtime need not be installed.
"""

from nnapi.onnx.failures import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile, NotImplemented
from nnapi.onnx.io_binding import IOBinding
from nnapi.onnx.memory_info import OrtDevice, OrtMemoryInfo, OrtValueVector
from nnapi.onnx.options import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    set_default_logger_severity,
)
from nnapi.onnx.ort_value import OrtValue
from nnapi.onnx.providers import get_all_providers, get_available_providers, get_device
from nnapi.onnx.session import InferenceSession
from nnapi.onnx.session_file import ModelMetadata, NodeArg

__all__ = [
    "ExecutionMode",
    "Fail",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InvalidArgument",
    "InvalidProtobuf",
    "ModelMetadata",
    "NoSuchFile",
    "NodeArg",
    "NotImplemented",
    "OrtDevice",
    "OrtMemoryInfo",
    "OrtValue",
    "OrtValueVector",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
]
