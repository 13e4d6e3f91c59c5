"""What a node's rule sees of the conversion around it: a file's main graph, or a branch or body within it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from nnapi.importers.graph import Graph, Value
from nnapi.importers.onnx.fusion import Readers
from nnapi.importers.onnx.import_state import ImportState
from nnapi.importers.onnx.tensors import Tensor
from nnapi.model.operand import OperandType

if TYPE_CHECKING:
    import onnx


class Scope(Protocol):
    """What is known and made so far. ``nhwc_images`` are images by the tensors they come from, ``activated`` are values
    that the activation after them was applied to already."""

    state: ImportState
    graph: Graph
    opsets: dict[str, int]
    depth: int
    tensors: dict[str, Tensor]
    nhwc_images: dict[Tensor, Value]
    activated: set[Value]
    readers: Readers

    def note(self, message: str) -> None:
        """Say something of the whole file, once."""

    def value_in_file_order(self, tensor: Tensor) -> Value:
        """The value of a tensor in the order of dimensions that the file means."""

    def schema(self, kind: str) -> Any:
        """What ONNX declares of an operator of the default domain."""

    def is_read(self, value: Value) -> bool:
        """Whether anything reads the value."""

    def apply_rule(
        self, kind: str, tensors: Sequence[Tensor | None], node: Any, wanted: OperandType | None = None
    ) -> Tensor:
        """The result of another operator's rule, in the place of ``node``, in codes of the type that is ``wanted``."""

    def apply_rules(self, kind: str, tensors: Sequence[Tensor | None], node: Any) -> list[Tensor | None]:
        """All results of another operator's rule, in the place of ``node``."""

    def apply_operator(self, kind: str, tensors: Sequence[Tensor | None], name: str, **attributes: Any) -> Tensor:
        """The result of the rule of an operator, without a node of its own in the file."""

    def inline_graph(self, graph: onnx.GraphProto, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The results of a graph within the file, written out here."""
