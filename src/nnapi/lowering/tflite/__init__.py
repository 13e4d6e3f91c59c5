"""Canonical rules from NNAPI's operations to operators of TensorFlow Lite, one module per family.

Engines and the exporter replace rules in a copy of ``RULES``.
"""

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
