"""Read a .tflite file as plain data. Indices, lengths and lists are checked; BadDataError names the damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import NamedTuple

from nnapi.errors import BadDataError, need
from nnapi.formats.tflite import IDENTIFIER, schema
from nnapi.formats.tflite.flatbuffer import Record, Source
from nnapi.formats.tflite.operators import OPERATORS, options_table
from nnapi.formats.tflite.sparse import Sparsity, read_sparsity
from nnapi.model.graph import Names, Signature
from nnapi.model.operand import Shape

OMITTED = -1


class Blocks(NamedTuple):
    """Indices of the tensors of scales, each for ``size`` values of a row (a block), and of zero points."""

    scales: int
    zero_points: int
    size: int


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor of a subgraph.

    ``shape`` has 0 for dynamic dimensions. ``scales`` is empty if it is not quantized. ``region`` is (offset, length)
    of a constant's bytes in the file, None for computed tensors.
    """

    index: int
    name: str
    type: str
    shape: Shape
    region: tuple[int, int] | None = None
    scales: Sequence[float] = ()
    zero_points: Sequence[int] = ()
    axis: int = 0
    is_variable: bool = False
    sparsity: Sparsity | None = None
    blocks: Blocks | None = None

    def __str__(self) -> str:
        return self.name or f"tensor {self.index}"


Options = SimpleNamespace


@dataclass(slots=True, eq=False)
class Operator:
    """One operator; ``kind`` is its built-in name, or ``CUSTOM:`` and the custom name."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    record: Record = field(repr=False)

    def options(self) -> Options:
        """Return the options, read by the schema's table; defaults if the file has another table or none."""
        table, fields, record = options_table(self.kind), schema.Operator, self.record
        if table.is_second:
            member, field = record.number(fields.BUILTIN_OPTIONS_2_TYPE, "B"), fields.BUILTIN_OPTIONS_2
        else:
            member, field = record.number(fields.BUILTIN_OPTIONS_TYPE, "B"), fields.BUILTIN_OPTIONS
        found = record.child(field) if member == table.member else None
        if found is None:
            return Options(**{name: field.default for name, field in table.fields.items()})
        return Options(**found.values(table.fields))

    def composite(self) -> tuple[str, bytes]:
        """Return the name of a STABLEHLO_COMPOSITE, and its attributes, a FlexBuffer."""
        fields = schema.StableHLOCompositeOptions
        found = self.record.child(schema.Operator.BUILTIN_OPTIONS_2)
        return ("", b"") if found is None else (found.text(fields.NAME), found.bytes(fields.COMPOSITE_ATTRIBUTES))

    @property
    def custom_options(self) -> bytes:
        return self.record.bytes(schema.Operator.CUSTOM_OPTIONS)


