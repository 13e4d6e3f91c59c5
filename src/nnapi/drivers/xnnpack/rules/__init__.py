"""One lowering rule per operation, by family; importing this package registers them all."""

from __future__ import annotations

from nnapi.drivers.xnnpack.context import RULES
from nnapi.drivers.xnnpack.rules import (  # noqa: F401  (each registers its rules)
    activation,
    arithmetic,
    convolution,
    detection,
    image,
    lookup,
    lstm,
    movement,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
)

__all__ = ["RULES"]
