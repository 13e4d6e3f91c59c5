"""A graph in the memory of LiteRT's interpreter, with the interface of a file for the importer. Constants are not
copied: the "file" is the memory from the first constant to the last."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nnapi.capi._bridge import ffi
from nnapi.delegate.parameters import can_read_parameters, read_parameters, size_of
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.formats.tflite.flatbuffer import Record, Source
from nnapi.formats.tflite.operators import OPERATORS, options_table, row_of
from nnapi.formats.tflite.reader import Blocks, File, Operator, Options, Subgraph, Tensor
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.tensors import operand_type
from nnapi.model.graph import Signature
from nnapi.model.operand import Shape

TYPES = (
    *("NONE", "FLOAT32", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64", "INT8", "FLOAT16"),
    *("FLOAT64", "COMPLEX128", "UINT64", "RESOURCE", "VARIANT", "UINT32", "UINT16", "INT4", "BFLOAT16"),
)
"""Names of element types by TfLiteType; the numbers in files differ."""
CONSTANT = 1
"""kTfLiteMmapRo, the allocation type of tensors that lie in the file."""
AFFINE, BLOCKWISE = 1, 2
NO_RECORD = Record(Source(memoryview(b"")), 0, ())


@dataclass(slots=True, eq=False)
class DelegateNode(Operator):
    """A node of an interpreter: its number, and its parameters, which live as long as the interpreter."""

    number: int = 0
    parameters: Any = None
    custom: tuple[Any, int] = (None, 0)
    is_delegated: bool = False

    def options(self) -> Options:
        expressible(can_read_parameters(self.kind), "a delegate is not told its parameters")
        fields = options_table(self.kind).fields
        if not fields or not self.parameters:
            return Options(**{name: each.default for name, each in fields.items()})
        return read_parameters(self.kind, ffi.buffer(self.parameters, size_of(self.kind)))

    @property
    def custom_options(self) -> bytes:
        return bytes(ffi.buffer(*self.custom))


class LiteRtGraph(File):
    """A graph of an interpreter, read like a file with one subgraph. Valid until the interpreter is freed."""

    def __init__(self, context: Any, numbers: Sequence[int]) -> None:
        """``numbers`` are those of the nodes. ``left`` maps nodes that the delegate cannot claim to the reason."""
        self._context = context
        self.subgraph_count = 1
        self.nodes = [_read_node(context, number) for number in numbers]
        given = [context.tensors[index] for index in range(context.tensors_size)]
        constants = [each for each in given if _is_constant(each)]
        places = [_address(each) for each in constants]
        first = min(places, default=0)
        last = max((place + each.bytes for place, each in zip(places, constants, strict=True)), default=0)
        self.content = memoryview(ffi.buffer(ffi.cast("char*", first), last - first)).toreadonly()
        self.source = Source(self.content)
        self.source.size = sum(each.bytes for each in constants)
        self.tensors = [_read_tensor(index, each, first) for index, each in enumerate(given)]
        self.left = {node.number: reason for node in self.nodes for reason in self._find_foreign(node)}
        self._part = Subgraph("", self.tensors, (), (), [])

    def select(self, numbers: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Select nodes for :meth:`subgraph`. ``inputs`` are all tensors that the nodes read but do not write."""
        wanted = set(numbers)
        self._part = Subgraph(
            "",
            self.tensors,
            tuple(index for index in dict.fromkeys(inputs) if index >= 0 and self.is_given(index)),
            tuple(outputs),
            [node for node in self.nodes if node.number in wanted],
        )

    def resize(self, shapes: Mapping[int, Shape]) -> None:
        """Set the shapes of tensors by index. All other computed tensors get dynamic shapes."""
        for index, tensor in enumerate(self.tensors):
            if not tensor.region and not tensor.is_variable:
                tensor.shape = shapes.get(index, (0,) * len(tensor.shape))

    def list_nodes(self, operators: Sequence[Operator]) -> list[DelegateNode]:
        wanted = {id(operator) for operator in operators}
        return [node for node in self.nodes if id(node) in wanted]

    def uses_outside(self, tensors: Sequence[int], numbers: Sequence[int]) -> bool:
        """Return whether nodes other than ``numbers`` read or write one of the tensors."""
        others = (node for node in self.nodes if node.number not in numbers)
        return not set(tensors).isdisjoint(index for node in others for index in (*node.inputs, *node.outputs))

    def is_given(self, index: int) -> bool:
        """Return whether a tensor that no node writes is an input: neither a constant nor a state."""
        tensor, given = self.tensors[index], self._context.tensors[index]
        return not (tensor.region or tensor.is_variable or given.allocation_type == CONSTANT)

    def subgraph(self, index: int) -> Subgraph:
        need(index == 0, f"subgraph {index} does not exist", BadDataError)
        return self._part

    def signature(self, index: int) -> Signature | None:
        return None

    def _find_foreign(self, node: DelegateNode) -> Iterator[str]:
        if node.is_delegated:
            yield "it is another delegate's"
        if row_of(node.kind).subgraphs:
            yield "it runs other graphs, which are delegated by themselves"
        for index in (*node.inputs, *node.outputs):
            if index < 0 or self.tensors[index].region:
                continue
            tensor, given = self.tensors[index], self._context.tensors[index]
            if 0 in tensor.shape and given.allocation_type != CONSTANT:
                yield f"{tensor} has no elements"
            try:
                operand_type(tensor)
            except (Refused, NnapiError) as error:
                yield str(error)


