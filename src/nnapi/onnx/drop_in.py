"""Run an unchanged Python program for ONNX Runtime with nnapi's session."""

from argparse import ArgumentParser
from collections.abc import Mapping

from nnapi import onnx

INSIDE = (
    *("Fail", "InvalidArgument", "InvalidProtobuf", "NoSuchFile", "NotImplemented"),
    *("OrtMemoryInfo", "OrtValueVector"),
)
"""Names that programs import from ONNX Runtime's compiled module."""


def add_options(parser: ArgumentParser) -> None:
    """Add no options."""


def find_names(module: str) -> Mapping[str, object]:
    """Return the replacements for the names in a module of ONNX Runtime."""
    return {name: getattr(onnx, name) for name in (onnx.__all__ if module == "onnxruntime" else INSIDE)}
