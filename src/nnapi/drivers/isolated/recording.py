"""Spans that a driver process records for its application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import DeviceInfo
from nnapi.drivers.isolated.protocol import Body
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.trace import Layer, Phase, Section, Span, spans

SECTIONS = {
    "verdicts": (Phase.COMPILATION, "getSupportedOperations"),
    "prepare": (Phase.COMPILATION, "prepareModel"),
    "restore": (Phase.COMPILATION, "prepareModelFromCache"),
    "execute": (Phase.EXECUTION, ""),
}
"""Phase and name of each request's section in a trace; an empty name is the device's."""


def section_of(body: Body, info: DeviceInfo, model: Model) -> Section:
    """Return the section of a request; operations have their numbers in the whole model."""
    phase, name = SECTIONS[body["kind"]]
    layer = Layer.CPU if info.type == DeviceTypeCode.DEVICE_CPU else Layer.DRIVER
    operations = body["trace"][1]
    more = {} if operations is None else {"operations": operations}
    return Section(layer, phase, name or info.name, model=model.name, **more)


SPANS = 1000
"""Maximum spans in a message."""


class Recording:
    """The recording of a process, from a request with a trace to a run without."""

    def __init__(self) -> None:
        self._number = 0
        self._kept: list[Span] = []
        self._lock = make_lock()

    def follow(self, wish: Sequence[Any] | None) -> None:
        """Record from now on if a request asks for it; the number distinguishes recordings."""
        if wish is None:
            return
        with self._lock:
            if wish[0] != self._number:
                self._stop()
                self._number, self._kept = wish[0], []
            if not spans.active:
                spans.start()

    def pause(self) -> None:
        """Record nothing until the next request with a trace."""
        with self._lock:
            self._stop()

    def read(self, first: int) -> list[Span]:
        """Return the recorded spans from index ``first`` on, as many as one message holds."""
        if not first:
            self.pause()
        return self._kept[first : first + SPANS]

    def _stop(self) -> None:
        if spans.active:
            self._kept += spans.stop()
