"""One step of an LSTM cell on float values."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from nnapi.model.operand import Array
from nnapi.ops.lstm_parameters import Cell

EPSILON = 1e-8
"""The number that layer normalization adds to the variance."""


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS: Mapping[int, Callable[[Array], Array]] = {
    0: lambda x: x,
    1: partial(np.clip, a_min=0, a_max=None),
    3: partial(np.clip, a_min=0, a_max=6),
    4: np.tanh,
    6: sigmoid,
}


def lstm_step(cell: Cell[Array], x: Array, aux: Array | None, h: Array, c: Array) -> tuple[Array, Array]:
    """Return the next output [batch, output_size] and cell state [batch, units]."""
    activate = ACTIVATIONS[cell.activation]
    forget = gate(cell, "forget", sigmoid, x, aux, h, c)
    input = 1 - forget if cell.is_coupled else gate(cell, "input", sigmoid, x, aux, h, c)
    c = clip(forget * c + input * gate(cell, "cell", activate, x, aux, h, c), cell.cell_clip)
    h = gate(cell, "output", sigmoid, x, aux, h, c) * activate(c)
    if cell.projection is not None:
        h = h @ cell.projection.T
        if cell.projection_bias is not None:
            h += cell.projection_bias
        h = clip(h, cell.proj_clip)
    return h, c


def gate(
    cell: Cell[Array], name: str, squash: Callable[[Array], Array], x: Array, aux: Array | None, h: Array, c: Array
) -> Array:
    z = x @ cell.input[name].T + h @ cell.recurrent[name].T
    if aux is not None:
        z += aux @ cell.aux[name].T
    if name in cell.peephole:
        z += c * cell.peephole[name]
    if cell.norm:
        z = normalize(z) * cell.norm[name]
    return squash(z + cell.bias[name])


def normalize(z: Array) -> Array:
    z = z - z.mean(-1, keepdims=True)
    return z / np.sqrt((z * z).mean(-1, keepdims=True) + np.float32(EPSILON))


def clip(x: Array, limit: float) -> Array:
    return np.clip(x, -np.float32(limit), np.float32(limit)) if limit else x
