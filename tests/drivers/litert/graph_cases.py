"""Operations lowered for LiteRT: types, arguments, and the operators or the reason."""

from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.lowering import lower_model
from nnapi.formats.tflite.graph import Graph
from nnapi.model.operand import OperandType, tensor
from tests.single import scalar, single


def ints(*numbers: int) -> list[Any]:
    return [scalar(OperandCode.INT32, number) for number in numbers]


def floats(*numbers: float) -> list[Any]:
    return [scalar(OperandCode.FLOAT32, number) for number in numbers]


def zeros(type: OperandType) -> tuple[OperandType, Any]:
    return type, np.zeros(type.dimensions, type.dtype)


def real(*shape: int) -> OperandType:
    return tensor("float32", shape)


def signed(*shape: int, scale: float = 0.5, zero_point: int = 0) -> OperandType:
    return tensor("int8", shape, scale, zero_point)


def find_reason(code: Op, inputs: list[Any], *outputs: OperandType, constant: bool = True) -> str:
    lowered = lower_model(single(code, inputs, outputs, constant=constant))
    return lowered.verdicts[0].reason


def lower(code: Op, inputs: list[Any], *outputs: OperandType, constant: bool = True) -> Graph:
    lowered = lower_model(single(code, inputs, outputs, constant=constant))
    assert lowered.verdicts[0].supported, lowered.verdicts[0].reason
    return lowered.graph


def kinds(code: Op, inputs: list[Any], *outputs: OperandType, constant: bool = True) -> list[str]:
    return [operator.kind for operator in lower(code, inputs, *outputs, constant=constant).operators]
