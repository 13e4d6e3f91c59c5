"""The state that the nodes of one graph share during the conversion: of a main graph, a branch or a body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from nnapi.importers.graph import Graph, Value
from nnapi.importers.onnx.fusion import Readers
from nnapi.importers.onnx.import_state import ImportState
from nnapi.importers.onnx.tensors import Tensor
from nnapi.importers.refusals import Refusal, Refused


class Scope:
    """The tensors of a graph by their names, and the graph of NNAPI's operations that they are converted to.

    ``depth`` is how many functions and graphs lie around it. ``nhwc_images`` and ``in_file_order`` are the values of
    tensors in the other order of axes, by the tensors they come from; ``activated`` are values that already include the
    activation after them.
    """

    def __init__(self, state: ImportState, graph: Graph, opsets: dict[str, int], depth: int = 0) -> None:
        self.state, self.graph, self.opsets, self.depth = state, graph, opsets, depth
        self.tensors: dict[str, Tensor] = {}
        self.nhwc_images: dict[Tensor, Value] = {}
        self.in_file_order: dict[Tensor, Value] = {}
        self.activated: set[Value] = set()
        self.readers = Readers([], [])

    def note(self, message: str) -> None:
        """Say something of the whole file, once."""
        self.state.notes[message] = None

    @contextmanager
    def refusing(self, kind: str, name: str) -> Iterator[None]:
        """Record what is refused within."""
        try:
            yield
        except Refused as refused:
            self.state.refusals += [Refusal(kind, name, reason) for reason in refused.reasons]

    def schema(self, kind: str, domain: str = "") -> Any:
        """Return the ONNX schema of an operator, None where there is none."""
        return _find_schema(kind, self.opsets.get(domain, 1), domain)

    def is_read(self, value: Value) -> bool:
        """Return whether an operation reads the value already."""
        return any(value in step.inputs for step in self.graph.steps)

    def find(self, names: Sequence[str]) -> list[Tensor | None]:
        """The tensors of a node's inputs, None for those not given; those at the end are left out."""
        tensors = [self.tensors[name] if name else None for name in names]
        while tensors and tensors[-1] is None:
            tensors.pop()
        return tensors


@cache
def _find_schema(kind: str, opset: int, domain: str) -> Any:
    from onnx import defs

    try:
        return defs.get_schema(kind, opset, domain)
    except defs.SchemaError:
        return None
