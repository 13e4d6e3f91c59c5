"""The decompositions of operations, one module per family; importing this registers them."""

from nnapi.lowering.decompositions import (  # noqa: F401
    activation,
    binary,
    convolution,
    indexing,
    matmul,
    movement,
    normalization,
    pooling,
    recurrent,
    reduction,
    resize,
    unary,
)
