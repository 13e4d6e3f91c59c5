"""Emit operations into the graph of an ONNX file."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nnapi.codes import OperationCode
from nnapi.errors import NnapiError
from nnapi.importers.graph import BOOL8, INT32, QUANT8, Value, normalize_call
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.input_shapes import describe_shape
from nnapi.importers.onnx.images import to_nchw
from nnapi.importers.onnx.scope import Scope
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import SIGNED
from nnapi.model.call import UNKNOWN, NotYetKnown
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import Code, CompositeCode
from nnapi.shapes.size import is_same


class OnnxEmitter(GraphEmitter):
    """Emits into the graph of ``conversion``; dimensions that follow from dynamic ones are inferred."""

    def __init__(self, conversion: Scope, name: str) -> None:
        super().__init__(conversion.graph, name)
        self.conversion = conversion

    # Values

    def bare(self, value: Value) -> Value:
        """Return quantized values as plain bytes: scale 1, zero point 0."""
        return self.restate(value, 1.0, 0) if value.type.is_quantized else value

    def restate(self, value: Value, scale: float, zero_point: int) -> Value:
        if (value.type.scale, value.type.zero_point) == (scale, zero_point):
            return value
        type = OperandType(value.type.code, value.shape, scale, zero_point)
        if value.array is not None:
            return Value(type, value.name, value.array, value.in_file)
        return self.apply(OperationCode.CAST, value, type=type)

    def view(self, value: Value, shape: Sequence[int]) -> Value:
        """Reshape a value, at most to NNAPI's rank; a scalar has one element."""
        return self.reshape(value, tuple(shape) or (1,))

    def constant(self, array: Array, like: Value | None = None) -> Value:
        """Return a constant tensor, of the type of ``like`` if that is given."""
        shape, type = array.shape or (1,), None
        if like is not None:
            type = OperandType(like.type.code, shape, like.type.scale, like.type.zero_point)
            array = array.astype(type.dtype, copy=False)
        file, array = self.conversion.state.file, array.reshape(shape)
        if type is not None and file.holds(array):
            array.flags.writeable = False
            return self.graph.views.setdefault(
                (array.ctypes.data, array.strides, type), Value(type, "", array, in_file=True)
            )
        self.graph.reserve(array.nbytes)
        return self.graph.constant(file.order(array), type)

    # Operations

    def append(self, code: Code, inputs: Sequence[Any], results: Sequence[Value | OperandType]) -> list[Value]:
        """Append an operation; dimensions that follow from dynamic ones are inferred."""
        if any(isinstance(each, Value) and not each.is_known for each in inputs):
            inputs, types = list(map(self.operand, inputs)), [each for each in results if isinstance(each, OperandType)]
            if len(types) == len(results):
                known = zip(types, shapes_of(code, inputs, types), strict=True)
                results = [type.with_dimensions(shape) if shape else type for type, shape in known]
        return super().append(code, inputs, results)

    def reshape(self, x: Value, shape: Sequence[int], to: Value | None = None) -> Value:
        if to is None and is_same(shape, x.shape):
            return x
        if to is None and x.array is not None and DYNAMIC not in shape and not x.type.channel:
            expressible(math.prod(shape) == x.array.size, f"{x.name} does not reshape to {list(shape)}")
            return Value(x.type.with_dimensions(tuple(shape)), x.name, x.array.reshape(shape), x.in_file)
        if list(shape).count(DYNAMIC) > 1 and self.conversion.state.sizes_depend_on_data:
            return self._move_ones(x, shape, to)
        return super().reshape(x, shape, to)

    def _move_ones(self, value: Value, shape: Sequence[int], to: Value | None) -> Value:
        """Insert or remove axes of size 1 between dimensions that depend on data."""
        kept = [axis for axis, size in enumerate(value.shape) if size != 1]
        places = [i for i, size in enumerate(shape) if size != 1]
        fits = [value.shape[axis] for axis in kept] == [shape[i] for i in places]
        expressible(fits, f"several dimensions of {list(shape)} depend on data")
        return self.reshape_by_own(value, shape, dict(zip(places, kept, strict=True)), to)

    def reshape_by_own(
        self, value: Value, shape: Sequence[int], sources: Mapping[int, int], to: Value | None = None
    ) -> Value:
        """Reshape a value to ``shape``; at the keys of ``sources``, to the dimensions that a run finds at these axes of
        the value."""
        own = self.apply(CompositeCode.SHAPE, value, type=OperandType(INT32), shape=(value.rank,))
        sizes = self.concatenate([own, self.graph.ints([size or -1 for size in shape])], 0)
        positions = self.graph.ints([sources.get(i, value.rank + i) for i in range(len(shape))])
        wanted = self.apply(OperationCode.GATHER, sizes, self.i32(0), positions, shape=(len(shape),))
        result = to or self.temporary(value.type.with_dimensions(tuple(shape)))
        return self.emit(OperationCode.RESHAPE, value, wanted, to=result)

    def cast(self, value: Value, code: int) -> Value:
        """Cast a value; integers keep their lowest bits, floats are rounded towards zero, and bytes are plain."""
        if value.type.code == code:
            return value
        type = OperandType(code, (), float(code in (QUANT8, SIGNED)))
        is_own = value.type.code not in (BOOL8, SIGNED) and code not in (BOOL8, QUANT8, SIGNED)
        return self.apply(OperationCode.CAST if is_own else CompositeCode.CONVERT, value, type=type)

    def spread(self, type: OperandType, number: float, shape: Shape) -> Value:
        """Return a constant filled with one stored value; raise Refused if ``shape`` is dynamic."""
        expressible(
            DYNAMIC not in shape, f"its shape {describe_shape(shape)} is dynamic; fix it by load(shapes=…) or --shape"
        )
        return self.graph.full(type.with_dimensions(shape), number)


