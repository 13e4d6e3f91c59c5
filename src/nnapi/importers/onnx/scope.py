"""What a node's rule sees of the conversion around it: a file's main graph, or a branch or body within it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from nnapi.importers.graph import Graph, Value
from nnapi.importers.onnx.followers import Readers
from nnapi.importers.onnx.shared import Shared
from nnapi.importers.onnx.terms import Term

if TYPE_CHECKING:
    import onnx


class Scope(Protocol):
    """What is known and made so far. ``turned`` are images by the terms they come from, ``rectified`` what has the
    activation that follows already."""

    whole: Shared
    graph: Graph
    opsets: dict[str, int]
    depth: int
    terms: dict[str, Term]
    turned: dict[Term, Value]
    rectified: set[Value]
    readers: Readers

    def note(self, message: str) -> None:
        """Say something of the whole file, once."""

    def ordered(self, term: Term) -> Value:
        """The value of a term in the order of dimensions that the file means."""

    def schema(self, kind: str) -> Any:
        """What ONNX declares of an operator of the default domain."""

    def is_read(self, value: Value) -> bool:
        """Whether anything reads the value."""

    def applied(self, kind: str, terms: Sequence[Term | None], node: Any) -> Term:
        """The result of another operator's rule, in the place of ``node``."""

    def computed(self, kind: str, terms: Sequence[Term | None], name: str, **attributes: Any) -> Term:
        """The result of the rule of an operator, without a node of its own in the file."""

    def inlined(self, graph: onnx.GraphProto, inputs: Sequence[Term]) -> list[Term]:
        """The results of a graph within the file, written out here."""