@dataclass(slots=True, eq=False)
class Subgraph:
    name: str
    tensors: Sequence[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: Sequence[Operator]


class File:
    def __init__(self, content: memoryview) -> None:
        """Raises BadDataError for anything but a .tflite file of version 3 with a subgraph."""
        self.content = content
        self.source = Source(content)
        found = bytes(content[4:8])
        need(found == IDENTIFIER, f"not a .tflite file: bytes 4 to 8 are {found!r}, not {IDENTIFIER!r}", BadDataError)
        self._model = self.source.root()
        version = self._model.number(schema.Model.VERSION, "I")
        need(version == 3, f"the file has schema version {version}, must be 3", BadDataError)
        self.subgraph_count = self._model.length(schema.Model.SUBGRAPHS)
        need(self.subgraph_count, "the file has no subgraph", BadDataError)
        self._read: dict[int, Subgraph] = {}

    def subgraph(self, index: int) -> Subgraph:
        need(0 <= index < self.subgraph_count, f"there is no subgraph {index}", BadDataError)
        if index not in self._read:
            self._read[index] = self._subgraph(self._graphs[index])
        return self._read[index]

    def signature(self, index: int) -> Signature | None:
        """Return the first valid signature of a subgraph; None if there is none."""
        return next((each for number, each in self.signatures() if number == index), None)

    def signatures(self) -> Iterator[tuple[int, Signature]]:
        """Yield the valid signatures in the file's order, each with its subgraph's index."""
        fields = schema.SignatureDef
        for record in self._model.children(schema.Model.SIGNATURE_DEFS):
            number = record.number(fields.SUBGRAPH_INDEX, "I")
            if number >= self.subgraph_count:
                continue
            graph = self.subgraph(number)
            inputs = _name_tensors(record, fields.INPUTS, graph.inputs)
            outputs = _name_tensors(record, fields.OUTPUTS, graph.outputs)
            if inputs is not None and outputs is not None:
                yield number, Signature(record.text(fields.SIGNATURE_KEY), inputs, outputs)

    @cached_property
    def _graphs(self) -> list[Record]:
        return list(self._model.children(schema.Model.SUBGRAPHS))

    @cached_property
    def _regions(self) -> list[tuple[int, int] | None]:
        return [self._region(buffer) for buffer in self._model.children(schema.Model.BUFFERS)]

    def _region(self, buffer: Record) -> tuple[int, int] | None:
        fields = schema.Buffer
        external: int = buffer.number(fields.OFFSET, "Q")
        if external > 1:  # in files beyond 2 GB, constants follow the FlatBuffer
            offset, length = external, buffer.number(fields.SIZE, "Q")
            need(offset + length <= self.source.size, "a constant ends after the file, which is cut off", BadDataError)
        else:
            offset, length = buffer.region(fields.DATA) or (0, 0)
        return (offset, length) if length else None

    @cached_property
    def _kinds(self) -> list[str]:
        kinds, fields = [], schema.OperatorCode
        for code in self._model.children(schema.Model.OPERATOR_CODES):
            number = max(code.number(fields.DEPRECATED_BUILTIN_CODE, "b"), code.number(fields.BUILTIN_CODE, "i"))
            known = 0 <= number < len(OPERATORS)
            kind = OPERATORS[number].name if known else f"operation {number}"
            kinds.append(schema.CUSTOM + code.text(fields.CUSTOM_CODE) if kind == "CUSTOM" else kind)
        return kinds

    def _subgraph(self, graph: Record) -> Subgraph:
        fields = schema.SubGraph
        tensors = [self._tensor(index, record) for index, record in enumerate(graph.children(fields.TENSORS))]
        return Subgraph(
            graph.text(fields.NAME),
            tensors,
            _indices(graph, fields.INPUTS, "inputs", len(tensors), least=0),
            _indices(graph, fields.OUTPUTS, "outputs", len(tensors), least=0),
            list(self._operators(graph, len(tensors))),
        )

    def _operators(self, graph: Record, tensors: int) -> Iterator[Operator]:
        fields, kinds = schema.Operator, self._kinds
        for record in graph.children(schema.SubGraph.OPERATORS):
            code = record.number(fields.OPCODE_INDEX, "I")
            if code >= len(kinds):
                raise BadDataError(f"an operator has code {code}, the file has {len(kinds)}")
            inputs = _indices(record, fields.INPUTS, "inputs", tensors)
            outputs = _indices(record, fields.OUTPUTS, "outputs", tensors)
            is_special = record.has(fields.INTERMEDIATES)
            others = _indices(record, fields.INTERMEDIATES, "intermediates", tensors) if is_special else ()
            yield Operator(kinds[code], inputs, outputs, others, record)

    def _tensor(self, index: int, record: Record) -> Tensor:
        fields, regions = schema.Tensor, self._regions
        name = record.text(fields.NAME)
        shape = record.numbers(fields.SHAPE, "i")
        is_special = record.has_any(fields.IS_VARIABLE, fields.SHAPE_SIGNATURE)
        signature = record.numbers(fields.SHAPE_SIGNATURE, "i") if is_special else ()
        if signature and len(signature) == len(shape):
            shape = tuple([dimension if dimension > 0 else 0 for dimension in signature])
        elif shape and min(shape) < 0:
            raise BadDataError(f"tensor {name!r} has shape {list(shape)}")
        buffer = record.number(fields.BUFFER, "I")
        if buffer >= (len(regions) or 1):
            raise BadDataError(f"tensor {name!r} lies in buffer {buffer} of none")
        type, quantization = record.number(fields.TYPE, "b"), record.child(fields.QUANTIZATION)
        tensor = Tensor(
            index,
            name,
            schema.TYPES[type] if 0 <= type < len(schema.TYPES) else f"type {type}",
            shape,
            regions[buffer] if regions else None,
        )
        if quantization is not None:
            tensor.scales = quantization.view(schema.QuantizationParameters.SCALE, "f")
            tensor.zero_points = quantization.view(schema.QuantizationParameters.ZERO_POINT, "q")
            tensor.axis = quantization.number(schema.QuantizationParameters.QUANTIZED_DIMENSION, "i")
            tensor.blocks = _blocks(quantization)
        if is_special:
            tensor.is_variable = record.number(fields.IS_VARIABLE, "?", False)
            found = record.child(fields.SPARSITY)
            tensor.sparsity = None if found is None else read_sparsity(found)
        return tensor


def _name_tensors(record: Record, field: int, ends: Sequence[int]) -> Names | None:
    """Return names of tensors and their positions in ``ends``, a graph's inputs or outputs; None if one is absent."""
    fields = schema.TensorMap
    named = [(each.text(fields.NAME), each.number(fields.TENSOR_INDEX, "I")) for each in record.children(field)]
    if any(index not in ends for _, index in named):
        return None
    return tuple((name, ends.index(index)) for name, index in named)


def _blocks(quantization: Record) -> Blocks | None:
    details, fields = quantization.child(schema.QuantizationParameters.DETAILS), schema.BlockwiseQuantization
    if details is None or quantization.number(schema.QuantizationParameters.DETAILS_TYPE, "B") != schema.BLOCKWISE:
        return None
    return Blocks(*[details.number(field, "i") for field in (fields.SCALES, fields.ZERO_POINTS, fields.BLOCK_SIZE)])


def _indices(record: Record, number: int, name: str, count: int, least: int = OMITTED) -> tuple[int, ...]:
    found = record.numbers(number, "i")
    if found and not (min(found) >= least and max(found) < count):
        raise BadDataError(f"{name} {list(found)} of {count} tensors")
    return found


SUBGRAPHS = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "STABLEHLO_COMPOSITE": ("decomposition_subgraph_index",),
    "CALL": ("subgraph",),
    "CALL_ONCE": ("init_subgraph_index",),
}
CONTROL_FLOW = ("IF", "WHILE")
"""The operators that become references to models; the subgraphs of others are inlined."""


def list_subgraphs(operator: Operator) -> list[int]:
    if operator.kind not in SUBGRAPHS:
        return []
    options = operator.options()
    return [getattr(options, field) for field in SUBGRAPHS[operator.kind]]
