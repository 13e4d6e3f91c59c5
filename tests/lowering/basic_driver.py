"""A driver that has 25 basic operations and nothing else: it computes all others by their decompositions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nnapi import DeviceTypeCode, device
from nnapi.codes import OperationCode as Op
from nnapi.drivers.base import Capabilities, DeviceInfo, Prepared, PrepareOptions, Verdict
from nnapi.lowering.decompose import Decomposed, decompose
from nnapi.lowering.lower import need_supported
from nnapi.model.model import Model
from nnapi.model.nesting import list_called, list_nested

BASIC = frozenset(
    {
        Op.ADD,
        Op.SUB,
        Op.MUL,
        Op.DIV,
        Op.MAXIMUM,
        Op.NEG,
        Op.POW,
        Op.EXP,
        Op.LOG,
        Op.SQRT,
        Op.SIN,
        Op.FLOOR,
        Op.GREATER,
        Op.EQUAL,
        Op.SELECT,
        Op.CAST,
        Op.QUANTIZE,
        Op.DEQUANTIZE,
        Op.CONV_2D,
        Op.RESHAPE,
        Op.CONCATENATION,
        Op.GATHER,
        Op.TOPK_V2,
        Op.IF,
        Op.WHILE,
    }
)


class Basic:
    """The reference with the basic operations, and decompositions around it."""

    info = DeviceInfo("basic", "1", DeviceTypeCode.DEVICE_CPU, 8)

    def __init__(self) -> None:
        self.driver = device("nnapi-reference").driver

    def capabilities(self) -> Capabilities:
        return self.driver.capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        decomposed = self._decompose(model)
        lacking = {decomposed.origins[number] for number in _lacks(decomposed.model)}
        return [
            Verdict(False, f"{call}: it is not basic") if call.number in lacking else Verdict(True)
            for call in model.operations
        ]

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        need_supported(self.verdicts(model))
        return self.driver.prepare(self._decompose(model).model, options)

    def _decompose(self, model: Model) -> Decomposed:
        shapes = [model.operands[index].type.dimensions for index in model.inputs]
        return decompose(model, shapes, _lacks(model), _lacks)


def _lacks(model: Model) -> Collection[int]:
    """The calls that are not basic, or lead to such."""
    found: dict[Model, set[int]] = {}
    for each in list_nested(model):
        found[each] = {
            call.number
            for call in each.operations
            if call.code not in BASIC or any(found[inner] for inner in list_called(each, call))
        }
    return found[model]
