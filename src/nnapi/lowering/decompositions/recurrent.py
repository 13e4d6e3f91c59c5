"""LSTM, RNN, their sequences and SVDF: written step by step by :mod:`nnapi.lowering.cells`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi.lowering import cells
from nnapi.lowering.sketch import Sketch, decomposition
from nnapi.model.builder import Tensor
from nnapi.model.call import Call
from nnapi.model.operand import Shape


class Steps(cells.Writer[Tensor]):
    """A sketch as cells write to it."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self._zeros: dict[int, Tensor] = {}

    @property
    def call(self) -> Call:
        return self.sketch.call

    def product(self, x: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        units = weights.shape[0]
        if bias is None and units not in self._zeros:  # one constant for all steps
            self._zeros[units] = self.sketch.constant(np.zeros(units, np.float32))
        bias = self._zeros[units] if bias is None else bias
        return self.sketch.fully_connected(x, weights, bias, 0)

    def combine(self, kind: str, a: Tensor, b: Tensor) -> Tensor:
        result: Tensor = getattr(self.sketch, kind.lower())(a, b, 0)
        return result

    def map(self, kind: str, x: Tensor) -> Tensor:
        result: Tensor = getattr(self.sketch, kind.lower())(x)
        return result

    def mean(self, x: Tensor) -> Tensor:
        return self.sketch.mean(x, [len(x.shape) - 1], 1)

    def fill(self, tensor: Tensor, number: float) -> Tensor:
        return self.sketch.number(tensor, number)

    def bound(self, x: Tensor, limit: float) -> Tensor:
        return self.sketch.minimum(self.sketch.maximum(x, self.fill(x, -limit)), self.fill(x, limit))

    def cut(self, x: Tensor, begin: Sequence[int], shape: Shape) -> Tensor:
        return self.sketch.slice(x, np.array(begin, np.int32), np.array(shape, np.int32))

    def join(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return self.sketch.join(parts, axis)

    def reshape(self, tensor: Tensor, shape: Shape) -> Tensor:
        return self.sketch.restate(tensor, shape)


def _on_sketch(rule: Callable[..., Any]) -> Callable[..., Any]:
    def write(s: Sketch, **arguments: Any) -> Any:
        return rule(Steps(s), **arguments)

    return write


for code, rule in cells.RULES.items():
    decomposition(code)(_on_sketch(rule))
