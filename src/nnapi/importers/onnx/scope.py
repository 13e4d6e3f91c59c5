"""The interface between a node's rule and the conversion around it: of a file's main graph, a branch or a body."""

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
    """The state of a conversion.

    ``nhwc_images`` are images by the tensors they come from; ``activated`` are values that already include the
    activation after them.
    """

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
        """Return the ONNX schema of an operator of the default domain."""

    def is_read(self, value: Value) -> bool:
        """Whether anything reads the value."""

    def apply_rule(
        self, kind: str, tensors: Sequence[Tensor | None], node: Any, wanted: OperandType | None = None
    ) -> Tensor:
        """Return the result of another operator's rule, applied instead of ``node``, with quantized type ``wanted``."""

    def apply_rules(self, kind: str, tensors: Sequence[Tensor | None], node: Any) -> list[Tensor | None]:
        """Return all results of another operator's rule, applied instead of ``node``."""

    def apply_operator(self, kind: str, tensors: Sequence[Tensor | None], name: str, **attributes: Any) -> Tensor:
        """The result of the rule of an operator, without a node of its own in the file."""

    def inline_graph(self, graph: onnx.GraphProto, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Inline a graph of the file; return its results."""
