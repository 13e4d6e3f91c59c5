"""Rows of −inf, as the masks of attention have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nnapi.model.operand import Array
from nnapi.testing.example import Example
from nnapi.testing.random_values import pick

MASKED = 0.06
"""Share of the examples that have masked inputs."""


def with_masked_rows(example: Example, rng: np.random.Generator) -> Example:
    """Return the example with whole rows, columns or blocks of its float inputs infinite, mostly −inf."""
    return replace(example, inputs={index: _mask(array, rng) for index, array in example.inputs.items()})


def _mask(array: Array | None, rng: np.random.Generator) -> Array | None:
    if array is None or array.dtype.kind != "f" or not array.ndim:
        return array
    blocks = [1 if rng.random() < 0.5 else dimension for dimension in array.shape]  # 1: as long as the tensor
    filler = array.dtype.type(pick(rng, (-np.inf, -np.inf, np.inf)))
    return np.where(rng.random(blocks) < 0.4, filler, array)
