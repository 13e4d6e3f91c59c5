"""All codes of a graph unsigned, as its model has them: the other form of a model with unsigned filters.

Which form is faster depends on the kernels that the engine has for a processor, so both are run.
"""

from __future__ import annotations

import numpy as np

from nnapi.drivers.xnnpack.context import SHIFT
from nnapi.drivers.xnnpack.operators import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor

KINDS = frozenset(
    {
        "ADD",
        "ARG_MAX",
        "LOGISTIC",
        "AVERAGE_POOL_2D",
        "CONCATENATION",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "DEQUANTIZE",
        "FULLY_CONNECTED",
        "MAX_POOL_2D",
        "MEAN",
        "MUL",
        "PAD",
        "QUANTIZE",
        "RELU",
        "RELU6",
        "RESHAPE",
        "RESIZE_BILINEAR",
        "SLICE",
        "SUB",
        "TRANSPOSE",
    }
)
"""What the engine computes on unsigned codes as on signed ones."""


def has_unsigned_filters(graph: Graph) -> bool:
    """Whether a filter does not fit into signed codes as it is."""
    return any(Conv(operator).unsigned_filter for operator in graph.operators)


def can_be_unsigned(graph: Graph) -> bool:
    """Whether every code can be an unsigned one, and is where it comes from and goes to."""
    ends = zip(graph.ends, graph.flipped, strict=False)
    return all(end.type != "i8" or flipped for end, flipped in ends) and all(map(_can_be_unsigned, graph.operators))


def _can_be_unsigned(operator: Operator) -> bool:
    codes = [tensor for tensor in operator.tensors if tensor.type == "i8"]
    return not codes or (operator.kind in KINDS and all(map(_has_one_scale, codes)))


def _has_one_scale(tensor: Tensor) -> bool:
    return isinstance(tensor.scale, float) or bool((tensor.scale == tensor.scale[0]).all())


def make_unsigned(graph: Graph) -> Graph:
    """The same graph with unsigned codes."""
    changed: dict[Tensor, Tensor] = {}

    def change(tensor: Tensor) -> Tensor:
        if tensor not in changed:
            changed[tensor] = _make_unsigned(tensor)
        return changed[tensor]

    operators = [
        operator.like([tensor and change(tensor) for tensor in operator.inputs], list(map(change, operator.outputs)))
        for operator in graph.operators
    ]
    flipped = (False,) * len(graph.ends)
    return Graph(operators, list(map(change, graph.inputs)), list(map(change, graph.outputs)), flipped, graph.name)


def _make_unsigned(tensor: Tensor) -> Tensor:
    """A tensor of codes, or of biases, with one scale and, if they are codes, unsigned; any other itself.

    The engine takes a filter with one scale only where nothing says which axis that lies along.
    """
    scale = tensor.scale if isinstance(tensor.scale, float) else float(tensor.scale[0])
    if tensor.type == "i8":
        data = None if tensor.data is None else np.bitwise_xor(tensor.data.view(np.uint8), np.uint8(SHIFT))
        return tensor.like(type="u8", scale=scale, zero_point=tensor.zero_point + SHIFT, axis=0, data=data)
    is_changed = tensor.type in ("u8", "i32") and (tensor.axis or not isinstance(tensor.scale, float))
    return tensor.like(scale=scale, axis=0, data=tensor.data) if is_changed else tensor
