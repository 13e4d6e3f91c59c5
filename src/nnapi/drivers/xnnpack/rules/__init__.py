"""XNNPACK's rules: the canonical ones, except where the engine is faster or correct otherwise."""

from __future__ import annotations

from nnapi.drivers.xnnpack.context import RULES
from nnapi.drivers.xnnpack.rules import (  # noqa: F401  (each registers its rules)
    activation,
    binary,
    convolution,
    indexing,
    matmul,
    movement,
    normalization,
    pooling,
    quantization,
    recurrent,
    recurrent_lstm,
    reduction,
    resize,
    unary,
)

__all__ = ["RULES"]
