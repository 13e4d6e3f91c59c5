"""Compiled models that run on the memory of others."""

from collections.abc import Callable, Sequence

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.model.operand import Array
from nnapi.runtime.compilation import Compilation

Run = Callable[[], None]


class Compiled:
    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        self._burst = compilation.burst(borrow=True)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        """Return a run on these arrays; 64-bit values must fit in 32 bits."""
        memory, compute = self._burst.bind(*(array.shape for array in inputs))
        if any(array.dtype == np.int64 for array in inputs):
            return lambda: _run(inputs, memory, compute, outputs)
        pairs = list(zip(memory, inputs, strict=True))
        if len(pairs) != 1 or len(outputs) != 1:

            def run_several() -> None:
                for place, array in pairs:
                    place[...] = array
                for output, result in zip(outputs, compute(), strict=False):
                    output[...] = result

            return run_several
        ((place, x),), (y,) = pairs, outputs

        def run() -> None:
            place[...] = x
            y[...] = compute()[0]

        return run

    def close(self) -> None:
        self._burst.close()
        self.compilation.close()


def _run(
    inputs: Sequence[Array], memory: Sequence[Array], compute: Callable[[], list[Array]], outputs: Sequence[Array]
) -> None:
    for array, place in zip(inputs, memory, strict=True):
        np.copyto(place, array, casting="unsafe")
        if array.dtype == np.int64:
            need(np.array_equal(place, array), "an input exceeds 32 bits", BadDataError)
    for output, result in zip(outputs, compute(), strict=True):
        output[...] = result
