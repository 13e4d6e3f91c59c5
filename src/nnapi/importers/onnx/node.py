"""One node of an ONNX file during its import."""

from collections.abc import Sequence
from typing import Any

from nnapi.codes import FuseCode
from nnapi.formats.onnx.messages import attribute_value
from nnapi.importers.graph import Value
from nnapi.importers.input_shapes import describe_shape
from nnapi.importers.node import Node
from nnapi.importers.onnx.emitter import OnnxEmitter, value_in_file_order
from nnapi.importers.onnx.file_graph import FileGraph, FileNode
from nnapi.importers.onnx.fusion import Fusion, find_fusion
from nnapi.importers.onnx.schemas import Schema
from nnapi.importers.onnx.scope import Scope
from nnapi.importers.onnx.tensors import BYTES, OnnxTensor, constant
from nnapi.importers.refusals import Refused, expressible
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.parameter import HIGH

HIGHEST_RANK = 4
"""The highest rank of NNAPI's operations; further axes are merged where that is exact."""
WIDEST_RANK = HIGH[-1]
"""The highest rank of operations beyond NNAPI's, on axes that do not merge."""


class OnnxNode(OnnxEmitter, Node):
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
        Node.__init__(self, conversion.graph, kind or proto.op_type, [])
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

    def stored(self, i: int, *, of_constants: bool = False) -> Value:
        """Return input ``i`` in the file's axis order; it may be quantized.

        With ``of_constants``, float constants that the file stores quantized are returned quantized too.
        """
        tensor = self.tensor(i)
        if of_constants and tensor.quantized is not None:
            return tensor.quantized
        return value_in_file_order(self.conversion, tensor)

    # Results

    def result(self, value: Value, shape: Shape | None = None, *, elem: int = 0, is_nhwc: bool = False) -> OnnxTensor:
        """Return a result of the node. ``shape`` is its shape in the file, by default that of ``value``."""
        return OnnxTensor(self.name, elem, value.shape if shape is None else shape, value=value, is_nhwc=is_nhwc)

    def constant_result(self, array: Array) -> OnnxTensor:
        return constant(self.name, array)

    def note(self, message: str) -> None:
        self.conversion.note(message)
