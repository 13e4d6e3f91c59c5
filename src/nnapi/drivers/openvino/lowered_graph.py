"""The graph of a lowered model. That of the last verdicts is usually compiled next, so it is kept until then."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nnapi.contract.loops import choose_first_turns
from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.computed_indices import CheckedIndices, list_checks
from nnapi.drivers.openvino.context import Bounds
from nnapi.drivers.openvino.lowering import Lowered
from nnapi.errors import NnapiError
from nnapi.lowering.lower import need_supported
from nnapi.model.model import Model
from nnapi.model.operand import OperandType


class LoweredGraph(NamedTuple):
    """OpenVINO's model, and what a compilation needs besides. It has no reference to the model."""

    graph: ov.Model
    outputs: Sequence[OperandType]
    bounds: Sequence[Bounds]
    checks: Sequence[CheckedIndices]
    turns: Sequence[int]
    """The turns that loops may take at first."""
    may_fuse: bool

    @classmethod
    def of(cls, lowered: Lowered) -> "LoweredGraph":
        """Return the graph of a lowered model; OpFailedError with the reasons of all refused operations."""
        need_supported(lowered.verdicts)
        graph = lowered.graph()
        outputs = [lowered.values[index].type for index in lowered.model.outputs]
        turns = [choose_first_turns(*models) for models in lowered.turn_models]
        return cls(graph, outputs, lowered.bounds, list_checks(lowered.computed), turns, lowered.may_fuse)


_asked: WeakKeyDictionary[Model, LoweredGraph] = WeakKeyDictionary()


def keep(lowered: Lowered) -> None:
    """Keep the graph of a model for :func:`take`, instead of that of another model.

    Not kept are the graphs of quantized models, whose weights are floats there: another engine may get the model.
    """
    _asked.clear()
    if lowered.is_quantized or not all(verdict.supported for verdict in lowered.verdicts):
        return
    with suppress(NnapiError, RuntimeError):  # the compilation reports it
        _asked[lowered.model] = LoweredGraph.of(lowered)


def take(model: Model, lower: Callable[[], Lowered]) -> LoweredGraph:
    """Return the graph of a model: the kept one, else that of ``lower``."""
    return _asked.pop(model, None) or LoweredGraph.of(lower())
