"""From an ONNX graph to a model: walk the nodes, apply their rules, collect what cannot be expressed."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.graph import Graph, Step, Value
from nnapi.importers.onnx import functions
from nnapi.importers.onnx.constant_results import KNOWN, compute_constants
from nnapi.importers.onnx.fusion import Readers
from nnapi.importers.onnx.import_state import MOST_NODES, ImportState
from nnapi.importers.onnx.layout import to_nchw
from nnapi.importers.onnx.node import HIGHEST_RANK, Node
from nnapi.importers.onnx.reader import DEFAULT, INT4, NEWEST, UINT4
from nnapi.importers.onnx.rules import RULES, Result, kind_of, reason_without_rule
from nnapi.importers.onnx.tensors import (
    BYTES,
    CODES,
    ELEMS,
    FLOAT,
    INT64,
    NAMES,
    NARROWED,
    WIDENED,
    Tensor,
    code_of,
    constant,
    declared_shape,
    fix_shape,
    operand_type,
)
from nnapi.importers.refusals import Refusal, Refused, expressible
from nnapi.model.operand import OperandType, Shape, type_name

if TYPE_CHECKING:
    import onnx

INCONSISTENT = (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, struct.error, AssertionError)
"""The exceptions that inconsistent parameters cause."""
DEEPEST = 20
"""Functions may use others so deep."""


class Conversion:
    """The nodes of one graph, or of a function in their midst, on their way into the graph of a model."""

    def __init__(self, state: ImportState, graph: Graph, opsets: dict[str, int], depth: int = 0) -> None:
        need(depth <= DEEPEST, f"functions lie more than {DEEPEST} deep in each other", BadDataError)
        self.state, self.graph, self.opsets, self.depth = state, graph, opsets, depth
        self.tensors: dict[str, Tensor] = {}
        self.nhwc_images: dict[Tensor, Value] = {}
        self.activated: set[Value] = set()
        self.readers = Readers([], [])
        self._in_file_order: dict[Tensor, Value] = {}

    def note(self, message: str) -> None:
        self.state.notes[message] = None

    # Inputs, constants, outputs

    def begin(self, graph: onnx.GraphProto) -> list[Value]:
        """Take up the constants and inputs of the file's graph; gives the inputs."""
        for proto in graph.initializer:
            self._initialize(proto)
        for sparse in graph.sparse_initializer:
            self._refuse("initializer", sparse.values.name, "it is stored sparsely")
            self.tensors[sparse.values.name] = _placeholder(sparse.values.name)
        inputs = []
        for info in graph.input:
            if info.name in self.tensors:  # old files list constants as inputs too
                continue
            try:
                tensor = self.model_input(info)
            except Refused as refused:
                self._refuse("model input", info.name, refused.reason)
                tensor = _placeholder(info.name)
            self.tensors[info.name] = tensor
            inputs.append(tensor.materialize())
        return inputs

    def _initialize(self, proto: onnx.TensorProto) -> None:
        try:
            array, in_file = self.state.file.array(proto)
            self.tensors[proto.name] = tensor = constant(proto.name, array, in_file=in_file)
            if proto.data_type in (INT4, UINT4):
                tensor.elem = proto.data_type
        except Refused as refused:
            self._refuse("initializer", proto.name, refused.reason)
            self.tensors[proto.name] = _placeholder(proto.name)

    def model_input(self, info: onnx.ValueInfoProto) -> Tensor:
        kind = info.type.WhichOneof("value")
        expressible(kind == "tensor_type", f"it is a {str(kind).removesuffix('_type')}, NNAPI has tensors only")
        declared = info.type.tensor_type
        shape: Shape | None = None
        if declared.HasField("shape"):
            shape = declared_shape(declared)
            empty = any(each.HasField("dim_value") and each.dim_value == 0 for each in declared.shape.dim)
            expressible(not empty, "it has no elements")
        if info.name in self.state.shapes:
            shape = fix_shape(info.name, shape, tuple(map(int, self.state.shapes[info.name])))
        self._note_type(declared.elem_type)
        type = operand_type(declared.elem_type, shape or (1,), info.name)
        if shape is None:
            type = type.with_dimensions(())
        return Tensor(info.name, declared.elem_type, shape, value=Value(type, info.name))

    def results(self, names: Sequence[str]) -> list[Value]:
        """The values of the outputs, each named as in the file."""
        taken: set[Value] = set()
        values = []
        for name in names:
            try:
                if name in self.tensors and self.tensors[name].is_refused:
                    continue
                value = self._result(name)
            except Refused as refused:
                self._refuse("model output", name, refused.reason)
                continue
            if value in taken or value not in self.graph.written:
                copy = Value(value.type, name)
                self.graph.steps.append(Step(OperationCode.CAST, [value], [copy]))
                value = copy
            value.name = name
            taken.add(value)
            values.append(value)
        return values

    def _result(self, name: str) -> Value:
        need(name in self.tensors, f"nothing writes the output {name}", BadDataError)
        tensor = self.tensors[name]
        expressible(not tensor.is_open, "it depends on dimensions that only a run knows")
        value = (
            self.graph.real(self.value_in_file_order(tensor))
            if tensor.elem not in (2, 3)
            else self.value_in_file_order(tensor)
        )
        self._note_type(tensor.elem)
        shape = tensor.shape or (1,)
        if tensor.shape is not None and len(shape) > HIGHEST_RANK and value.shape != shape:
            return Node(self, _identity(name), [tensor], None).view(value, shape)
        return value

    def value_in_file_order(self, tensor: Tensor) -> Value:
        """The value of a tensor, ordered as in the file, under its dimensions where NNAPI takes so many."""
        value = tensor.materialize()
        if not tensor.is_nhwc:
            return value
        if tensor not in self._in_file_order:
            self._in_file_order[tensor] = to_nchw(
                Node(self, _identity(tensor.name), [tensor], None), value, tensor.dims
            )
        return self._in_file_order[tensor]

    def _note_type(self, elem: int) -> None:
        if elem in (*NARROWED, *WIDENED):
            self.note(f"{NAMES[elem].lower()} tensors are {type_name(CODES[elem])}")

    # Walking

    def run(
        self, nodes: Sequence[onnx.NodeProto], outputs: Iterable[str], outer: functions.Attributes | None = None
    ) -> None:
        """Convert nodes in their order; ``outputs`` are read from outside."""
        self.readers = Readers(nodes, outputs)
        for proto in nodes:
            self.state.nodes_left -= 1
            need(self.state.nodes_left >= 0, f"inlining makes more than {MOST_NODES} nodes", BadDataError)
            self._convert(functions.resolve_attributes(proto, outer or {}))

    def _convert(self, proto: onnx.NodeProto) -> None:
        """Apply the node's rule; whatever goes wrong becomes a refusal that names the node."""
        try:
            tensors = [self.tensors[name] if name else None for name in proto.input]
            while tensors and tensors[-1] is None:
                tensors.pop()
            if any(tensor is not None and tensor.is_refused for tensor in tensors):
                self._look_at(proto)
            else:
                self._bind(proto, self._results_of(proto, tensors))
        except Refused as refused:
            for reason in refused.reasons:
                self._refuse(proto.op_type, _name(proto), reason)
        except NnapiError as error:
            self._refuse(proto.op_type, _name(proto), str(error))
        except INCONSISTENT as error:
            reason = f"its parameters contradict each other ({type(error).__name__}: {error})"
            self._refuse(proto.op_type, _name(proto), reason)
        for name in proto.output if self.state.refusals else ():  # so that what follows is still looked at
            self.tensors.setdefault(name, _placeholder(name))

    def _look_at(self, proto: onnx.NodeProto) -> None:
        """Refuse a node that has no rule, though what it reads was refused before."""
        domain = "" if proto.domain in DEFAULT else proto.domain
        known = (proto.domain, proto.op_type) in self.state.functions or kind_of(domain, proto.op_type) in RULES
        known = known or (not domain and proto.op_type in KNOWN)
        schema = None if known else _schema(proto.op_type, self.opsets.get(domain, 1), domain)
        if not known and not (schema and (schema.has_function or schema.has_context_dependent_function)):
            raise Refused(reason_without_rule(proto.op_type, domain))

    def _results_of(self, proto: onnx.NodeProto, tensors: Sequence[Tensor | None]) -> Sequence[Result | None]:
        domain = "" if proto.domain in DEFAULT else proto.domain
        local = self.state.functions.get((proto.domain, proto.op_type))
        if local is not None:
            return self._inline_function(functions.local_body(local, proto, self.opsets), tensors)
        opset = self.opsets.get(domain, 1)
        schema = _schema(proto.op_type, opset, domain)
        if domain == "":
            known = compute_constants(self.state.file, proto, opset, tensors)
            if known is not None:
                return known
        rule = RULES.find(kind_of(domain, proto.op_type))
        if rule is not None:
            found = rule(Node(self, proto, tensors, schema))
            return [found] if isinstance(found, Value | Tensor) else found
        body = functions.body_of(proto, schema, opset, self.opsets, tensors)
        if body is None:
            raise Refused(reason_without_rule(proto.op_type, domain))
        return self._inline_function(body, tensors)

    def schema(self, kind: str) -> Any:
        """The schema of an operator of the default domain."""
        return _schema(kind, self.opsets.get("", NEWEST), "")

    def is_read(self, value: Value) -> bool:
        """Whether an operation reads a value already."""
        return any(value in step.inputs for step in self.graph.steps)

    def apply_rule(
        self, kind: str, tensors: Sequence[Tensor | None], node: Node, wanted: OperandType | None = None
    ) -> Tensor:
        """Apply the rule of another operator to tensors, with the attributes of a node; ``wanted`` is the quantized
        type of the result."""
        found = RULES[kind](Node(self, node.proto, tensors, self.schema(kind), kind, wanted))
        return self._tensor(node.proto, node.name, found if isinstance(found, Value | Tensor) else found[0])

    def apply_rules(self, kind: str, tensors: Sequence[Tensor | None], node: Node) -> list[Tensor | None]:
        """All that the rule of another operator makes of tensors, with the attributes of a node."""
        found = RULES[kind](Node(self, node.proto, tensors, self.schema(kind), kind))
        results = [found] if isinstance(found, Value | Tensor) else found
        return [
            None if each is None else self._tensor(node.proto, name, each)
            for name, each in zip(node.proto.output, results, strict=False)
        ]

    def apply_operator(self, kind: str, tensors: Sequence[Tensor | None], name: str, **attributes: Any) -> Tensor:
        """Apply the rule of an operator to tensors; what it makes of constants is one."""
        from onnx import helper

        proto = helper.make_node(kind, [tensor.name if tensor else "" for tensor in tensors], [name], **attributes)
        known = compute_constants(self.state.file, proto, self.opsets.get("", NEWEST), tensors)
        if known is not None and known[0] is not None:
            return known[0]
        return self.apply_rule(kind, tensors, Node(self, proto, tensors, self.schema(kind)))

    def inline_graph(self, graph: onnx.GraphProto, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Insert the nodes of a subgraph instead of the node that has it; return its outputs."""
        inner = Conversion(self.state, self.graph, self.opsets, self.depth + 1)
        inner.nhwc_images, inner._in_file_order = self.nhwc_images, self._in_file_order
        inner.tensors = self.tensors.copy()
        inner.begin_subgraph(graph, inputs)
        inner.run_subgraph(graph)
        return [inner.tensors[each.name] for each in graph.output]

    def begin_subgraph(self, graph: onnx.GraphProto, inputs: Sequence[Tensor]) -> None:
        """Take up the constants of a subgraph, and what its inputs are."""
        for name in {name for proto in graph.node for name in proto.output} & set(self.tensors):
            del self.tensors[name]  # names of a subgraph hide those outside
        for proto in graph.initializer:
            self._initialize(proto)
        for info, tensor in zip(graph.input, inputs, strict=True):
            self.tensors[info.name] = tensor

    def run_subgraph(self, graph: onnx.GraphProto) -> None:
        """Convert the nodes of a subgraph, or refuse the node that has it."""
        self._run_whole("its subgraph uses", graph.node, [each.name for each in graph.output])

    def _run_whole(
        self,
        reason: str,
        nodes: Sequence[onnx.NodeProto],
        outputs: Sequence[str],
        outer: functions.Attributes | None = None,
    ) -> None:
        """Convert all nodes, or refuse them as one, for a reason that begins so and names the first that cannot be."""
        refusals, before = self.state.refusals, len(self.state.refusals)
        self.run(nodes, outputs, outer)
        if len(refusals) > before:
            reasons = [f"{reason} {each.operation}: {each.reason}" for each in refusals[before:]]
            del refusals[before:]
            raise Refused(*dict.fromkeys(reasons))

    def _inline_function(self, body: functions.Body, tensors: Sequence[Tensor | None]) -> list[Result | None]:
        """Insert the nodes of a function instead of the node that calls it."""
        inner = Conversion(self.state, self.graph, body.opsets, self.depth + 1)
        inner.nhwc_images, inner._in_file_order = self.nhwc_images, self._in_file_order
        given = dict(zip(body.inputs, tensors, strict=False))
        inner.tensors = {name: tensor for name, tensor in given.items() if tensor is not None}
        absent = {name for name in body.inputs if given.get(name) is None}
        nodes = [_without(node, absent) for node in body.nodes]
        inner._run_whole("ONNX defines it by", nodes, body.outputs, body.attributes)
        return [inner.tensors.get(name) for name in body.outputs]

    def _bind(self, proto: onnx.NodeProto, results: Sequence[Result | None]) -> None:
        for name, result in zip(proto.output, results, strict=False):
            if not name:
                continue
            need(name not in self.tensors, f"{name} is written twice", BadDataError)
            self.tensors[name] = self._tensor(proto, name, result)

    def _tensor(self, proto: onnx.NodeProto, name: str, result: Result | None) -> Tensor:
        """A result as the tensor of a name, under the dimensions of the file where NNAPI takes so many."""
        if result is None:
            raise Refused(f"its output {name} is not computed")
        if isinstance(result, Value):
            result = Tensor(name, 0, result.shape or None, value=result)
        value = result.value
        if value is not None:
            if not result.elem:
                result.elem = self._elem(proto, value)
            shape = result.shape
            if shape is not None and not result.is_nhwc and len(shape) <= HIGHEST_RANK:
                result.value = value = Node(self, proto, [], None).view(value, shape or (1,))
            if value in self.graph.written and ":" in value.name:
                value.name = name
        return result

    def _elem(self, proto: onnx.NodeProto, value: Value) -> int:
        """The type of a result in the file: that of an input that NNAPI holds alike, or the usual one."""
        if value.is_quantized and not _is_plain(value.type):
            return self._elem_of_codes(proto, value)
        for name in proto.input:
            tensor = self.tensors.get(name)
            if tensor is not None and CODES.get(tensor.elem) == value.type.code:
                return tensor.elem
        return INT64 if value.type.code == CODES[INT64] else ELEMS[OperandCode(value.type.code)]

    def _elem_of_codes(self, proto: onnx.NodeProto, value: Value) -> int:
        """Return the ONNX element type of a quantized result: a byte type where the operator passes its input through
        and the bytes match, else float."""
        domain = "" if proto.domain in DEFAULT else proto.domain
        schema = _schema(proto.op_type, self.opsets.get(domain, 1), domain)
        for i, name in enumerate(proto.input if schema is not None and schema.outputs else ()):
            tensor = self.tensors.get(name)
            same = schema.inputs[min(i, len(schema.inputs) - 1)].type_str == schema.outputs[0].type_str
            if tensor is not None and same and tensor.elem in BYTES and CODES[tensor.elem] == value.type.code:
                return tensor.elem
        return FLOAT

    def _refuse(self, kind: str, name: str, reason: str) -> None:
        self.state.refusals.append(Refusal(kind, name, reason))


def _is_plain(type: OperandType) -> bool:
    """Return whether a type has scale 1 and zero point 0, so that the stored values are the values."""
    return (type.scale, type.zero_point) == (1.0, 0)


def _schema(kind: str, opset: int, domain: str) -> Any:
    from onnx import defs

    try:
        return defs.get_schema(kind, opset, domain)
    except defs.SchemaError:
        return None


def _without(proto: onnx.NodeProto, absent: set[str]) -> onnx.NodeProto:
    """A node with those inputs left out that its function was not given."""
    if absent.isdisjoint(proto.input):
        return proto
    copy = type(proto)()
    copy.CopyFrom(proto)
    del copy.input[:]
    copy.input.extend("" if name in absent else name for name in proto.input)
    return copy


def _name(proto: onnx.NodeProto) -> str:
    return proto.name or next((name for name in proto.output if name), "without output")


def _identity(name: str) -> onnx.NodeProto:
    from onnx import helper

    return helper.make_node("Identity", [name], [name])


def _placeholder(name: str) -> Tensor:
    return Tensor(name, FLOAT, None, value=Value(OperandType(code_of(FLOAT, name)), name), is_refused=True)
