"""A drop-in replacement for ONNX Runtime's ``InferenceSession`` in Python, which runs models on nnapi's devices.

A program needs only ``import nnapi.onnx as onnxruntime`` instead of ``import onnxruntime``; with ``python -m nnapi.onnx
program.py`` it runs unchanged. ONNX Runtime need not be installed.
"""

from nnapi.onnx.failures import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile, NotImplemented
from nnapi.onnx.io_binding import IOBinding
from nnapi.onnx.options import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    set_default_logger_severity,
)
from nnapi.onnx.ort_value import OrtDevice, OrtMemoryInfo, OrtValue, OrtValueVector
from nnapi.onnx.providers import VERSION as __version__
from nnapi.onnx.providers import get_all_providers, get_available_providers, get_device, get_version_string
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
    "__version__",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "get_version_string",
    "set_default_logger_severity",
]
