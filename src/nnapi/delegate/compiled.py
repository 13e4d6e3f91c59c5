"""Compiled models that run on the memory of others, also with states."""

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

    def bind(self, inputs: Sequence[Array], states: Sequence[Array], outputs: Sequence[Array]) -> Run:
        """Return a run on these arrays; 64-bit values must fit in 32 bits. States are read and written."""
        inputs, outputs = [*inputs, *states], [*outputs, *states]
        memory, compute = self._burst.bind(*(array.shape for array in inputs))
        pairs = list(zip(memory, inputs, strict=True))
        wide = [pair for pair in pairs if pair[1].dtype == np.int64]
        if wide or len(pairs) != 1 or len(outputs) != 1:

            def run_several() -> None:
                for place, array in pairs:
                    place[...] = array
                for place, array in wide:
                    need(np.array_equal(place, array), "an input exceeds 32 bits", BadDataError)
                for output, result in zip(outputs, compute(), strict=True):
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


MARK = 0x5A
"""The bits in which each byte of the mark differs from a reset state."""


class Restarting:
    """Two compilations of a partition with state that most programs reset before each run. Integer cells that read and
    write states are several times slower than those that begin at a known state. So the first run after a reset uses
    the fast compilation and leaves a mark as state; a run that finds the mark repeats that run with the slow
    compilation and continues from there. ``zero_points`` are the values that LiteRT resets states to."""

    def __init__(self, fresh: Compiled, make_lasting: Callable[[], Compiled], zero_points: Sequence[int]) -> None:
        self._fresh, self._make_lasting, self._zero_points = fresh, make_lasting, zero_points
        self.compilation = fresh.compilation
        self._lasting: Compiled | None = None
        self._first: list[Array] | None = None
        """The inputs of the run after the last reset, while it is the only one since."""
        self._kept: list[Array] = []

    def bind(self, inputs: Sequence[Array], states: Sequence[Array], outputs: Sequence[Array]) -> Run:
        """Return a run on these arrays, which continues from the states unless they were reset."""
        ends = list(zip(states, self._zero_points, strict=True))
        reset = [np.full(state.shape, zero_point, state.dtype).view(np.uint8) for state, zero_point in ends]
        marks = [array ^ np.uint8(MARK) for array in reset]
        bytes_of = [state.view(np.uint8) for state in states]
        read = [state.tobytes for state in bytes_of]  # which compare faster than arrays
        is_reset, is_marked = ([array.tobytes() for array in arrays] for arrays in (reset, marks))
        self._kept = self._kept or [array.copy() for array in inputs]
        begin = self._fresh.bind(inputs, (), outputs)
        go_on: Run | None = None

        def run() -> None:
            nonlocal go_on
            found = [take() for take in read]
            if found == is_reset:
                begin()
                self._first = self._kept
                _copy(inputs, self._first)
                _copy(marks, bytes_of)
                return
            if go_on is None:
                self._lasting = self._lasting or self._make_lasting()
                go_on = self._lasting.bind(inputs, states, outputs)
            if self._first is not None and found == is_marked:
                now = [array.copy() for array in inputs]
                _copy(reset, bytes_of)
                _copy(self._first, inputs)
                go_on()
                _copy(now, inputs)
            self._first = None
            go_on()

        return run

    def close(self) -> None:
        for each in filter(None, (self._fresh, self._lasting)):
            each.close()


def _copy(arrays: Sequence[Array], places: Sequence[Array]) -> None:
    for array, place in zip(arrays, places, strict=True):
        place[...] = array
