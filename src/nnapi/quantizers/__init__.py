"""Quantize models with the libraries of their formats: ai-edge-quantizer for .tflite, ONNX Runtime for .onnx files.

The libraries choose scales and zero points; this package only prepares their inputs.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Protocol

from nnapi.errors import BadDataError, Mistake, NnapiError, OpFailedError, need
from nnapi.model.operand import Array

QUANTIZERS = {".tflite": "nnapi.quantizers.tflite", ".onnx": "nnapi.quantizers.onnx"}
"""The modules that quantize files, by suffix."""


class Scheme(StrEnum):
    STATIC = "static"
    """Weights and activations of 8 bits; activations need data for calibration."""
    STATIC_16 = "static-16"
    """Weights of 8 bits and activations of 16 bits; activations need data for calibration."""
    DYNAMIC = "dynamic"
    """Weights of 8 bits; each run chooses the scales of the activations."""
    WEIGHTS = "weights"
    """Weights of 8 bits, which each run converts to floats."""

    @property
    def needs_data(self) -> bool:
        return self in (Scheme.STATIC, Scheme.STATIC_16)


class Samples(Protocol):
    """The inputs for calibration, each an array for every input of the model in its order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sequence[Array]]: ...


def quantize_file(file: Path, scheme: Scheme, samples: Samples) -> bytes:
    """Return the quantized model as a file of the same format.

    Raises ModuleNotFoundError if the library is missing, and NnapiError if it refuses the model.
    """
    need(file.suffix in QUANTIZERS, f"{file.name}: {' and '.join(QUANTIZERS)} files can be quantized", BadDataError)
    quantize = import_module(QUANTIZERS[file.suffix]).quantize
    try:
        quantized: bytes = quantize(file, scheme, samples)
    except (NnapiError, Mistake, ModuleNotFoundError, OSError):
        raise  # also those of reading a sample
    except Exception as error:  # the libraries raise nearly anything for a model that they do not support
        words = " ".join(str(error).split()) or type(error).__name__
        raise OpFailedError(f"the quantizer refuses {file.name}: {words}") from error
    return quantized
