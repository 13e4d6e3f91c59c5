"""A small writer of .tflite files, for tests and benchmarks: tensors, operators, subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import flatbuffers
import numpy as np
import tflite

DTYPES = {
    "FLOAT32": np.float32,
    "FLOAT16": np.float16,
    "INT32": np.int32,
    "UINT8": np.uint8,
    "INT64": np.int64,
    "COMPLEX64": np.complex64,
    "UINT32": np.uint32,
    "BOOL": np.bool_,
    "INT16": np.int16,
    "INT8": np.int8,
    "FLOAT64": np.float64,
    "STRING": np.uint8,
    "INT4": np.uint8,
    "RESOURCE": np.uint8,
}

BLOCKWISE = 2
"""The number of BlockwiseQuantization among the details of a quantization."""

VERSIONS = {"BROADCAST_TO": 2}
"""Of operations that LiteRT does not know in version 1."""


@dataclass(frozen=True)
class T:
    """A tensor: a constant when ``data`` is given. ``scale`` is one number, or one for each channel along ``axis``;
    ``blocks`` are the tensors of scales and zero points, by their indices, and how many codes a scale is for.
    ``sparsity`` is the order of axes, those that are cut into blocks, and for each level how many positions it has, or
    segments and positions."""

    type: str
    shape: tuple[int, ...] = ()
    scale: Any = None
    zero_point: Any = 0
    data: Any = None
    axis: int = 0
    name: str = ""
    signature: tuple[int, ...] | None = None
    variable: bool = False
    blocks: tuple[int, int, int] | None = None
    sparsity: tuple[list[int], list[int], list[int | tuple[list[int], list[int]]]] | None = None

    def of(self, data: Any) -> T:
        """The same tensor as a constant."""
        return replace(self, data=data)

    @property
    def array(self) -> np.ndarray[Any, Any]:
        return np.asarray(self.data, DTYPES[self.type])


def f32(*shape: int) -> T:
    return T("FLOAT32", shape)


def u8(*shape: int, scale: Any = 0.05, zero_point: int = 120) -> T:
    return T("UINT8", shape, scale, zero_point)


def s8(*shape: int, scale: Any = 0.05, zero_point: int = -3, axis: int = 0) -> T:
    return T("INT8", shape, scale, zero_point, axis=axis)


def i32(*shape: int) -> T:
    return T("INT32", shape)


def flags(*shape: int) -> T:
    return T("BOOL", shape)


def const(values: Any, type: str = "INT32") -> T:
    array: np.ndarray[Any, Any] = np.asarray(values, DTYPES[type])
    return T(type, array.shape, data=array)


@dataclass
class Graph:
    """A subgraph in the making; tensors that are added twice (the same object) are one."""

    tensors: list[T] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    signature: str = ""
    """A name under which the file offers the subgraph, with the names of its tensors."""

    def add(self, tensor: T | None) -> int:
        if tensor is None:
            return -1
        for index, known in enumerate(self.tensors):
            if known is tensor:
                return index
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def operator(
        self,
        kind: str,
        inputs: Sequence[T | None],
        outputs: Sequence[T],
        options: str | None = None,
        custom: bytes | None = None,
        intermediates: Sequence[T] = (),
        **fields: Any,
    ) -> Graph:
        """Append an operator; ``kind`` is a built-in name or ``CUSTOM:`` and another."""
        self.operators.append(
            {
                "kind": kind,
                "inputs": [self.add(tensor) for tensor in inputs],
                "outputs": [self.add(tensor) for tensor in outputs],
                "intermediates": [self.add(tensor) for tensor in intermediates],
                "options": (options, fields),
                "custom": custom,
            }
        )
        return self

    def between(self, inputs: Sequence[T], outputs: Sequence[T]) -> Graph:
        """Name the tensors that come in and go out."""
        self.inputs, self.outputs = [self.add(tensor) for tensor in inputs], [self.add(tensor) for tensor in outputs]
        return self


def write(*graphs: Graph, metadata: bytes | None = None) -> bytes:
    """The file of these subgraphs, with what it says of itself in a buffer of its own."""
    b = flatbuffers.Builder(1024)
    kinds = sorted({operator["kind"] for graph in graphs for operator in graph.operators})
    constants = [tensor for graph in graphs for tensor in graph.tensors if tensor.data is not None]
    buffers = [_buffer(b, None)] + [_buffer(b, tensor) for tensor in constants]
    notes = None
    if metadata is not None:
        data, name = b.CreateByteVector(metadata), b.CreateString("TFLITE_METADATA")
        buffers.append(_table(b, "Buffer", Data=data))
        notes = _tables(b, [_table(b, "Metadata", Name=name, Buffer=len(buffers) - 1)])
    subgraphs = _tables(b, [_subgraph(b, graph, kinds, constants) for graph in graphs])
    codes = _tables(b, [_code(b, kind) for kind in kinds])
    stored = _tables(b, buffers)
    named = [_signature(b, graph, index) for index, graph in enumerate(graphs) if graph.signature]
    signatures = _tables(b, named) if named else None
    parts = {"OperatorCodes": codes, "Subgraphs": subgraphs, "Buffers": stored, "SignatureDefs": signatures}
    model = _table(b, "Model", Version=3, Metadata=notes, **parts)
    b.Finish(model, b"TFL3")
    return bytes(b.Output())


def _table(b: flatbuffers.Builder, kind: str, **fields: Any) -> int:
    getattr(tflite, f"{kind}Start")(b)
    for name, value in fields.items():
        if value is not None:
            getattr(tflite, f"{kind}Add{name}")(b, value)
    return int(getattr(tflite, f"{kind}End")(b))


def _tables(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _vector(b: flatbuffers.Builder, values: Any, dtype: Any) -> int:
    return int(b.CreateNumpyVector(np.asarray(values, dtype).reshape(-1)))


def _buffer(b: flatbuffers.Builder, tensor: T | None) -> int:
    data = None
    if tensor is not None:
        raw = np.frombuffer(tensor.array.tobytes(), np.uint8)
        b.StartVector(1, len(raw), 16)
        b.head -= len(raw)
        b.Bytes[b.head : b.head + len(raw)] = raw.tobytes()
        data = b.EndVector()
    return _table(b, "Buffer", Data=data)


def _code(b: flatbuffers.Builder, kind: str) -> int:
    custom = b.CreateString(kind.removeprefix("CUSTOM:")) if kind.startswith("CUSTOM:") else None
    number = tflite.BuiltinOperator.CUSTOM if custom is not None else getattr(tflite.BuiltinOperator, kind)
    return _table(
        b,
        "OperatorCode",
        DeprecatedBuiltinCode=min(number, 127),
        BuiltinCode=number,
        CustomCode=custom,
        Version=VERSIONS.get(kind, 1),
    )


def _subgraph(b: flatbuffers.Builder, graph: Graph, kinds: Sequence[str], constants: Sequence[T]) -> int:
    tensors = []
    for index, tensor in enumerate(graph.tensors):
        buffer = next((i + 1 for i, known in enumerate(constants) if known is tensor), 0)
        tensors.append(_tensor(b, tensor, tensor.name or f"t{index}", buffer))
    operators = [_operator(b, operator, kinds) for operator in graph.operators]
    listed, run = _tables(b, tensors), _tables(b, operators)
    inputs, outputs = _vector(b, graph.inputs, np.int32), _vector(b, graph.outputs, np.int32)
    return _table(b, "SubGraph", Tensors=listed, Inputs=inputs, Outputs=outputs, Operators=run)


def _signature(b: flatbuffers.Builder, graph: Graph, index: int) -> int:
    key = b.CreateString(graph.signature)
    inputs, outputs = (
        _tables(b, [_table(b, "TensorMap", Name=b.CreateString(graph.tensors[i].name), TensorIndex=i) for i in indices])
        for indices in (graph.inputs, graph.outputs)
    )
    return _table(b, "SignatureDef", Inputs=inputs, Outputs=outputs, SignatureKey=key, SubgraphIndex=index)


def _tensor(b: flatbuffers.Builder, tensor: T, name: str, buffer: int) -> int:
    text, shape = b.CreateString(name), _vector(b, tensor.shape, np.int32)
    signature = None if tensor.signature is None else _vector(b, tensor.signature, np.int32)
    quantization = None
    if tensor.scale is not None:
        scales = np.atleast_1d(np.asarray(tensor.scale, np.float32))
        points = np.broadcast_to(np.asarray(tensor.zero_point, np.int64), scales.shape)
        lists = {"Scale": _vector(b, scales, np.float32), "ZeroPoint": _vector(b, points, np.int64)}
        quantization = _table(b, "QuantizationParameters", **lists, QuantizedDimension=tensor.axis)
    elif tensor.blocks is not None:
        details = _blocks(b, tensor.blocks)
        quantization = _table(b, "QuantizationParameters", DetailsType=BLOCKWISE, Details=details)
    type = getattr(tflite.TensorType, tensor.type)
    sparsity = None if tensor.sparsity is None else _sparsity(b, *tensor.sparsity)
    return _table(
        b,
        "Tensor",
        Shape=shape,
        Type=type,
        Buffer=buffer,
        Name=text,
        Quantization=quantization,
        IsVariable=tensor.variable,
        ShapeSignature=signature,
        Sparsity=sparsity,
    )


def _sparsity(b: flatbuffers.Builder, order: list[int], blocked: list[int], levels: Sequence[Any]) -> int:
    """Segments as 16 bits, positions as 8."""
    tables = []
    for level in levels:
        if isinstance(level, int):
            tables.append(_table(b, "DimensionMetadata", DenseSize=level))
            continue
        segments, positions = (_vector(b, values, type) for values, type in zip(level, ("<u2", "u1"), strict=True))
        tables.append(
            _table(
                b,
                "DimensionMetadata",
                Format=1,
                ArraySegmentsType=2,
                ArraySegments=_table(b, "Uint16Vector", Values=segments),
                ArrayIndicesType=3,
                ArrayIndices=_table(b, "Uint8Vector", Values=positions),
            )
        )
    metadata = _tables(b, tables)
    lists = {"TraversalOrder": _vector(b, order, np.int32), "BlockMap": _vector(b, blocked, np.int32)}
    return _table(b, "SparsityParameters", **lists, DimMetadata=metadata)


def _blocks(b: flatbuffers.Builder, numbers: tuple[int, int, int]) -> int:
    """A BlockwiseQuantization, which the published schema does not have yet."""
    b.StartObject(len(numbers))
    for slot, number in enumerate(numbers):
        b.PrependInt32Slot(slot, number, 0)
    return int(b.EndObject())


def _operator(b: flatbuffers.Builder, operator: dict[str, Any], kinds: Sequence[str]) -> int:
    kind, fields = operator["options"]
    options = {}
    if kind is not None:
        kinds_of = {True: np.float32, False: np.int64 if kind.startswith("Stablehlo") else np.int32}
        vectors = {
            name: _vector(b, value, kinds_of[isinstance(value[0], float)] if value else np.int32)
            for name, value in fields.items()
            if isinstance(value, list)
        }
        vectors |= {name: b.CreateString(value) for name, value in fields.items() if isinstance(value, str)}
        vectors |= {
            name: _vector(b, np.frombuffer(value, np.uint8), np.uint8)
            for name, value in fields.items()
            if isinstance(value, bytes)
        }
        second = hasattr(tflite.BuiltinOptions2, kind)
        place, names = (
            ("BuiltinOptions2", tflite.BuiltinOptions2) if second else ("BuiltinOptions", tflite.BuiltinOptions)
        )
        options = {place: _table(b, kind, **{**fields, **vectors}), f"{place}Type": getattr(names, kind)}
    lists = {
        name: _vector(b, operator[name.lower()], np.int32)
        for name in ("Inputs", "Outputs", "Intermediates")
        if operator[name.lower()]
    }
    custom = None if operator["custom"] is None else _vector(b, np.frombuffer(operator["custom"], np.uint8), np.uint8)
    number = kinds.index(operator["kind"])
    return _table(b, "Operator", OpcodeIndex=number, **lists, **options, CustomOptions=custom)


def single(
    kind: str, inputs: Sequence[T | None], outputs: T | Sequence[T], options: str | None = None, **fields: Any
) -> bytes:
    """The file of one operator; inputs without data are the model's."""
    outputs = [outputs] if isinstance(outputs, T) else list(outputs)
    open_inputs = [tensor for tensor in inputs if tensor is not None and tensor.data is None and not tensor.variable]
    return write(Graph().operator(kind, inputs, outputs, options, **fields).between(open_inputs, outputs))
