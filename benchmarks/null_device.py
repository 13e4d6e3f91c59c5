"""A device that supports everything and computes nothing, to measure the overhead of the runtime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Capabilities, DeviceInfo, Outcome, PrepareOptions, Request, Verdict
from nnapi.model.model import Model
from nnapi.model.operand import OperandType


class Null:
    """Return zeros immediately; dynamic dimensions are 1."""

    info = DeviceInfo("nnapi-null", "1.0", DeviceTypeCode.DEVICE_OTHER, 8)

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [Verdict(True)] * len(model.operations)

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedNull:
        return PreparedNull([model.operands[index].type for index in model.outputs])


class PreparedNull:
    def __init__(self, types: Sequence[OperandType]) -> None:
        self._templates = [(tuple(dimension or 1 for dimension in type.dimensions), type.dtype) for type in types]

    def execute(self, request: Request) -> Outcome:
        return Outcome([np.zeros(shape, dtype) for shape, dtype in self._templates])

    def close(self) -> None:
        pass
