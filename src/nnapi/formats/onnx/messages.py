"""The messages of onnx.proto, read from views of the content. Fields have the names that the library ``onnx`` gives.

Importing ``onnx`` takes longer than ONNX Runtime takes to load a small network, and its messages copy the constants.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from nnapi.formats.onnx.wire import DecodeError, Raw, read_fields, read_varints, signed, unpack, write_field

DEEPEST = 100
"""The maximum nesting depth of messages, as in other readers of protocol buffers."""
DEFAULTS = {"i": 0, "f": 0.0, "d": 0.0, "s": "", "b": b""}
"""The values of absent fields, by kind; those of messages are made."""


class Field(NamedTuple):
    """A field. ``kind`` is ``i`` (integer), ``f`` (float), ``d`` (double), ``s`` (text), ``b`` (bytes) or the name of a
    message."""

    number: int
    kind: str
    is_repeated: bool = False


def fields(text: str) -> dict[str, Field]:
    """Parse a table of fields: ``name=number kind``, with ``*`` behind the kind of a repeated field."""
    found = {}
    for row in text.split(", "):
        name, number, kind = row.replace("=", " ").split()
        found[name] = Field(int(number), kind.rstrip("*"), kind.endswith("*"))
    return found


class Message:
    """A message. Each field is decoded at its first access; an absent one has its type's zero."""

    FIELDS: ClassVar[dict[str, Field]] = {}
    KINDS: ClassVar[dict[str, type[Message]]] = {}

    def __init__(self, content: memoryview | bytes = b"", depth: int = 0) -> None:
        if depth > DEEPEST:
            raise DecodeError(f"messages lie more than {DEEPEST} deep in each other")
        self.__dict__.update(_raw=read_fields(memoryview(content)), _set=set(), _depth=depth)

    def __init_subclass__(cls) -> None:
        Message.KINDS[cls.__name__] = cls

    def __getattr__(self, name: str) -> Any:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        raw = self._raw.get(field.number)
        value = self.__dict__[name] = self._decode(field, raw) if raw else self._make_default(field)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self._set.add(name)

    def HasField(self, name: str) -> bool:
        return name in self._set or self.FIELDS[name].number in self._raw

    def ClearField(self, name: str) -> None:
        self.__dict__.pop(name, None)
        self._set.discard(name)
        self._raw.pop(self.FIELDS[name].number, None)

    def WhichOneof(self, group: str) -> str | None:
        """Return the field of a message, other than a text that describes it, that is present."""
        return next((name for name in self.FIELDS if name != "denotation" and self.HasField(name)), None)

    def CopyFrom(self, other: Self) -> None:
        """Become a copy: changes of fields and of lists change only one of the two."""
        own = {name: [*value] if isinstance(value, list) else value for name, value in other.__dict__.items()}
        self.__dict__.clear()
        self.__dict__.update(own, _raw={**other._raw}, _set={*other._set})

    def ParseFromString(self, content: bytes) -> None:
        self.__init__(content)  # type: ignore[misc]  # as the constructor

    def SerializeToString(self) -> bytes:
        parts = []
        for name, field in self.FIELDS.items():
            if name in self.__dict__ and (field.is_repeated or self.HasField(name)):
                value = self.__dict__[name]
                parts += [_encode(field, each) for each in (value if field.is_repeated else [value])]
            elif name not in self.__dict__:
                numbers = (write_field(field.number, _as_bytes(raw)) for raw in self._raw.get(field.number, ()))
                parts += numbers if field.kind not in "fd" else [_encode(field, each) for each in _as_list(self, name)]
        return b"".join(parts)

    def check(self) -> Self:
        """Decode all messages inside; raise DecodeError if one is damaged."""
        for name, field in self.FIELDS.items():
            if field.kind in self.KINDS and field.number in self._raw:
                value = getattr(self, name)
                for each in value if field.is_repeated else [value]:
                    each.check()
        return self

    def _make_default(self, field: Field) -> Any:
        """Return the value of an absent field; most fields are."""
        if field.is_repeated:
            return []
        return DEFAULTS[field.kind] if field.kind in DEFAULTS else self.KINDS[field.kind](b"", self._depth + 1)

    def _decode(self, field: Field, raw: list[Raw]) -> Any:
        kind = field.kind
        if kind == "i":
            values = _read_integers(raw)
            return values if field.is_repeated else values[-1] if values else 0
        if kind in "fd":
            numbers = list(unpack(raw, kind))
            return numbers if field.is_repeated else numbers[-1] if numbers else 0.0
        parts = [_as_view(each) for each in raw]
        if kind == "s":
            texts = [str(each, "utf-8") for each in parts]
            return texts if field.is_repeated else texts[-1]
        if kind == "b":
            return [bytes(each) for each in parts] if field.is_repeated else parts[-1]
        make = self.KINDS[kind]
        if field.is_repeated:
            return [make(each, self._depth + 1) for each in parts]
        return make(parts[0] if len(parts) == 1 else b"".join(parts), self._depth + 1)


