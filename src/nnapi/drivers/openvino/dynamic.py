"""A model with dynamic dimensions, compiled by OpenVINO once for all sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.contract.driver import Outcome, Request
from nnapi.contract.prepared import EngineTimer, Pool, check_deadline
from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.context import Bounds
from nnapi.drivers.openvino.forks import engine_threads
from nnapi.drivers.openvino.value import make_shareable
from nnapi.errors import OpFailedError, need_value
from nnapi.model.memory import Mapping, need_whole


class PreparedDynamic:
    """A compiled model. Each concurrent run has an inference request, which later runs reuse."""

    def __init__(self, compiled: Any, bounds: Sequence[Bounds]) -> None:
        """``bounds`` check indices."""
        self._bounds = tuple(bounds)
        self.mapped: Sequence[Mapping] = ()
        """Mapped files from which the engine reads constants in each run."""
        self._count = len(compiled.outputs)
        self._pool: Pool[Any] = Pool(compiled.create_infer_request)

    def execute(self, request: Request) -> Outcome:
        engine_threads.need()
        check_deadline(request)
        if self.mapped:
            need_whole(self.mapped)
        inputs = [make_shareable(need_value(array, "an input is omitted", OpFailedError)) for array in request.inputs]
        for bounds in self._bounds:
            bounds.check(inputs[bounds.position].reshape(-1).view(np.uint32))
        taken = self._pool.take()
        for position, array in enumerate(inputs):
            taken.set_input_tensor(position, ov.Tensor(array, shared_memory=True))
        unwrapped: Any = super(ov.InferRequest, taken)  # the wrapper would convert inputs and results; there are none
        with (timer := EngineTimer()):
            unwrapped.infer({}, True, False)
        outputs = [taken.get_output_tensor(position).data.copy() for position in range(self._count)]
        self._pool.put(taken)
        return Outcome(outputs, timer.nanoseconds)

    def close(self) -> None:
        self._pool.close()