def value_in_file_order(scope: Scope, tensor: OnnxTensor) -> Value:
    """Return the value of a tensor in the file's axis order, with its dimensions up to NNAPI's rank."""
    value = tensor.materialize()
    if not tensor.is_nhwc:
        return value
    if tensor not in scope.in_file_order:
        scope.in_file_order[tensor] = to_nchw(OnnxEmitter(scope, tensor.name), value, tensor.dims)
    return scope.in_file_order[tensor]


# Dimensions of results of dynamic inputs: inferred for two sizes of the inputs; dynamic where the two results differ

SIZES = (720, 1680)
"""Sizes tried for a dynamic dimension. Reshapes may divide them, so both have many divisors."""


def shapes_of(code: Code, inputs: Sequence[Value], outputs: Sequence[OperandType]) -> list[Shape]:
    """Return the dimensions of an operation's results; () if they cannot be inferred."""
    try:
        tried = [_infer_shapes(code, inputs, outputs, size) for size in SIZES]
    except (NnapiError, NotYetKnown):
        return [()] * len(outputs)
    return [_common_shape(first, second) for first, second in zip(*tried, strict=True)]


def _infer_shapes(code: Code, inputs: Sequence[Value], outputs: Sequence[OperandType], size: int) -> list[Shape]:
    types = [value.type.with_dimensions(tuple(each or size for each in value.shape)) for value in inputs]
    for i, value in enumerate(inputs):
        if not (types[i].is_known or value.omitted):
            raise NotYetKnown("the rank", i)
    operation = REGISTRY[code]
    match = operation.match([value.type for value in inputs], list(outputs), [value.model for value in inputs])
    call = normalize_call(operation, match, types, inputs, outputs)
    return [type.dimensions for type in call.stored_results()]


def _common_shape(first: Shape, second: Shape) -> Shape:
    if len(first) != len(second):
        return ()
    return tuple(a if a == b != UNKNOWN else DYNAMIC for a, b in zip(first, second, strict=True))
