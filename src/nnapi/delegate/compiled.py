"""Compilations that run on LiteRT's tensor memory, with or without variable tensors (states)."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.model.operand import Array
from nnapi.restarting import OnDemand, Restarting, StatefulRun, copy_to
from nnapi.runtime.compilation import Compilation

Run = Callable[[], None]


class CompiledPartition:
    def __init__(self, compilation: Compilation) -> None:
        self.compilation = compilation
        self._burst = compilation.burst(borrow=True)

    def bind(self, inputs: Sequence[Array], states: Sequence[Array], outputs: Sequence[Array]) -> Run:
        """Return a run on these arrays that updates ``states``; BadDataError if an input exceeds int32."""
        inputs, outputs = [*inputs, *states], [*outputs, *states]
        memory, compute = self._burst.bind(*(array.shape for array in inputs))
        pairs = list(zip(memory, inputs, strict=True))
        wide = [pair for pair in pairs if pair[1].dtype in (np.int64, np.uint32)]
        if wide or len(pairs) != 1 or len(outputs) != 1:

            def run_several() -> None:
                for place, array in pairs:
                    place[...] = array
                for place, array in wide:
                    need(np.array_equal(place, array), "an input holds integers beyond int32", BadDataError)
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
"""The XOR of each byte of a marked state and the same byte of a reset state."""


class CompiledWithStates:
    """Two compilations of a partition, ``fresh`` and stateful. LiteRT resets states to ``zero_points``. A run on reset
    states uses ``fresh`` and leaves a mark in them. An intact mark tells the next run that no program changed them."""

    def __init__(
        self, fresh: CompiledPartition, make_stateful: Callable[[], CompiledPartition], zero_points: Sequence[int]
    ) -> None:
        self._fresh, self._stateful, self._zero_points = fresh, OnDemand(make_stateful), zero_points
        self.compilation = fresh.compilation
        self._runs = Restarting[None]()

    def bind(self, inputs: Sequence[Array], states: Sequence[Array], outputs: Sequence[Array]) -> Run:
        """Return a function that runs on these arrays and continues from ``states``, unless LiteRT has reset them."""
        ends = list(zip(states, self._zero_points, strict=True))
        reset = [np.full(state.shape, zero_point, state.dtype).view(np.uint8) for state, zero_point in ends]
        marks = [array ^ np.uint8(MARK) for array in reset]
        bytes_of = [state.view(np.uint8) for state in states]
        read = [state.tobytes for state in bytes_of]  # bytes compare faster than arrays
        is_reset, is_marked = ([array.tobytes() for array in arrays] for arrays in (reset, marks))

        stateful, runs = self._stateful, self._runs

        def make_stateful_run() -> StatefulRun[None]:
            return StatefulRun(partial(copy_to, bytes_of, reset), stateful.get().bind(inputs, states, outputs))

        runs.bind(inputs, self._fresh.bind(inputs, (), outputs), make_stateful_run)

        def run() -> None:
            found = [take() for take in read]
            starts_anew = found == is_reset
            runs.run(is_reset=starts_anew, is_untouched=found == is_marked)
            if starts_anew:
                copy_to(bytes_of, marks)

        return run

    def close(self) -> None:
        for each in filter(None, (self._fresh, self._stateful.made)):
            each.close()
