"""Canonical rules from NNAPI's operations to operators of TensorFlow Lite, one module per family.

Engines and the exporter begin with a copy of ``RULES`` and replace the rules that they need otherwise.
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
