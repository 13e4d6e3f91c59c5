"""Canonical rules from NNAPI's operations to TensorFlow Lite's operators; engines change a copy of ``RULES``."""

from __future__ import annotations

from nnapi.lowering.tflite import (  # noqa: F401  (each registers its rules)
    activation,
    binary,
    convolution,
    detection,
    indexing,
    matmul,
    movement,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    resize,
    unary,
)
from nnapi.lowering.tflite.context import RULES

__all__ = ["RULES"]
