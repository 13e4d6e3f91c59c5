"""Rounding to the nearest integer, halves to even, before QUANTIZE, which rounds halves away from zero.

Importers write it for ONNX's QuantizeLinear, as (x / scale + MAGIC - MAGIC) · scale. Engines and files whose operator
rounds halves to even leave it out.
"""

from collections.abc import Mapping

from nnapi.codes import FuseCode, OperationCode
from nnapi.model.graph import OperationCall
from nnapi.model.operand import Array

MAGIC = 1.5 * 2**23
"""A float32 beside which there are only integers: the sum is rounded, halves to even. It then saturates 8 bits."""


def find_unrounded(
    call: OperationCall, scale: float, makers: Mapping[int, OperationCall], constants: Mapping[int, Array]
) -> int | None:
    """Return the operand x behind the rounded input of a QUANTIZE to ``scale``; None if its input is not rounded."""
    index = call.inputs[0]
    steps = (
        (OperationCode.MUL, scale),
        (OperationCode.SUB, MAGIC),
        (OperationCode.ADD, MAGIC),
        (OperationCode.DIV, scale),
    )
    for code, number in steps:
        maker = makers.get(index)
        if maker is None or maker.code != code or not _reads(maker, number, constants):
            return None
        index = maker.inputs[0]
    return index


def _reads(call: OperationCall, number: float, constants: Mapping[int, Array]) -> bool:
    """Return whether the second operand is a constant of this number, and no activation is fused."""
    other, activation = (constants.get(index) for index in call.inputs[1:3])
    is_plain = activation is not None and activation.item() == FuseCode.FUSED_NONE
    return is_plain and other is not None and other.size == 1 and float(other.item()) == number
