"""Bursts: repeated runs of one compilation in quick succession (``ANeuralNetworksBurst``)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from nnapi.drivers.base import Request
from nnapi.errors import BadStateError, UnexpectedNullError, need
from nnapi.model.operand import Array
from nnapi.runtime.compilation import Compilation, checked_inputs, execute
from nnapi.runtime.prepared import session_of
from nnapi.trace import Layer, Phase, Section, spans

log = logging.getLogger("nnapi.BurstBuilder")

COMPUTE = Section(Layer.RUNTIME, Phase.EXECUTION, "ANeuralNetworksExecution_burstCompute")


class Burst:
    """Runs of one compilation, one at a time. BadStateError for a compilation that is not ready.

    With ``borrow`` the arrays that :meth:`run` gives may be the device's own memory, which its next run overwrites: a
    copy less, for callers who are done with them by then.
    """

    def __init__(self, compilation: Compilation, *, borrow: bool = False) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        self.compilation = compilation
        self._shared = compilation.prepared
        self._prepared = session_of(self._shared)
        self._borrow = borrow
        self._model = compilation.model
        self._lock = threading.Lock()
        log.debug("burst of %r", compilation)

    def run(self, *inputs: Any) -> list[Array]:
        """As :meth:`Compilation.run`. BadStateError while another thread uses the burst."""
        self.take()
        try:
            if spans.active:
                return self._traced(inputs)
            return list(
                execute(self._prepared, Request(checked_inputs(self._model, inputs), borrow=self._borrow)).outputs
            )
        finally:
            self._lock.release()

    @COMPUTE
    def _traced(self, inputs: Sequence[Any]) -> list[Array]:
        return list(execute(self._prepared, Request(checked_inputs(self._model, inputs), borrow=self._borrow)).outputs)

    def take(self) -> None:
        """Use the burst until :meth:`release`; BadStateError while another thread uses it."""
        if not self._lock.acquire(blocking=False):
            raise BadStateError("the burst is in use by another thread")

    def release(self) -> None:
        """End what :meth:`take` began."""
        self._lock.release()

    def close(self) -> None:
        """Give the burst back (``ANeuralNetworksBurst_free``); what it kept for its runs is freed."""
        if self._prepared is not self._shared:
            self._prepared.close()
            self._prepared = self._shared

    def __enter__(self) -> Burst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
