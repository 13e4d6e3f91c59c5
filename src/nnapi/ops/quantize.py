"""Between float and quantized values.

DEQUANTIZE: the float values of a quantized tensor.
QUANTIZE: the quantized values of a float tensor.
"""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.call import Call
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor, upto
from nnapi.ops.quantization import quantized_range
from nnapi.ops.shapes import same_shape
from nnapi.ops.types import PER_CHANNEL, QUANT8, QUANT8_SIGNED, QUANT8_SYMM, floats

DEQUANTIZE = Operation(
    OperationCode.DEQUANTIZE,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.RESTATES | Trait.CHOOSES),
    inputs=(Tensor("input", {QUANT8: 1, QUANT8_SYMM: 3, PER_CHANNEL: 3, QUANT8_SIGNED: 4}, rank=upto(4)),),
    outputs=(Tensor("out", floats()),),
    zero_sized=True,
)

QUANTIZE = Operation(
    OperationCode.QUANTIZE,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.RESTATES | Trait.REQUANTIZES | Trait.STEPS),
    inputs=(Tensor("input", floats(3)),),
    outputs=(Tensor("out", {QUANT8: 3, QUANT8_SIGNED: 4}),),
    zero_sized=True,
)

DEQUANTIZE.shape(same_shape)
QUANTIZE.shape(same_shape)


@DEQUANTIZE.kernel
def dequantize(input: Array) -> Array:
    return input


@QUANTIZE.kernel(kind="exact")
def quantize(call: Call, input: Array) -> Array:
    out = call.results[0]
    quotient = (input.astype(np.float32) / np.float32(out.scale)).astype(np.float64)
    rounded = np.trunc(quotient + np.copysign(0.5, quotient))
    low, high = quantized_range(out)
    return np.fmax(np.fmin(rounded + out.zero_point, high), low).astype(out.dtype)  # NaN: the highest quantized value
