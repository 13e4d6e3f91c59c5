"""What a .tflite file says, as plain data: tensors, operators, subgraphs, where constants lie.

Everything is checked while it is read: indices, lengths, lists. BadDataError says what is wrong with the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.importers.tflite import table
from nnapi.model.operand import Array, Shape

IDENTIFIER = b"TFL3"
"""Bytes 4 to 8 of every .tflite file."""

OPERATOR_CODES, SUBGRAPHS, BUFFERS = 6, 8, 12
TENSORS, OPERATORS = 4, 10
QUANTIZATION, SPARSITY = 12, 16
"""Fields of Model, SubGraph and Tensor that hold tables, as the schema numbers them."""

OMITTED = -1
"""Index of an optional input that is not given."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a subgraph. ``shape`` has 0 for extents that are open; ``scales`` is empty where not quantised.

    ``region`` is (offset, length) of the constant's bytes in the file, None for tensors that are computed.
    """

    index: int
    name: str
    type: str
    shape: Shape
    region: tuple[int, int] | None = None
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis: int = 0
    is_variable: bool = False
    is_sparse: bool = False

    def __str__(self) -> str:
        return self.name or f"tensor {self.index}"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: ``kind`` is the name of the built-in operation, or ``CUSTOM:`` and the name of another one."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    record: Any = field(repr=False)

    def options(self, kind: str) -> Any:
        """The parameters as an object of the generated class ``kind``; defaults where the file has others or none."""
        schema = table.schema(kind)
        for name in ("BuiltinOptions", "BuiltinOptions2"):
            number = getattr(table.schema(name), kind, None)
            if number is not None and getattr(self.record, f"{name}Type")() == number:
                found = table.member(self.record, name, schema)
                if found is not None:
                    return found
        return table.empty(schema)

    @property
    def custom_options(self) -> bytes:
        """The parameters of a custom operation, in whatever form it likes."""
        return table.numbers(self.record, "CustomOptions").astype(np.uint8).tobytes()


@dataclass(frozen=True, slots=True)
class Subgraph:
    name: str
    tensors: Sequence[Tensor]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: Sequence[Operator]


class File:
    """A .tflite file; subgraphs are read when they are asked for."""

    def __init__(self, content: memoryview) -> None:
        """Raises BadDataError for what is no .tflite file of version 3, or has no subgraph."""
        self.source = table.Source(content)
        is_tflite = content[4:8] == IDENTIFIER
        need(is_tflite, f"no .tflite file: bytes 4 to 8 are {bytes(content[4:8])!r}, not {IDENTIFIER!r}", BadDataError)
        self._model = table.root(self.source, table.schema("Model"))
        version = self._model.Version()
        need(version == 3, f"the file has schema version {version}, must be 3", BadDataError)
        self.subgraph_count: int = self._model.SubgraphsLength()
        need(self.subgraph_count, "the file has no subgraph", BadDataError)
        self._read: dict[int, Subgraph] = {}

    def subgraph(self, index: int) -> Subgraph:
        """Subgraph number ``index``; 0 is the model itself, control flow refers to the others."""
        need(0 <= index < self.subgraph_count, f"there is no subgraph {index}", BadDataError)
        if index not in self._read:
            self._read[index] = self._subgraph(self._graphs[index])
        return self._read[index]

    def bytes_at(self, region: tuple[int, int]) -> memoryview:
        offset, length = region
        return self.source.content[offset : offset + length]

    @cached_property
    def _graphs(self) -> list[Any]:
        return list(table.children(self._model, SUBGRAPHS, table.schema("SubGraph")))

    @cached_property
    def _regions(self) -> list[tuple[int, int] | None]:
        return [self._region(buffer) for buffer in table.children(self._model, BUFFERS, table.schema("Buffer"))]

    def _region(self, buffer: Any) -> tuple[int, int] | None:
        if buffer.Offset() > 1:  # in files beyond 2 GB constants follow the FlatBuffer
            offset, length = buffer.Offset(), buffer.Size()
        elif length := buffer.DataLength():
            offset = buffer._tab.Vector(buffer._tab.Offset(4))
        else:
            return None
        need(offset + length <= self.source.size, "a constant ends after the file", BadDataError)
        return (offset, length) if length else None

    @cached_property
    def _kinds(self) -> list[str]:
        """Name of each operator code of the file."""
        codes = vars(table.schema("BuiltinOperator"))
        names = {number: name for name, number in codes.items() if isinstance(number, int)}
        kinds = []
        for code in table.children(self._model, OPERATOR_CODES, table.schema("OperatorCode")):
            number = max(code.DeprecatedBuiltinCode(), code.BuiltinCode())
            kind = names.get(number, f"operation {number}")
            kinds.append(f"CUSTOM:{_text(code.CustomCode())}" if kind == "CUSTOM" else kind)
        return kinds

    def _subgraph(self, graph: Any) -> Subgraph:
        records = table.children(graph, TENSORS, table.schema("Tensor"))
        tensors = [self._tensor(index, record) for index, record in enumerate(records)]
        return Subgraph(
            _text(graph.Name()),
            tensors,
            _indices(graph, "Inputs", len(tensors), least=0),
            _indices(graph, "Outputs", len(tensors), least=0),
            list(self._operators(graph, len(tensors))),
        )

    def _operators(self, graph: Any, tensors: int) -> Iterator[Operator]:
        for record in table.children(graph, OPERATORS, table.schema("Operator")):
            code = record.OpcodeIndex()
            need(code < len(self._kinds), f"an operator has code {code}, the file has {len(self._kinds)}", BadDataError)
            inputs, outputs, others = (
                _indices(record, name, tensors) for name in ("Inputs", "Outputs", "Intermediates")
            )
            yield Operator(self._kinds[code], inputs, outputs, others, record)

    def _tensor(self, index: int, record: Any) -> Tensor:
        name = _text(record.Name())
        shape, signature = table.numbers(record, "Shape"), table.numbers(record, "ShapeSignature")
        if len(signature) == len(shape):
            shape = np.maximum(signature, 0)
        need((shape >= 0).all(), f"tensor {name!r} has shape {shape.tolist()}", BadDataError)
        buffer = record.Buffer()
        need(buffer < max(len(self._regions), 1), f"tensor {name!r} lies in buffer {buffer} of none", BadDataError)
        quantization = table.child(record, QUANTIZATION, table.schema("QuantizationParameters"))
        return Tensor(
            index,
            name,
            _TYPES.get(record.Type(), f"type {record.Type()}"),
            tuple(shape.tolist()),
            self._regions[buffer] if self._regions else None,
            tuple(_numbers(quantization, "Scale").tolist()),
            tuple(_numbers(quantization, "ZeroPoint").tolist()),
            quantization.QuantizedDimension() if quantization else 0,
            bool(record.IsVariable()),
            bool(record._tab.Offset(SPARSITY)),
        )


_TYPES = dict(
    enumerate(
        ("FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64", "INT8", "FLOAT64",
         "COMPLEX128", "UINT64", "RESOURCE", "VARIANT", "UINT32", "UINT16", "INT4", "BFLOAT16")
    )
)  # fmt: skip
"""Names of element types by number."""


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def _numbers(record: Any | None, name: str) -> Array:
    return np.zeros(0) if record is None else table.numbers(record, name)


def _indices(record: Any, name: str, count: int, least: int = OMITTED) -> tuple[int, ...]:
    found = table.numbers(record, name)
    legal = bool(((found >= least) & (found < count)).all())
    need(legal, f"{name.lower()} {found.tolist()} of {count} tensors", BadDataError)
    return tuple(found.tolist())
