"""``xnnpack-cpu``: XNNPACK through LiteRT, which is handed each model as a .tflite file in memory."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from importlib.metadata import version

from nnapi.codes import DeviceTypeCode, OperandCode, PreferenceCode
from nnapi.drivers.base import Capabilities, DeviceInfo, HostBuffer, Performance, PrepareOptions, Verdict
from nnapi.drivers.xnnpack import rules  # noqa: F401  (registers the lowering rules)
from nnapi.drivers.xnnpack.estimates import products
from nnapi.drivers.xnnpack.lowering import Lowered, assumed, lowered
from nnapi.drivers.xnnpack.narrow import narrowed
from nnapi.drivers.xnnpack.prepared import OpenGraph, PreparedGraph
from nnapi.errors import OpFailedError, need
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, Shape

FAST, QUANTISED = Performance(0.02, 0.02), Performance(0.01, 0.01)

WORTH_SHARING = 10_000_000
"""Products below which threads cost more than they help."""


class XnnpackDriver:
    """Takes what its lowering rules take. ``threads`` is for one run; by default the preference decides."""

    def __init__(self, threads: int | None = None) -> None:
        self.info = DeviceInfo(
            "xnnpack-cpu", f"LiteRT {version('ai-edge-litert')}", DeviceTypeCode.DEVICE_ACCELERATOR, 8
        )
        self._threads = threads
        self._asked: tuple[weakref.ref[Model], Lowered] | None = None
        """The model that verdicts were asked for last, if taken whole: it is mostly the one to be prepared next."""

    def capabilities(self) -> Capabilities:
        codes = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)
        return Capabilities(FAST, dict.fromkeys(codes, QUANTISED), FAST)

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        result = lowered(model)
        whole = all(verdict.supported for verdict in result.verdicts)
        self._asked = (weakref.ref(model), result) if whole else None
        return result.verdicts

    def allocate(self, type: OperandType) -> HostBuffer:
        need(type.is_known, f"the CPU allocates no memory of unknown extents: {type}", OpFailedError)
        return HostBuffer()

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedGraph | OpenGraph:
        if all(model.operands[index].type.is_known for index in model.inputs):
            return self._prepared(model, None, options)
        return OpenGraph(lambda shapes: self._prepared(model, shapes, options), assumed(model))

    def _prepared(self, model: Model, shapes: Sequence[Shape] | None, options: PrepareOptions) -> PreparedGraph:
        asked, self._asked = self._asked, None
        is_known = shapes is None and asked is not None and asked[0]() is model
        result = asked[1] if is_known and asked is not None else lowered(model, shapes)
        refused = [verdict.reason for verdict in result.verdicts if not verdict.supported]
        need(not refused, "; ".join(refused), OpFailedError)
        graph = narrowed(result.graph)
        return PreparedGraph(model, graph, self._threads_for(options, products(graph)))

    def _threads_for(self, options: PrepareOptions, work: int) -> int:
        """Threads for one run of a graph that sums so many products."""
        chosen = self._threads or options.threads
        if chosen is not None:
            return chosen
        fast = options.preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
        return len(os.sched_getaffinity(0)) if fast and work >= WORTH_SHARING else 1


driver = XnnpackDriver