def _as_list(message: Message, name: str) -> list[Any]:
    value = getattr(message, name)
    return value if isinstance(value, list) else [value] if message.HasField(name) else []


def _read_integers(raw: list[Raw]) -> list[int]:
    found: list[int] = []
    for each in raw:
        found += [each] if isinstance(each, int) else read_varints(each)
    return [signed(each) for each in found]


def _as_view(raw: Raw) -> memoryview:
    if isinstance(raw, int):
        raise DecodeError("a number is where a text or a message should be")
    return raw


def _as_bytes(raw: Raw) -> int | bytes:
    return raw if isinstance(raw, int) else bytes(raw)


def _encode(field: Field, value: Any) -> bytes:
    if isinstance(value, Message):
        return write_field(field.number, value.SerializeToString())
    if isinstance(value, str):
        return write_field(field.number, value.encode())
    if isinstance(value, bytes | memoryview):
        return write_field(field.number, bytes(value))
    if field.kind == "d":
        return write_field(field.number, struct.pack("<d", value))
    return write_field(field.number, float(value) if field.kind == "f" else int(value))


class OperatorSetIdProto(Message):
    FIELDS = fields("domain=1 s, version=2 i")
    domain: str
    version: int


class StringStringEntryProto(Message):
    FIELDS = fields("key=1 s, value=2 s")
    key: str
    value: str


class TensorProto(Message):
    FIELDS = fields(
        "dims=1 i*, data_type=2 i, float_data=4 f*, int32_data=5 i*, string_data=6 b*, int64_data=7 i*, "
        "name=8 s, doc_string=12 s, raw_data=9 b, external_data=13 StringStringEntryProto*, data_location=14 "
        "i, double_data=10 d*, uint64_data=11 i*, metadata_props=16 StringStringEntryProto*"
    )
    dims: list[int]
    data_type: int
    float_data: list[float]
    int32_data: list[int]
    string_data: list[bytes]
    int64_data: list[int]
    name: str
    doc_string: str
    raw_data: bytes
    external_data: list[StringStringEntryProto]
    data_location: int
    double_data: list[float]
    uint64_data: list[int]
    metadata_props: list[StringStringEntryProto]


class SparseTensorProto(Message):
    FIELDS = fields("values=1 TensorProto, indices=2 TensorProto, dims=3 i*")
    values: TensorProto
    indices: TensorProto
    dims: list[int]


class Dimension(Message):
    FIELDS = fields("dim_value=1 i, dim_param=2 s, denotation=3 s")
    dim_value: int
    dim_param: str
    denotation: str


class TensorShapeProto(Message):
    FIELDS = fields("dim=1 Dimension*")
    dim: list[Dimension]


class Tensor(Message):
    FIELDS = fields("elem_type=1 i, shape=2 TensorShapeProto")
    elem_type: int
    shape: TensorShapeProto


class TypeProto(Message):
    FIELDS = fields(
        "tensor_type=1 Tensor, sequence_type=4 b, map_type=5 b, optional_type=9 b, sparse_tensor_type=8 b, "
        "opaque_type=7 b, denotation=6 s"
    )
    tensor_type: Tensor
    sequence_type: bytes
    map_type: bytes
    optional_type: bytes
    sparse_tensor_type: bytes
    opaque_type: bytes
    denotation: str


class ValueInfoProto(Message):
    FIELDS = fields("name=1 s, type=2 TypeProto, doc_string=3 s, metadata_props=4 StringStringEntryProto*")
    name: str
    type: TypeProto
    doc_string: str
    metadata_props: list[StringStringEntryProto]


class AttributeProto(Message):
    FIELDS = fields(
        "name=1 s, ref_attr_name=21 s, doc_string=13 s, type=20 i, f=2 f, i=3 i, s=4 b, t=5 TensorProto, g=6 "
        "GraphProto, sparse_tensor=22 SparseTensorProto, tp=14 TypeProto, floats=7 f*, ints=8 i*, strings=9 "
        "b*, tensors=10 TensorProto*, graphs=11 GraphProto*"
    )
    name: str
    ref_attr_name: str
    doc_string: str
    type: int
    f: float
    i: int
    s: bytes
    t: TensorProto
    g: GraphProto
    sparse_tensor: SparseTensorProto
    tp: TypeProto
    floats: list[float]
    ints: list[int]
    strings: list[bytes]
    tensors: list[TensorProto]
    graphs: list[GraphProto]


