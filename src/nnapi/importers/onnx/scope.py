"""The state that the nodes of one graph share during the conversion."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from nnapi.importers.graph import Allowance, Value
from nnapi.importers.input_shapes import Shapes
from nnapi.importers.onnx.file_graph import FileGraph
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.schemas import Schema, find_schema
from nnapi.importers.onnx.tensors import CODES, NAMES, NARROWED, WIDENED, OnnxTensor, Values
from nnapi.importers.refusals import Refusal, Refused
from nnapi.importers.symbolic_model import InputSymbols
from nnapi.model.operand import type_name

MOST_NODES = 200_000
"""The largest number of nodes after functions and loops are inlined."""
MADE_UP = 256 << 20
"""Bytes of constants that may be created. Untrained networks have large ConstantOfShape weights."""


class ImportState:
    def __init__(
        self, file: File, name: str, shapes: Shapes, values: Values, symbols: InputSymbols | None = None
    ) -> None:
        self.file = file
        self.name = name
        self.shapes = shapes
        self.values = values
        self.symbols = symbols
        """The symbols of dynamic dimensions; None if each import is for one set of shapes."""
        self.refusals: list[Refusal] = []
        self.allowance = Allowance(file.size, MADE_UP)
        self.notes: dict[str, None] = {}
        self.functions = file.content.functions
        self.nodes_left = MOST_NODES
        self.numbers = count()
        """Numbers that distinguish the names of composed nodes."""
        self.sizes_depend_on_data = True
        """Whether no input of the model has a dynamic dimension, so that all dynamic dimensions depend on data."""
        self.empty: set[Value] = set()
        """The model's inputs without elements."""
        self.dynamic_range = False
        """Whether the file has products that quantize their inputs at each run."""


class Scope:
    """The tensors of an ONNX graph by name, and the NNAPI graph under construction.

    ``nhwc_images`` and ``in_file_order`` cache transposed values. ``activated`` holds values that already include the
    activation that reads them.
    """

    def __init__(self, state: ImportState, graph: OnnxGraph, opsets: dict[str, int], depth: int = 0) -> None:
        self.state, self.graph, self.opsets, self.depth = state, graph, opsets, depth
        self.tensors: dict[str, OnnxTensor] = {}
        self.nhwc_images: dict[OnnxTensor, Value] = {}
        self.in_file_order: dict[OnnxTensor, Value] = {}
        self.activated: set[Value] = set()
        self.source = FileGraph([], [], [])

    def note(self, message: str) -> None:
        self.state.notes[message] = None

    def note_type(self, elem: int) -> None:
        """Record a note if NNAPI has another type than a model's input or output."""
        if elem in (*NARROWED, *WIDENED):
            self.note(f"{NAMES[elem].lower()} tensors are {type_name(CODES[elem])}")

    @contextmanager
    def refusing(self, kind: str, name: str) -> Iterator[None]:
        try:
            yield
        except Refused as refused:
            self.state.refusals += [Refusal(kind, name, reason) for reason in refused.reasons]

    def schema(self, kind: str, domain: str = "") -> Schema | None:
        return find_schema(kind, self.opsets.get(domain, 1), domain)

    def is_read(self, value: Value) -> bool:
        return any(value in step.inputs for step in self.graph.steps)

    def find(self, names: Sequence[str]) -> list[OnnxTensor | None]:
        """Return the tensors of these names, None for omitted inputs; omitted inputs at the end are dropped."""
        tensors = [self.tensors[name] if name else None for name in names]
        while tensors and tensors[-1] is None:
            tensors.pop()
        return tensors