def _read_node(context: Any, number: int) -> DelegateNode:
    places = ffi.new("TfLiteNode**"), ffi.new("TfLiteRegistration**")
    need(not context.GetNodeAndRegistration(context, number, *places), f"LiteRT has no node {number}", BadDataError)
    node, registration = (place[0] for place in places)
    code = registration.builtin_code
    kind = OPERATORS[code].name if 0 <= code < len(OPERATORS) else f"operation {code}"
    if kind == "CUSTOM":
        kind += f":{_text(registration.custom_name)}"
    inputs, outputs, others = map(list_integers, (node.inputs, node.outputs, node.intermediates))
    custom = node.custom_initial_data, node.custom_initial_data_size
    return DelegateNode(
        kind, inputs, outputs, others, NO_RECORD, number, node.builtin_data, custom, bool(node.delegate)
    )


def _read_tensor(index: int, given: Any, first: int) -> Tensor:
    known = 0 <= given.type < len(TYPES)
    tensor = Tensor(
        index,
        _text(given.name),
        TYPES[given.type] if known else f"type {given.type}",
        list_integers(given.dims),
        (_address(given) - first, given.bytes) if _is_constant(given) else None,
        is_variable=given.is_variable,
    )
    if given.sparsity:
        tensor.type = f"sparse {tensor.type}"
    quantization = given.quantization
    if quantization.type == AFFINE and quantization.params:
        affine = ffi.cast("TfLiteAffineQuantization*", quantization.params)
        if affine.scale:
            tensor.scales = tuple(ffi.unpack(affine.scale.data, affine.scale.size))
            tensor.zero_points = list_integers(affine.zero_point)
            tensor.axis = affine.quantized_dimension
    elif quantization.type == BLOCKWISE and quantization.params:
        blocks = ffi.cast("TfLiteBlockwiseQuantization*", quantization.params)
        tensor.blocks = Blocks(blocks.scale, blocks.zero_point, blocks.blocksize)
    return tensor


def _is_constant(given: Any) -> bool:
    return bool(given.allocation_type == CONSTANT and given.bytes and given.data)


def _address(given: Any) -> int:
    return int(ffi.cast("uintptr_t", given.data))


def _text(pointer: Any) -> str:
    return bytes(ffi.string(pointer)).decode(errors="replace") if pointer else ""


def list_integers(array: Any) -> tuple[int, ...]:
    """Return the elements of a TfLiteIntArray; none for a null pointer."""
    return tuple(ffi.unpack(array.data, array.size)) if array else ()