class NodeProto(Message):
    FIELDS = fields(
        "input=1 s*, output=2 s*, name=3 s, op_type=4 s, domain=7 s, overload=8 s, attribute=5 "
        "AttributeProto*, doc_string=6 s, metadata_props=9 StringStringEntryProto*"
    )
    input: list[str]
    output: list[str]
    name: str
    op_type: str
    domain: str
    overload: str
    attribute: list[AttributeProto]
    doc_string: str
    metadata_props: list[StringStringEntryProto]


class GraphProto(Message):
    FIELDS = fields(
        "node=1 NodeProto*, name=2 s, initializer=5 TensorProto*, sparse_initializer=15 SparseTensorProto*, "
        "doc_string=10 s, input=11 ValueInfoProto*, output=12 ValueInfoProto*, value_info=13 ValueInfoProto*, "
        "metadata_props=16 StringStringEntryProto*"
    )
    node: list[NodeProto]
    name: str
    initializer: list[TensorProto]
    sparse_initializer: list[SparseTensorProto]
    doc_string: str
    input: list[ValueInfoProto]
    output: list[ValueInfoProto]
    value_info: list[ValueInfoProto]
    metadata_props: list[StringStringEntryProto]


class FunctionProto(Message):
    FIELDS = fields(
        "name=1 s, input=4 s*, output=5 s*, attribute=6 s*, attribute_proto=11 AttributeProto*, node=7 "
        "NodeProto*, doc_string=8 s, opset_import=9 OperatorSetIdProto*, domain=10 s, overload=13 s, "
        "value_info=12 ValueInfoProto*, metadata_props=14 StringStringEntryProto*"
    )
    name: str
    input: list[str]
    output: list[str]
    attribute: list[str]
    attribute_proto: list[AttributeProto]
    node: list[NodeProto]
    doc_string: str
    opset_import: list[OperatorSetIdProto]
    domain: str
    overload: str
    value_info: list[ValueInfoProto]
    metadata_props: list[StringStringEntryProto]


class ModelProto(Message):
    FIELDS = fields(
        "ir_version=1 i, opset_import=8 OperatorSetIdProto*, producer_name=2 s, producer_version=3 s, "
        "domain=4 s, model_version=5 i, doc_string=6 s, graph=7 GraphProto, metadata_props=14 "
        "StringStringEntryProto*, functions=25 FunctionProto*"
    )
    ir_version: int
    opset_import: list[OperatorSetIdProto]
    producer_name: str
    producer_version: str
    domain: str
    model_version: int
    doc_string: str
    graph: GraphProto
    metadata_props: list[StringStringEntryProto]
    functions: list[FunctionProto]


FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS, SPARSE_TENSOR, SPARSE_TENSORS, TYPE = range(
    1, 14
)
"""Values of AttributeProto.AttributeType."""
MEMBERS = {
    FLOAT: "f",
    INT: "i",
    STRING: "s",
    TENSOR: "t",
    GRAPH: "g",
    FLOATS: "floats",
    INTS: "ints",
    STRINGS: "strings",
    TENSORS: "tensors",
    GRAPHS: "graphs",
    TYPE: "tp",
}


def attribute_value(attribute: AttributeProto) -> Any:
    """Return the value of an attribute; bytes for a text. Raise ValueError for a type that is not read."""
    member = MEMBERS.get(attribute.type)
    if member is None:
        raise ValueError(f"attribute {attribute.name} is of type {attribute.type}")
    value = getattr(attribute, member)
    return bytes(value) if member == "s" else value


def make_attribute(name: str, value: Any) -> AttributeProto:
    """Return an attribute of the type that follows from a Python value."""
    attribute = AttributeProto()
    attribute.name = name
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    first = (value[0] if value else 0) if is_list else value
    kind = FLOAT if isinstance(first, float) else STRING if isinstance(first, str | bytes) else INT
    attribute.type = kind + (FLOATS - FLOAT) * is_list
    encoded = [each.encode() if isinstance(each, str) else each for each in (value if is_list else [value])]
    setattr(attribute, MEMBERS[attribute.type], encoded if is_list else encoded[0])
    return attribute


def make_node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", domain: str = "", **attributes: Any
) -> NodeProto:
    node = NodeProto()
    node.op_type, node.input, node.output, node.name, node.domain = kind, [*inputs], [*outputs], name, domain
    node.attribute = [make_attribute(*each) for each in attributes.items() if each[1] is not None]
    return node
