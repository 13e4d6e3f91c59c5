"""A model with dynamic dimensions, compiled by OpenVINO once for all sizes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nnapi.contract.driver import Outcome, Request
from nnapi.contract.prepared import EngineTimer, Pool, check_deadline
from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.computed_indices import CheckedIndices, check_all
from nnapi.drivers.openvino.context import Bounds
from nnapi.drivers.openvino.forks import engine_threads
from nnapi.drivers.openvino.prepared import COPIED
from nnapi.drivers.openvino.value import make_shareable
from nnapi.errors import OpFailedError, need_value
from nnapi.model.memory import Mapping, need_whole
from nnapi.model.operand import Array
from nnapi.ops.index_checks import BadIndexError


class PreparedDynamic:
    """A compiled model. Each concurrent run has an inference request, which later runs reuse."""

    def __init__(self, compiled: Any, bounds: Sequence[Bounds], checks: Sequence[CheckedIndices] = ()) -> None:
        """``bounds`` check indices before a run, ``checks`` after it."""
        self._bounds = tuple(bounds)
        self.mapped: Sequence[Mapping] = ()
        """Mapped files from which the engine reads constants in each run."""
        self._pool: Pool[_Run] = Pool(partial(_Run, compiled, checks))

    def execute(self, request: Request) -> Outcome:
        engine_threads.need()
        check_deadline(request)
        if self.mapped:
            need_whole(self.mapped)
        inputs = [need_value(array, "an input is omitted", OpFailedError) for array in request.inputs]
        for bounds in self._bounds:
            bounds.check(make_shareable(inputs[bounds.position]).reshape(-1).view(np.uint32))
        run = self._pool.take()
        try:
            outcome = run(inputs)
        except BadIndexError:
            self._pool.put(run)  # not after other errors, which leave the request in an unknown state
            raise
        self._pool.put(run)
        return outcome

    def close(self) -> None:
        self._pool.close()


class _Run:
    """An inference request. Small inputs are copied to tensors of its own, as a new tensor takes several times as long;
    the engine uses callers' memory for large ones."""

    def __init__(self, compiled: Any, checks: Sequence[CheckedIndices]) -> None:
        """After the results, the engine gives the extremes of the indices that ``checks`` name."""
        self._request = request = compiled.create_infer_request()
        # the wrapper would convert inputs and results; there are none
        unwrapped: Any = super(ov.InferRequest, request)
        self._invoke = partial(unwrapped.infer, {}, True, False)
        self._checks = checks
        self._outputs = range(len(compiled.outputs) - bool(checks))
        self._own: list[Any] = [None] * len(compiled.inputs)
        """The own tensor of each input, and its memory."""

    def __call__(self, inputs: Sequence[Array]) -> Outcome:
        for position, array in enumerate(inputs):
            self._put(position, array)
        with (timer := EngineTimer()):
            self._invoke()
        if self._checks:
            check_all(self._checks, self._request.get_output_tensor(len(self._outputs)).data)
        outputs = [self._request.get_output_tensor(position).data.copy() for position in self._outputs]
        return Outcome(outputs, timer.nanoseconds)

    def _put(self, position: int, array: Array) -> None:
        own = self._own[position]
        if own is not None and array.nbytes <= COPIED:
            tensor, memory = own
            if memory.shape != array.shape:
                tensor.shape = array.shape
                memory = tensor.data
                self._own[position] = tensor, memory
            memory[...] = array
            return
        is_large = array.nbytes > COPIED
        tensor = ov.Tensor(make_shareable(array), shared_memory=is_large)
        self._request.set_input_tensor(position, tensor)
        self._own[position] = None if is_large else (tensor, tensor.data)
