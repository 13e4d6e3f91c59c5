"""Bursts: repeated runs of one compilation in quick succession (``ANeuralNetworksBurst``)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nnapi.drivers.base import Request
from nnapi.errors import BadStateError, UnexpectedNullError, need
from nnapi.model.operand import Array
from nnapi.runtime.compilation import Compilation, checked_inputs, execute


class Burst:
    """Runs of one compilation, one at a time. BadStateError for a compilation that is not ready."""

    def __init__(self, compilation: Compilation) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        self.compilation = compilation
        self._prepared = compilation.prepared
        self._model = compilation.model
        self._lock = threading.Lock()

    def run(self, *inputs: Any) -> list[Array]:
        """As :meth:`Compilation.run`. BadStateError while another thread uses the burst."""
        if not self._lock.acquire(blocking=False):
            raise BadStateError("the burst is in use by another thread")
        try:
            return list(execute(self._prepared, Request(checked_inputs(self._model, inputs))).outputs)
        finally:
            self._lock.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Use the burst for something else; BadStateError while another thread uses it."""
        need(self._lock.acquire(blocking=False), "the burst is in use by another thread", BadStateError)
        try:
            yield
        finally:
            self._lock.release()

    def close(self) -> None:
        """Give the burst back (``ANeuralNetworksBurst_free``)."""

    def __enter__(self) -> Burst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
