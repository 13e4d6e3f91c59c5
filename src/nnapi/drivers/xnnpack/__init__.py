"""``xnnpack-cpu``: XNNPACK through LiteRT. A model becomes a .tflite file in memory and runs in LiteRT's interpreter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version

from nnapi.codes import DeviceTypeCode, OperandCode, PreferenceCode
from nnapi.drivers.base import Capabilities, DeviceInfo, Performance, PrepareOptions, Verdict
from nnapi.drivers.xnnpack import rules  # noqa: F401  (registers the lowering rules)
from nnapi.drivers.xnnpack.flatbuffer import serialise
from nnapi.drivers.xnnpack.lowering import lowered
from nnapi.drivers.xnnpack.narrow import narrow
from nnapi.drivers.xnnpack.prepared import PreparedGraph
from nnapi.errors import OpFailedError, need
from nnapi.model.model import Model

FAST, QUANTISED = Performance(0.02, 0.02), Performance(0.01, 0.01)


class XnnpackDriver:
    """Takes what its lowering rules take. ``threads`` is for one run; by default the preference decides."""

    def __init__(self, threads: int | None = None) -> None:
        self.info = DeviceInfo("xnnpack-cpu", f"LiteRT {version('ai-edge-litert')}", DeviceTypeCode.DEVICE_ACCELERATOR, 8)
        self._threads = threads

    def capabilities(self) -> Capabilities:
        codes = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)
        return Capabilities(FAST, dict.fromkeys(codes, QUANTISED), FAST)

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return lowered(model).verdicts

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedGraph:
        result = lowered(model)
        refused = [verdict.reason for verdict in result.verdicts if not verdict.supported]
        need(not refused, "; ".join(refused), OpFailedError)
        return PreparedGraph(model, serialise(narrow(result.graph)), self._threads_for(options))

    def _threads_for(self, options: PrepareOptions) -> int:
        if self._threads is not None:
            return self._threads
        fast = options.preference == PreferenceCode.PREFER_FAST_SINGLE_ANSWER
        return len(os.sched_getaffinity(0)) if fast else 1


driver = XnnpackDriver
