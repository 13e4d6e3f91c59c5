"""Matrix products; quantized ones are lowered as convolutions are."""

from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.context import OpenvinoContext, lower
from nnapi.drivers.openvino.rules.convolution import make_bias, make_exact, make_weights, rescale
from nnapi.drivers.openvino.sizes import reshape
from nnapi.drivers.openvino.value import Node, Value, node_of, number
from nnapi.lowering.refusal import require
from nnapi.ops.signature_types import INT32

NUDGE = 1 + 2.0**-18


@lower(Op.FULLY_CONNECTED)
def fully_connected(context: OpenvinoContext, input: Value, weights: Value, bias: Value) -> Value:
    units, width = weights.type.dimensions
    input, weights, scales = make_exact(context, input, weights, width)
    x = input.before_rounding() if _sums_are_coarse(context, input, weights) else input.real()
    if input.type.dimensions[1:] != (width,):
        x = reshape(x, [input.type.size // width, width])
    if input.array is None:
        factors = make_weights(weights, (units, width), (0, 1), (-1, 1), scales is None and weights.type.size > 1)
    else:
        factors = weights.real()  # the engine cannot compile a constant times quantized values
    y = multiply(x, factors, False, True)
    y = rescale(op.add(y, make_bias(input, weights, bias, (1, units))), scales, (1, -1))
    return context.result(op.multiply(y, number(NUDGE)) if _needs_no_scaling(context, input, weights) else y)


@lower(Op.BATCH_MATMUL)
def batch_matmul(context: OpenvinoContext, lhs: Value, rhs: Value, adj_x: bool, adj_y: bool) -> Value:
    require(lhs.type.code != INT32, f"{lhs.name} is TENSOR_INT32, for which the engine's products are not exact")
    lhs, rhs, scales = make_exact(context, lhs, rhs, rhs.type.shape[-1 if adj_y else -2])
    return context.result(rescale(multiply(lhs.real(), rhs.real(), adj_x, adj_y), scales, (1,)))


def multiply(x: Node, y: Node, adj_x: bool, adj_y: bool) -> Node:
    """Return a product of matrices. Those of 1 × 1 become factors: with one thread, the engine fails to compile chains
    of products by such constants. The maximum keeps a clamp behind the factor."""
    is_factor = isinstance(node_of(y), ov.op.Constant) and list(node_of(y).get_output_shape(0))[-2:] == [1, 1]
    if adj_x or not is_factor:
        return op.matmul(x, y, adj_x, adj_y)
    product = op.multiply(x, y)
    return op.maximum(product, product)


def _sums_are_coarse(context: OpenvinoContext, input: Value, weights: Value) -> bool:
    """Return whether float32 is too coarse for sums with zero points, to which the engine adds its bounds."""
    if not input.type.is_quantized:
        return False
    largest = max(weights.type.channel.scales if weights.type.channel else [weights.type.scale])
    step = context.type().scale / (input.type.scale * largest)
    return weights.type.dimensions[1] * 2.0**15 > 2.0**22 * step


def _needs_no_scaling(context: OpenvinoContext, input: Value, weights: Value) -> bool:
    """Return whether sums already have the result's scale. The engine would then ignore the operands' scales. A factor
    close to 1, which changes no quantized value, prevents that."""
    if not input.type.is_quantized or weights.type.channel:
        return False
    ratio = input.type.scale / context.type().scale
    return any(abs(factor - 1) < 2.0**-20 for factor in (ratio, ratio * weights.type.scale))
