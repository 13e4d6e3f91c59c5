"""A model compiled with LiteRT's profiler, and the events of its runs."""

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64
from typing import NamedTuple

from nnapi.drivers.litert.c_api import CompiledModel, call, make
from nnapi.model.operand import Array

KERNEL, DELEGATED = 2, 8
"""Types of events: an operator by LiteRT's own kernel, and one within a delegate."""


class _Event(ctypes.Structure):
    _fields_ = (
        ("tag", c_char_p),
        ("type", c_int),
        ("start", c_uint64),
        ("microseconds", c_uint64),
        ("memory", c_size_t * 6),
        ("operator", c_uint64),
        ("graph", c_uint64),
        ("source", c_int),
    )


class Event(NamedTuple):
    """The time of one operator; ``operator`` is its index in the file, None within XNNPACK."""

    name: str
    operator: int | None
    seconds: float


class Profiled(CompiledModel):
    """A file compiled with LiteRT's profiler, on copies of the inputs."""

    def __init__(self, content: bytes, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        options = {
            b"runtime_options_string": b"enable_profiling = true\n",
            b"xnnpack": b"num_threads = %d\n" % threads,
        }
        super().__init__(content, (inputs, outputs), options)
        self._profiler = make("CompiledModelGetProfiler", self.handle)

    def run(self) -> list[Event]:
        """Return the operators of one run, in order."""
        call("StartProfiler", self._profiler)
        self.invoke()
        count = c_int()
        call("GetNumProfilerEvents", self._profiler, byref(count))
        events = (_Event * count.value)()
        call("GetProfilerEvents", self._profiler, count, events)
        found = [
            Event(
                (e.tag or b"").decode(errors="replace"), e.operator if e.type == KERNEL else None, e.microseconds / 1e6
            )
            for e in events
            if e.type in (KERNEL, DELEGATED)
        ]
        call("ResetProfiler", self._profiler)
        return found
