"""A subgraph that is compiled: LiteRT's tensors in front of a burst."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.model.operand import Array, Shape
from nnapi.runtime.compilation import Compilation


class Tensor(NamedTuple):
    """A tensor as LiteRT describes it."""

    number: int
    dtype: np.dtype[Any]
    shape: Shape
    zero_point: int = 0


class Graph(Protocol):
    """What an interpreter runs.

    ``inputs`` are the arrays that a run reads, by the numbers of their tensors. ``run`` gives the outputs, valid until
    the next run, in the order of ``places``.
    """

    inputs: dict[int, Array]
    places: dict[int, int]
    results: list[Array]
    run: Callable[[], list[Array]]

    def reset(self) -> None:
        """Let variables begin anew."""

    def explain(self) -> str:
        """Which operation runs where, and why not elsewhere."""
        ...

    def close(self) -> None:
        """Give back what was made ready."""


class ReadyGraph:
    """A compilation with inputs and outputs as LiteRT has them."""

    def __init__(
        self,
        compilation: Compilation,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        states: Sequence[Tensor] = (),
    ) -> None:
        self.compilation = compilation
        self.inputs: dict[int, Array] = {tensor.number: np.zeros(tensor.shape, tensor.dtype) for tensor in inputs}
        self.places = {tensor.number: place for place, tensor in enumerate(outputs)}
        self.results: list[Array] = [np.zeros(tensor.shape, tensor.dtype) for tensor in outputs]
        self._states = [np.full(tensor.shape, tensor.zero_point, tensor.dtype) for tensor in states]
        self._zero_points = [tensor.zero_point for tensor in states]
        self._burst = compilation.burst(borrow=True)
        self.run = self._resolve(outputs)

    def reset(self) -> None:
        """Let variables begin anew."""
        for state, zero_point in zip(self._states, self._zero_points, strict=True):
            state.fill(zero_point)

    def explain(self) -> str:
        return self.compilation.explain()

    def close(self) -> None:
        self._burst.close()
        self.compilation.close()

    def _resolve(self, outputs: Sequence[Tensor]) -> Callable[[], list[Array]]:
        """The run as one call: the burst's own, where both sides store the same."""
        arrays = [_as_stored(array) for array in self.inputs.values()]
        run = self._burst.bind(*arrays, *self._states)
        is_same = not self._states and all(
            tensor.shape and tensor.dtype not in (np.dtype(np.int64), np.dtype(np.bool_)) for tensor in outputs
        )
        wide = [(array, to) for array, to in zip(self.inputs.values(), arrays, strict=True) if array.dtype == np.int64]
        return run if is_same and not wide else partial(self._run_otherwise, run, wide, outputs)

    def _run_otherwise(
        self, run: Callable[[], list[Array]], wide: Sequence[tuple[Array, Array]], outputs: Sequence[Tensor]
    ) -> list[Array]:
        for array, narrow in wide:
            np.copyto(narrow, array.reshape(narrow.shape), casting="unsafe")
            need(np.array_equal(narrow.reshape(array.shape), array), "an input exceeds 32 bits", BadDataError)
        results = run()
        for state, after in zip(self._states, results[len(outputs) :], strict=True):
            state[...] = after
        return [_as_described(result, tensor) for result, tensor in zip(results, outputs, strict=False)]


def _as_stored(array: Array) -> Array:
    """The array that NNAPI is given for one of LiteRT's: its own memory, but for 64 bits."""
    if array.dtype == np.int64:
        return np.zeros(array.shape or (1,), np.int32)
    stored = array.view(np.uint8) if array.dtype == np.bool_ else array
    return stored if stored.shape else stored.reshape(1)


def _as_described(result: Array, tensor: Tensor) -> Array:
    """An output as LiteRT describes it."""
    if tensor.dtype == np.bool_:
        result = result.view(np.bool_)
    elif result.dtype != tensor.dtype:
        result = result.astype(tensor.dtype)
    return result.reshape(()) if not tensor.shape and result.size == 1 else result
