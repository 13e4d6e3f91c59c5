"""MAX_POOL_3D and AVERAGE_POOL_3D."""

from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, find_maximum, lower
from nnapi.drivers.openvino.value import Node, Value
from nnapi.lowering.refusal import require
from nnapi.lowering.windows import explain_too_wide
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite


def windows(input: Value, paddings: Array, strides: Array) -> tuple[list[int], list[int], list[int]]:
    """Return strides that exceed no padded volume, padding before and padding after, for the engine."""
    pairs, volume = paddings.tolist(), input.type.dimensions[1:4]
    require(not explain_too_wide(pairs), explain_too_wide(pairs))
    steps = [min(step, cells + sum(pair)) for step, cells, pair in zip(strides.tolist(), volume, pairs, strict=True)]
    return steps, paddings[:, 0].tolist(), paddings[:, 1].tolist()


@lower(Composite.AVERAGE_POOL_3D)
def average_pool_3d(context: OpenvinoContext, input: Value, paddings: Array, strides: Array, size: Array) -> Value:
    y = op.avg_pool(input.real(first=True), *windows(input, paddings, strides), size.tolist(), True)
    return context.result(y, first=True)


@lower(Composite.MAX_POOL_3D)
def max_pool_3d(context: OpenvinoContext, input: Value, paddings: Array, strides: Array, size: Array) -> Value:
    steps, begin, end = windows(input, paddings, strides)

    def pool(x: Node) -> Node:
        return op.max_pool(x, steps, [1, 1, 1], begin, end, size.tolist()).output(0)

    x = input.real(first=True)
    y = pool(x) if input.type.is_quantized else find_maximum(x, pool)
    return Value.of(y, context.type(), "real", first=True)
