"""A model made ready on the engine."""

from __future__ import annotations

import time

from nnapi.codes import OperandCode
from nnapi.drivers.base import Outcome, Request
from nnapi.drivers.xnnpack.engine import Pool
from nnapi.errors import MissedDeadlinePersistentError
from nnapi.model.model import Model


class PreparedGraph:
    """A model as a serialised graph and the interpreters that run it.

    A run is one call of the engine and cannot be stopped: deadlines are looked at before it.
    """

    def __init__(self, model: Model, content: bytes, threads: int) -> None:
        self.content = content
        types = [model.operands[index].type.code for index in (*model.inputs, *model.outputs)]
        self._pool = Pool(content, threads, [code == OperandCode.TENSOR_QUANT8_ASYMM for code in types])

    def execute(self, request: Request) -> Outcome:
        if request.deadline is not None and time.monotonic_ns() > request.deadline:
            raise MissedDeadlinePersistentError("the time limit passed before the computation began")
        instance = self._pool.take()
        try:
            instance.run(request.inputs)
            return Outcome(instance.results())
        finally:
            self._pool.put(instance)

    def close(self) -> None:
        self._pool.close()
