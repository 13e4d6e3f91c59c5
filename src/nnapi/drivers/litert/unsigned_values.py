"""A variant with all quantized values unsigned, as in the model. It is faster on some processors."""

from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.operators import row_of
from nnapi.lowering.tflite.context import flip_sign

FEW = 2048
"""Number of elements below which QUANTIZE converts signedness faster than DEQUANTIZE and QUANTIZE together."""


def has_unsigned_filters(graph: Graph) -> bool:
    """Return whether a filter stays unsigned, because its values do not fit into signed bytes."""
    return any(Conv(operator).unsigned_filter for operator in graph.operators)


def can_be_unsigned(graph: Graph) -> bool:
    """Return whether all quantized values can be unsigned, and are unsigned in the model's inputs and outputs."""
    ends = zip(graph.inputs_and_outputs, graph.flipped, strict=False)
    return all(end.type != "i8" or flipped for end, flipped in ends) and all(map(supports_unsigned, graph.operators))


def supports_unsigned(operator: Operator) -> bool:
    """Return whether an operator can compute on unsigned values."""
    quantized = [tensor for tensor in operator.tensors if tensor.type == "i8"]
    return not quantized or (row_of(operator.kind).unsigned and all(map(_has_one_scale, quantized)))


def _has_one_scale(tensor: Tensor) -> bool:
    return isinstance(tensor.scale, float) or bool((tensor.scale == tensor.scale[0]).all())


def make_unsigned(graph: Graph) -> Graph:
    change = UnsignedTensors()
    operators = list(map(change.rewrite, graph.operators))
    flipped = (False,) * len(graph.inputs_and_outputs)
    return Graph(operators, list(map(change, graph.inputs)), list(map(change, graph.outputs)), flipped, graph.name)


class UnsignedTensors(dict[Tensor, Tensor]):
    """The unsigned replacement of each tensor, made at first use."""

    def __call__(self, tensor: Tensor) -> Tensor:
        if tensor not in self:
            self[tensor] = _make_unsigned(tensor)
        return self[tensor]

    def rewrite(self, operator: Operator) -> Operator:
        return operator.like([tensor and self(tensor) for tensor in operator.inputs], list(map(self, operator.outputs)))


def flip_signedness(source: Tensor, target: Tensor) -> list[Operator]:
    """Return operators that convert signed values to unsigned or back; float32 is faster for many values."""
    if source.size < FEW:
        return [Operator("QUANTIZE", [source], [target])]
    real = source.like(type="f32", scale=0.0, zero_point=0)
    return [Operator("DEQUANTIZE", [source], [real]), Operator("QUANTIZE", [real], [target])]


def _make_unsigned(tensor: Tensor) -> Tensor:
    """Return a tensor as unsigned if it is 8-bit. A scale per channel, all equal, becomes one scale without an axis."""
    scale = tensor.scale if isinstance(tensor.scale, float) else float(tensor.scale[0])
    if tensor.type == "i8":
        tensor = flip_sign(tensor)
    is_changed = tensor.type in ("u8", "i32") and (tensor.axis or not isinstance(tensor.scale, float))
    return tensor.like(scale=scale, axis=0, data=tensor.data) if is_changed else tensor
