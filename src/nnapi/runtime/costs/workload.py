"""How much an operation has to do: its kind, the type of its elements, products to sum and bytes to touch."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.operand import OperandType

UNKNOWN_EXTENT = 8
"""What an extent that is not known before the run counts as; the first of several, mostly a batch, counts as 1."""


class Kind(StrEnum):
    """Operations that cost alike."""

    CONVOLUTION = "convolution"
    DEPTHWISE = "depthwise convolution"
    PRODUCT = "matrix product"
    RECURRENT = "recurrent"
    ELEMENTWISE = "elementwise"
    TRANSCENDENTAL = "transcendental"
    REDUCTION = "reduction"
    RESIZE = "resize"
    MOVEMENT = "movement"
    RESHAPE = "reshape"
    OTHER = "other"


class Element(StrEnum):
    """Types that cost alike; the first input's counts."""

    FLOAT32 = "float32"
    UNSIGNED = "quant8"
    SIGNED = "quant8 signed"
    OTHER = "other types"


class Work(NamedTuple):
    """What an operation has to do. ``steps`` are those through a sequence, 1 for all that is not recurrent."""

    kind: Kind
    element: Element
    products: int
    nbytes: int
    steps: int = 1


ELEMENTS = {
    OperandCode.FLOAT32: Element.FLOAT32,
    OperandCode.TENSOR_FLOAT32: Element.FLOAT32,
    OperandCode.TENSOR_QUANT8_ASYMM: Element.UNSIGNED,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: Element.SIGNED,
}

_MEMBERS = {
    Kind.CONVOLUTION: "CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D",
    Kind.DEPTHWISE: "DEPTHWISE_CONV_2D",
    Kind.PRODUCT: "FULLY_CONNECTED BATCH_MATMUL",
    Kind.RECURRENT: """BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN LSTM QUANTIZED_16BIT_LSTM QUANTIZED_LSTM
        RNN SVDF UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN""",
    Kind.ELEMENTWISE: """ABS ADD CAST DEQUANTIZE DIV EQUAL FLOOR GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND
        LOGICAL_NOT LOGICAL_OR MAXIMUM MINIMUM MUL NEG NOT_EQUAL PRELU QUANTIZE RELU RELU1 RELU6 SELECT SUB""",
    Kind.TRANSCENDENTAL: "ELU EXP HARD_SWISH LOG LOGISTIC LOG_SOFTMAX POW RSQRT SIN SOFTMAX SQRT TANH",
    Kind.REDUCTION: """ARGMAX ARGMIN AVERAGE_POOL_2D L2_NORMALIZATION L2_POOL_2D MAX_POOL_2D MEAN REDUCE_ALL REDUCE_ANY
        REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_SUM""",
    Kind.RESIZE: "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
    Kind.MOVEMENT: """BATCH_TO_SPACE_ND CHANNEL_SHUFFLE CONCATENATION DEPTH_TO_SPACE EMBEDDING_LOOKUP FILL GATHER
        MIRROR_PAD PACK PAD PAD_V2 REVERSE SLICE SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT STRIDED_SLICE TILE TRANSPOSE""",
    Kind.RESHAPE: "EXPAND_DIMS RESHAPE SQUEEZE",
}
KINDS: dict[int, Kind] = {OperationCode[name]: kind for kind, names in _MEMBERS.items() for name in names.split()}

_FILTERED = (Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.PRODUCT)
"""Their products are counted by their second input, the filter."""


def work_of(model: Model, call: OperationCall) -> Work:
    """What one operation of a model has to do, as far as its extents are known."""
    operands = model.operands
    kind = KINDS.get(call.code, Kind.OTHER)
    element = ELEMENTS.get(operands[call.inputs[0]].type.code, Element.OTHER)  # type: ignore[call-overload]
    nbytes = 0
    for index in (*call.inputs, *call.outputs):
        type = operands[index].type
        if not type.is_scalar:
            nbytes += _elements(type) * type.dtype.itemsize
    if kind is Kind.RECURRENT:
        return _recurrent(model, call, element, nbytes)
    products = 0
    if kind in _FILTERED:
        products = _elements(operands[call.outputs[0]].type) * _taps(call.code, operands[call.inputs[1]].type)
    return Work(kind, element, products, nbytes)


def _elements(type: OperandType) -> int:
    dimensions = type.dimensions
    if not dimensions:
        return UNKNOWN_EXTENT
    count = math.prod(dimensions)
    return count or (dimensions[0] or 1) * math.prod(extent or UNKNOWN_EXTENT for extent in dimensions[1:])


def _taps(code: int, filter: OperandType) -> int:
    """Products summed for one element of the result."""
    extents = [extent or UNKNOWN_EXTENT for extent in filter.dimensions] or [UNKNOWN_EXTENT]
    if code == OperationCode.BATCH_MATMUL:
        return extents[-1]
    return math.prod(extents[1:3]) if code == OperationCode.DEPTHWISE_CONV_2D else math.prod(extents[1:])


def _recurrent(model: Model, call: OperationCall, element: Element, nbytes: int) -> Work:
    """Every weight counts once for each row of the input, and each row of a sequence as a step."""
    x, *others = (model.operands[index] for index in call.inputs)
    weights = sum(_elements(o.type) for o in others if o.lifetime == Lifetime.CONSTANT and o.type.rank == 2)
    last = x.type.dimensions[-1] if x.type.dimensions else 0
    rows = _elements(x.type) // (last or UNKNOWN_EXTENT)
    return Work(Kind.RECURRENT, element, rows * weights, nbytes, rows if x.type.rank == 3 else 1)
