"""One node of an ONNX file during its import."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.errors import NnapiError
from nnapi.formats.onnx.messages import attribute_value, make_node
from nnapi.importers.graph import BOOL8, FLOATS, INT32, QUANT8, Value, normalize_call
from nnapi.importers.input_shapes import describe_shape
from nnapi.importers.node import Node
from nnapi.importers.onnx.file_graph import FileGraph, FileNode
from nnapi.importers.onnx.fusion import Fusion, find_fusion
from nnapi.importers.onnx.images import to_nchw
from nnapi.importers.onnx.schemas import Schema
from nnapi.importers.onnx.scope import Scope
from nnapi.importers.onnx.tensors import BYTES, DYNAMIC, OnnxTensor, constant
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.terms import SIGNED
from nnapi.model.call import UNKNOWN, NotYetKnown
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY
from nnapi.model.parameter import HIGH
from nnapi.operation_codes import Code, CompositeCode
from nnapi.shapes.size import is_same

FILLED = {INT32: OperandCode.INT32, FLOATS[0]: OperandCode.FLOAT32, FLOATS[1]: OperandCode.FLOAT16}
"""The types that FILL makes, and the type of its scalar."""
HIGHEST_RANK = 4
"""The highest rank of NNAPI's operations; further axes are merged where that is exact."""
WIDEST_RANK = HIGH[-1]
"""The highest rank of operations beyond NNAPI's, on axes that do not merge."""


class OnnxNode(Node):
    """A node with its inputs as tensors.

    ``since`` is the opset that introduced its operator's definition. ``kind`` overrides the operator; ``wanted``
    overrides the quantized type of the result.
    """

    def __init__(
        self,
        conversion: Scope,
        source: FileNode,
        tensors: Sequence[OnnxTensor | None],
        schema: Schema | None,
        kind: str = "",
        wanted: OperandType | None = None,
    ) -> None:
        proto = source.proto
        super().__init__(conversion.graph, kind or proto.op_type, [])
        self.name = next((name for name in source.outputs if name), proto.name or proto.op_type)
        self.conversion = conversion
        self.source, self.proto = source, proto
        self.tensors = tensors
        self.since = schema.since_version if schema else 1
        self.schema = schema
        self._attributes = {each.name: each for each in proto.attribute}
        self._fusion = None if wanted is None else Fusion(FuseCode.FUSED_NONE, wanted)

    # The node's readers

    @property
    def fusion(self) -> Fusion:
        if self._fusion is None:
            self._fusion = find_fusion(self.name, self.conversion.source, self.conversion.tensors)
        return self._fusion

    @property
    def wanted(self) -> OperandType | None:
        """Return the quantized type of the result; None if it is not quantized."""
        return self.fusion.quantized

    def activation_operand(self) -> Value:
        return self.i32(self.fusion.activation)

    def claim_activation(self, value: Value) -> Value:
        """Record that ``value`` includes the activation that follows the node; return it."""
        if self.fusion.activation != FuseCode.FUSED_NONE:
            self.conversion.activated.add(value)
        return value

    # The node in the file

    @property
    def count(self) -> int:
        return len(self.tensors)

    def has(self, i: int) -> bool:
        return self.given(i) is not None

    def wants(self, i: int) -> bool:
        return i < len(self.source.outputs) and bool(self.source.outputs[i])

    def given(self, i: int) -> OnnxTensor | None:
        return self.tensors[i] if i < len(self.tensors) else None

    def tensor(self, i: int) -> OnnxTensor:
        """Return tensor input ``i``; raise Refused if it is omitted."""
        tensor = self.given(i)
        if tensor is None:
            raise Refused(f"input {i} is not given")
        return tensor

    def shape(self, i: int) -> Shape:
        """Return the dimensions of input ``i`` in the file, () for a scalar."""
        return self.tensor(i).dims

    def static_shape(self, i: int) -> Shape:
        """Return the dimensions of input ``i``; raise Refused if one is dynamic."""
        tensor = self.tensor(i)
        expressible(
            tensor.is_known,
            f"{tensor.name} is dynamic, {describe_shape(tensor.dims)}; fix it by load(shapes=…) or --shape",
        )
        return tensor.dims

    def static_size(self, i: int, axis: int) -> int:
        """Return one dimension of input ``i``; raise Refused if it is dynamic."""
        size = self.shape(i)[axis]
        expressible(size, f"{self.tensor(i).name} is dynamic along axis {axis}; fix it by load(shapes=…) or --shape")
        return size

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, else the schema's default, else ``default``; strings as str."""
        found = self._attributes.get(name)
        if found is None or not found.type:
            return default if self.schema is None or found is not None else self.schema.defaults.get(name, default)
        value = attribute_value(found)
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    def subgraph(self, name: str) -> FileGraph:
        """Return the graph in an attribute; raise Refused without one."""
        graphs = dict(self.source.graphs)
        expressible(name in graphs, f"it has no graph {name}")
        return graphs[name]

    def array(self, i: int) -> Array:
        """Return constant input ``i`` in the file's type; raise Refused if it is computed."""
        tensor = self.tensor(i)
        expressible(not tensor.is_dynamic_shape, f"{tensor.name} depends on dimensions that only a run knows")
        return tensor.constant

    def integers(self, i: int, attribute: str) -> Sequence[int] | None:
        """Return the integers of input ``i``, or in older opsets of an attribute; None if neither is given."""
        if self.has(i):
            found: Sequence[int] = self.array(i).reshape(-1).tolist()
            return found
        given: Sequence[int] | None = self.attribute(attribute)
        return given

    # Values

    def input(self, i: int) -> Value:
        """Return input ``i`` in the file's axis order, dequantized; bytes without a scale stay integers."""
        return self.dequantize_unless_bytes(i, self.stored(i))

    def dequantize_unless_bytes(self, i: int, value: Value) -> Value:
        """Return ``value``, which comes from input ``i``, dequantized; as plain bytes if the file's type is a byte."""
        return self.bare(value) if self.tensor(i).elem in BYTES else self.graph.real(value)

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

    def stored(self, i: int, *, of_constants: bool = False) -> Value:
        """Return input ``i`` in the file's axis order; it may be quantized.

        With ``of_constants``, float constants that the file stores quantized are returned quantized too.
        """
        tensor = self.tensor(i)
        if of_constants and tensor.quantized is not None:
            return tensor.quantized
        return value_in_file_order(self.conversion, tensor)

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

    # Results

    def result(self, value: Value, shape: Shape | None = None, *, elem: int = 0, is_nhwc: bool = False) -> OnnxTensor:
        """Return a result of the node. ``shape`` is its shape in the file, by default that of ``value``."""
        return OnnxTensor(self.name, elem, value.shape if shape is None else shape, value=value, is_nhwc=is_nhwc)

    def constant_result(self, array: Array) -> OnnxTensor:
        return constant(self.name, array)

    def note(self, message: str) -> None:
        self.conversion.note(message)

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


def identity(scope: Scope, tensor: OnnxTensor) -> OnnxNode:
    """Return an Identity node that reads ``tensor``; values that it makes are named after the tensor."""
    return OnnxNode(scope, FileNode(make_node("Identity", [tensor.name], [tensor.name])), [tensor], None)


def value_in_file_order(scope: Scope, tensor: OnnxTensor) -> Value:
    """Return the value of a tensor in the file's axis order, with its dimensions up to NNAPI's rank."""
    value = tensor.materialize()
    if not tensor.is_nhwc:
        return value
    if tensor not in scope.in_file_order:
        scope.in_file_order[tensor] = to_nchw(identity(scope, tensor), value, tensor.dims)
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
