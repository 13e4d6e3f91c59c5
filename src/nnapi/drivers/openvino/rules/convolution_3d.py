"""Convolutions of volumes."""

import numpy as np

from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.rules.convolution import make_bias, make_weights
from nnapi.drivers.openvino.rules.pooling_3d import windows
from nnapi.drivers.openvino.value import Value
from nnapi.lowering.refusal import require
from nnapi.lowering.windows import explain_too_wide
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite

UNITS = (-1, 1, 1, 1, 1)


@lower(Composite.CONV_3D)
def conv_3d(
    context: OpenvinoContext,
    input: Value,
    filter: Value,
    bias: Value,
    paddings: Array,
    strides: Array,
    dilations: Array,
    groups: int,
) -> Value:
    units, *rest = shape = filter.type.dimensions
    steps, begin, end = windows(input, paddings, strides)
    more = [gap if cells > 1 else 1 for gap, cells in zip(dilations.tolist(), rest, strict=False)]
    x = input.real(first=True)
    if groups == 1:
        y = op.convolution(x, make_weights(filter, shape, (0, 4, 1, 2, 3), UNITS), steps, begin, end, more)
    else:
        weights = make_weights(filter, (groups, units // groups, *rest), (0, 1, 5, 2, 3, 4), (groups, *UNITS))
        y = op.group_convolution(x, weights, steps, begin, end, more)
    return context.result(op.add(y, make_bias(input, filter, bias, (1, units, 1, 1, 1))), first=True)


@lower(Composite.TRANSPOSE_CONV_3D)
def transpose_conv_3d(
    context: OpenvinoContext, input: Value, filter: Value, bias: Value, paddings: Array, strides: Array
) -> Value:
    require(not explain_too_wide(paddings.tolist()), explain_too_wide(paddings.tolist()))
    units, volume = filter.type.dimensions[0], input.type.dimensions[1:4]
    missing = np.maximum(0, -paddings[:, 1])
    require((missing < strides).all(), f"paddings {paddings.tolist()} add cells that no filter reaches")
    # With one cell along an axis, a large stride makes the engine hang.
    steps = np.where(np.array(volume) > 1, strides, missing + 1).tolist()
    begin, end = paddings[:, 0].tolist(), np.maximum(0, paddings[:, 1]).tolist()
    weights = make_weights(filter, filter.type.dimensions, (4, 0, 1, 2, 3), UNITS)
    x = input.real(first=True)
    y = op.convolution_backprop_data(x, weights, steps, None, begin, end, [1, 1, 1], None, missing.tolist())
    return context.result(op.add(y, make_bias(input, filter, bias, (1, units, 1, 1, 1))), first=True)
