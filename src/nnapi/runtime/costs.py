"""What an operation is predicted to cost on a device, in seconds, from what the driver declares.

The work of an operation (multiplications and bytes touched) is set against a nominal processor; the declared figures,
relative to the CPU reference, scale that. Measured costs replace these where there are any.
"""

from __future__ import annotations

import math

from nnapi.codes import OperandCode, OperationCode, PreferenceCode
from nnapi.drivers.base import Capabilities, Performance
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import OperandType

SECONDS_PER_PRODUCT = 1 / 5e9
SECONDS_PER_BYTE = 1 / 4e9
SECONDS_PER_OPERATION = 2e-6
UNKNOWN_EXTENT = 8
"""What an extent that is not known before the run counts as."""

_FILTERED = {
    OperationCode.CONV_2D: 1,
    OperationCode.GROUPED_CONV_2D: 1,
    OperationCode.TRANSPOSE_CONV_2D: 1,
    OperationCode.DEPTHWISE_CONV_2D: 1,
    OperationCode.FULLY_CONNECTED: 1,
    OperationCode.BATCH_MATMUL: 1,
}
"""Operations whose products are counted by their second input, the filter."""


def operation_seconds(
    model: Model, call: OperationCall, capabilities: Capabilities, preference: PreferenceCode
) -> float:
    """Predicted seconds of one operation on a device; joules of the same scale for LOW_POWER."""
    if call.code in (OperationCode.IF, OperationCode.WHILE):
        return _control_flow_seconds(model, call, capabilities, preference)
    figure = performance(model, call, capabilities)
    factor = figure.power_usage if preference == PreferenceCode.PREFER_LOW_POWER else figure.exec_time
    return nominal_seconds(model, call) * factor


def nominal_seconds(model: Model, call: OperationCall) -> float:
    """Seconds on the nominal processor."""
    types = [model.operands[index].type for index in (*call.inputs, *call.outputs)]
    touched = sum(
        _elements(type) * type.dtype.itemsize for type in types if not type.is_scalar and type.nbytes is not None
    )
    seconds = SECONDS_PER_OPERATION + touched * SECONDS_PER_BYTE
    if call.code in _FILTERED:
        filter = model.operands[call.inputs[1]].type
        result = model.operands[call.outputs[0]].type
        seconds += _elements(result) * _products(call.code, filter) * SECONDS_PER_PRODUCT
    return seconds


def performance(model: Model, call: OperationCall, capabilities: Capabilities) -> Performance:
    """The declared figure for an operation: that of its first input's type."""
    code = model.operands[call.inputs[0]].type.code
    if model.relaxed and code in (OperandCode.TENSOR_FLOAT32, OperandCode.FLOAT32):
        return capabilities.relaxed
    return capabilities.by_type.get(code, capabilities.default)


def _control_flow_seconds(
    model: Model, call: OperationCall, capabilities: Capabilities, preference: PreferenceCode
) -> float:
    figure = capabilities.if_ if call.code == OperationCode.IF else capabilities.while_
    factor = figure.power_usage if preference == PreferenceCode.PREFER_LOW_POWER else figure.exec_time
    inner = sum(
        operation_seconds(referenced, nested, capabilities, preference)
        for index in call.inputs
        if isinstance(referenced := model.operands[index].value, Model)
        for nested in referenced.operations
    )
    return SECONDS_PER_OPERATION * factor + inner * (0.5 if call.code == OperationCode.IF else 1.0)


def _elements(type: OperandType) -> int:
    return math.prod(extent or UNKNOWN_EXTENT for extent in type.dimensions) if type.dimensions else UNKNOWN_EXTENT


def _products(code: int, filter: OperandType) -> int:
    """Products summed for one element of the result."""
    extents = [extent or UNKNOWN_EXTENT for extent in filter.dimensions] or [UNKNOWN_EXTENT]
    if code == OperationCode.BATCH_MATMUL:
        return extents[-1]
    return math.prod(extents[1:3]) if code == OperationCode.DEPTHWISE_CONV_2D else math.prod(extents[1:])
