"""Rewrite the steps of an import: replace what a pattern matches by one composite operation."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi.errors import NnapiError
from nnapi.importers.graph import Graph, Step, Value
from nnapi.importers.graph_emitter import GraphEmitter
from nnapi.importers.recognition.match import StepMatch, fuses
from nnapi.importers.refusals import Refused
from nnapi.operation_codes import Code
from nnapi.rewriting.pattern import Match
from nnapi.rewriting.rewriter import Rewrite, Rewriter, Rewrites


class Replacement(NamedTuple):
    """The operation whose result is that of the matched steps."""

    code: Code
    inputs: Sequence[Value]


REWRITES = Rewrites()
"""The functions take a :class:`StepRewriter` and the match by name. They return a :class:`Replacement`, or None."""
pattern = REWRITES.pattern


class StepRewriter(Rewriter[Step], GraphEmitter):
    """The rewriting of an import's graph. New steps, which functions emit, are named after the last step replaced."""

    def __init__(self, graph: Graph, outputs: Sequence[Value]) -> None:
        Rewriter.__init__(self, graph.steps, outputs)
        GraphEmitter.__init__(self, graph, "")
        self.match = StepMatch({value: step for value, step in self.flow.makers.items() if not fuses(step)})

    def replace(self, rewrite: Rewrite, last: Step, match: Match) -> list[Step] | None:
        self.name = last.outputs[0].name
        steps, self.graph.steps = self.graph.steps, []
        try:
            wanted = rewrite.replace(self, **match.names)
            is_made = wanted is not None and self._emit_replacement(wanted, last.outputs[0])
            return self.graph.steps if is_made else None
        except (Refused, NnapiError):
            return None
        finally:
            self.graph.steps = steps

    def _emit_replacement(self, wanted: Replacement, out: Value) -> bool:
        """Append the operation; return whether its result has the type of ``out``, which it then writes."""
        fresh = Value(out.type, out.name)
        self.graph.emit(wanted.code, wanted.inputs, [fresh])
        if fresh.type != out.type or fresh.array is not None:
            return False
        self.graph.steps[-1].outputs = [out]
        return True
