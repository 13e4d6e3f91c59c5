"""From an ONNX graph to a model: walk the nodes, apply their rules, collect what cannot be expressed."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.graph import Graph, Step, Value
from nnapi.importers.onnx import functions
from nnapi.importers.onnx.followers import Readers
from nnapi.importers.onnx.known import known_results
from nnapi.importers.onnx.layout import turn_back
from nnapi.importers.onnx.node import HIGHEST_RANK, Node, value_of
from nnapi.importers.onnx.reader import DEFAULT, INT4, NEWEST, UINT4
from nnapi.importers.onnx.rules import HOMES, Result, kind_of, reason_without_rule, rule_for
from nnapi.importers.onnx.shared import MOST_NODES, Shared
from nnapi.importers.onnx.terms import (
    CODES,
    ELEMS,
    FLOAT,
    INT64,
    NAMES,
    NARROWED,
    OPEN,
    WIDENED,
    Term,
    code_of,
    constant,
    fixed,
    operand_type,
)
from nnapi.importers.refusals import Refusal, Refused, expressible
from nnapi.model.operand import OperandType, Shape, type_name

if TYPE_CHECKING:
    import onnx

INCONSISTENT = (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, struct.error, AssertionError)
"""What arithmetic on parameters that contradict each other raises."""
DEEPEST = 20
"""Functions may use others so deep."""


class Conversion:
    """The nodes of one graph, or of a function in their midst, on their way into the graph of a model."""

    def __init__(self, whole: Shared, graph: Graph, opsets: dict[str, int], depth: int = 0) -> None:
        need(depth <= DEEPEST, f"functions lie more than {DEEPEST} deep in each other", BadDataError)
        self.whole, self.graph, self.opsets, self.depth = whole, graph, opsets, depth
        self.terms: dict[str, Term] = {}
        self.turned: dict[Term, Value] = {}
        self.rectified: set[Value] = set()
        self.readers = Readers([], [])
        self._ordered: dict[Term, Value] = {}

    def note(self, message: str) -> None:
        self.whole.notes[message] = None

    # Inputs, constants, outputs

    def begin(self, graph: onnx.GraphProto) -> list[Value]:
        """Take up the constants and inputs of the file's graph; gives the inputs."""
        for tensor in graph.initializer:
            self._initialise(tensor)
        for sparse in graph.sparse_initializer:
            self._refuse("initializer", sparse.values.name, "it is stored sparsely")
            self.terms[sparse.values.name] = _placeholder(sparse.values.name)
        inputs = []
        for info in graph.input:
            if info.name in self.terms:  # old files list constants as inputs too
                continue
            try:
                term = self.model_input(info)
            except Refused as refused:
                self._refuse("model input", info.name, refused.reason)
                term = _placeholder(info.name)
            assert term.value is not None
            self.terms[info.name] = term
            inputs.append(term.value)
        return inputs

    def _initialise(self, tensor: onnx.TensorProto) -> None:
        try:
            array, in_file = self.whole.file.array(tensor)
            self.terms[tensor.name] = term = constant(tensor.name, array, in_file=in_file)
            if tensor.data_type in (INT4, UINT4):
                term.elem = tensor.data_type
        except Refused as refused:
            self._refuse("initializer", tensor.name, refused.reason)
            self.terms[tensor.name] = _placeholder(tensor.name)

    def model_input(self, info: onnx.ValueInfoProto) -> Term:
        kind = info.type.WhichOneof("value")
        expressible(kind == "tensor_type", f"it is a {str(kind).removesuffix('_type')}, NNAPI has tensors only")
        tensor = info.type.tensor_type
        shape: Shape | None = None
        if tensor.HasField("shape"):
            shape = tuple(each.dim_value if each.HasField("dim_value") else OPEN for each in tensor.shape.dim)
            empty = any(each.HasField("dim_value") and each.dim_value == 0 for each in tensor.shape.dim)
            expressible(not empty, "it has no elements")
        if info.name in self.whole.shapes:
            shape = fixed(info.name, shape, tuple(map(int, self.whole.shapes[info.name])))
        self._note_type(tensor.elem_type)
        type = operand_type(tensor.elem_type, shape or (1,), info.name)
        if shape is None:
            type = type.with_dimensions(())
        return Term(info.name, tensor.elem_type, shape, value=Value(type, info.name))

    def results(self, names: Sequence[str]) -> list[Value]:
        """The values of the outputs, each named as in the file."""
        taken: set[Value] = set()
        values = []
        for name in names:
            try:
                if name in self.terms and self.terms[name].is_refused:
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
        term = self.terms.get(name)
        need(term is not None, f"nothing writes the output {name}", BadDataError)
        assert term is not None
        expressible(not term.is_open, "it depends on dimensions that only a run knows")
        value = self.graph.real(self.ordered(term)) if term.elem not in (2, 3) else self.ordered(term)
        self._note_type(term.elem)
        shape = term.shape or (1,)
        if term.shape is not None and len(shape) > HIGHEST_RANK and value.shape != shape:
            return Node(self, _identity(name), [term], None).view(value, shape)
        return value

    def ordered(self, term: Term) -> Value:
        """The value of a term, ordered as in the file, under its dimensions where NNAPI takes so many."""
        if term.value is None:
            term.value = value_of(term, term.name)
        if not term.turned:
            return term.value
        if term not in self._ordered:
            self._ordered[term] = turn_back(Node(self, _identity(term.name), [term], None), term.value, term.dims)
        return self._ordered[term]

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
            self.whole.nodes_left -= 1
            need(self.whole.nodes_left >= 0, f"it would be written out to more than {MOST_NODES} nodes", BadDataError)
            self._convert(functions.resolved(proto, outer or {}))

    def _convert(self, proto: onnx.NodeProto) -> None:
        """Apply the node's rule; whatever goes wrong becomes a refusal that names the node."""
        try:
            terms = [self.terms[name] if name else None for name in proto.input]
            while terms and terms[-1] is None:
                terms.pop()
            if any(term is not None and term.is_refused for term in terms):
                self._look_at(proto)
            else:
                self._bind(proto, self._results_of(proto, terms))
        except Refused as refused:
            self._refuse(proto.op_type, _name(proto), refused.reason)
        except KeyError as error:
            self._refuse(proto.op_type, _name(proto), f"nothing writes {error}")
        except NnapiError as error:
            self._refuse(proto.op_type, _name(proto), str(error))
        except INCONSISTENT as error:
            reason = f"its parameters contradict each other ({type(error).__name__}: {error})"
            self._refuse(proto.op_type, _name(proto), reason)
        for name in proto.output if self.whole.refusals else ():  # so that what follows is still looked at
            self.terms.setdefault(name, _placeholder(name))

    def _look_at(self, proto: onnx.NodeProto) -> None:
        """Refuse a node that has no rule, though what it reads was refused before."""
        domain = "" if proto.domain in DEFAULT else proto.domain
        known = (proto.domain, proto.op_type) in self.whole.functions or kind_of(domain, proto.op_type) in HOMES
        schema = None if known else _schema(proto.op_type, self.opsets.get(domain, 1), domain)
        if not known and not (schema and (schema.has_function or schema.has_context_dependent_function)):
            raise Refused(reason_without_rule(proto.op_type, domain))

    def _results_of(self, proto: onnx.NodeProto, terms: Sequence[Term | None]) -> Sequence[Result | None]:
        domain = "" if proto.domain in DEFAULT else proto.domain
        local = self.whole.functions.get((proto.domain, proto.op_type))
        if local is not None:
            return self._inline(functions.local_body(local, proto, self.opsets), terms)
        opset = self.opsets.get(domain, 1)
        schema = _schema(proto.op_type, opset, domain)
        if domain == "":
            known = known_results(self.whole.file, proto, opset, terms)
            if known is not None:
                return known
        rule = rule_for(kind_of(domain, proto.op_type))
        if rule is not None:
            found = rule.function(Node(self, proto, terms, schema))
            return [found] if isinstance(found, Value | Term) else found
        body = functions.body_of(proto, schema, opset, self.opsets, terms)
        if body is None:
            raise Refused(reason_without_rule(proto.op_type, domain))
        return self._inline(body, terms)

    def schema(self, kind: str) -> Any:
        """The schema of an operator of the default domain."""
        return _schema(kind, self.opsets.get("", NEWEST), "")

    def is_read(self, value: Value) -> bool:
        """Whether an operation reads a value already."""
        return any(value in step.inputs for step in self.graph.steps)

    def applied(self, kind: str, terms: Sequence[Term | None], node: Node) -> Term:
        """What the rule of another operator makes of terms, with the attributes of a node."""
        rule = rule_for(kind)
        assert rule is not None
        found = rule.function(Node(self, node.proto, terms, self.schema(kind), kind=kind))
        result = found if isinstance(found, Value | Term) else found[0]
        assert result is not None
        return self._term(node.proto, node.name, result)

    def computed(self, kind: str, terms: Sequence[Term | None], name: str, **attributes: Any) -> Term:
        """What the rule of an operator makes of terms."""
        from onnx import helper

        proto = helper.make_node(kind, [term.name if term else "" for term in terms], [name], **attributes)
        return self.applied(kind, terms, Node(self, proto, terms, self.schema(kind)))

    def inlined(self, graph: onnx.GraphProto, inputs: Sequence[Term]) -> list[Term]:
        """The nodes of a subgraph take the place of the node that has it; gives its outputs."""
        inner = Conversion(self.whole, self.graph, self.opsets, self.depth + 1)
        inner.turned, inner._ordered = self.turned, self._ordered
        inner.terms = dict(self.terms)
        inner.fill(graph, inputs)
        before = len(self.whole.refusals)
        inner.run(graph.node, [each.name for each in graph.output])
        if len(self.whole.refusals) > before:
            first = self.whole.refusals[before]
            del self.whole.refusals[before:]
            raise Refused(f"its subgraph uses {first.operation}: {first.reason}")
        return [inner.terms[each.name] for each in graph.output]

    def fill(self, graph: onnx.GraphProto, inputs: Sequence[Term]) -> None:
        """Take up the constants of a subgraph, and what its inputs are."""
        for name in {name for proto in graph.node for name in proto.output} & set(self.terms):
            del self.terms[name]  # names of a subgraph hide those outside
        for tensor in graph.initializer:
            self._initialise(tensor)
        for info, term in zip(graph.input, inputs, strict=True):
            self.terms[info.name] = term

    def _inline(self, body: functions.Body, terms: Sequence[Term | None]) -> list[Result | None]:
        """The nodes of a function take the node's place."""
        inner = Conversion(self.whole, self.graph, body.opsets, self.depth + 1)
        inner.turned, inner._ordered = self.turned, self._ordered
        given = dict(zip(body.inputs, terms, strict=False))
        inner.terms = {name: term for name, term in given.items() if term is not None}
        absent = {name for name in body.inputs if given.get(name) is None}
        nodes = [_without(node, absent) for node in body.nodes]
        before = len(self.whole.refusals)
        inner.run(nodes, body.outputs, body.attributes)
        if len(self.whole.refusals) > before:
            first = self.whole.refusals[before]
            del self.whole.refusals[before:]
            raise Refused(f"ONNX defines it by {first.operation}: {first.reason}")
        return [inner.terms.get(name) for name in body.outputs]

    def _bind(self, proto: onnx.NodeProto, results: Sequence[Result | None]) -> None:
        for name, result in zip(proto.output, results, strict=False):
            if not name:
                continue
            expressible(result is not None, f"its output {name} is not computed")
            assert result is not None
            need(name not in self.terms, f"{name} is written twice", BadDataError)
            self.terms[name] = self._term(proto, name, result)

    def _term(self, proto: onnx.NodeProto, name: str, result: Result) -> Term:
        """A result as the term of a name."""
        if isinstance(result, Value):
            result = Term(name, 0, result.shape or None, value=result)
        value = result.value
        if value is not None:
            if not result.elem:
                result.elem = self._elem(proto, value)
            if value in self.graph.written and ":" in value.name:
                value.name = name
            shape = result.shape
            if (
                shape is not None
                and not result.turned
                and len(shape) <= HIGHEST_RANK
                and value.shape != (shape or (1,))
            ):
                result.value = Node(self, proto, [], None).view(value, shape or (1,))
        return result

    def _elem(self, proto: onnx.NodeProto, value: Value) -> int:
        """The type of a result in the file: that of an input that NNAPI holds alike, or the usual one."""
        if value.is_quantized and not _is_plain(value.type):
            return FLOAT
        for name in proto.input:
            term = self.terms.get(name)
            if term is not None and CODES.get(term.elem) == value.type.code:
                return term.elem
        return INT64 if value.type.code == CODES[INT64] else ELEMS[OperandCode(value.type.code)]

    def _refuse(self, kind: str, name: str, reason: str) -> None:
        self.whole.refusals.append(Refusal(kind, name, reason))


def _is_plain(type: OperandType) -> bool:
    """Whether 8-bit codes stand for themselves."""
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


def _placeholder(name: str) -> Term:
    return Term(name, FLOAT, None, value=Value(OperandType(code_of(FLOAT, name)), name), is_refused=True)
