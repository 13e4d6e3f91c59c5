"""Recognize what files write as several operations, and engines compute whole.

Each pattern is declared once, beside the composite that replaces it. Only imported graphs are rewritten; models of
C clients and of the Builder never are.
"""

from collections.abc import Sequence

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Graph, Value
from nnapi.operation_codes import CompositeCode

ANCHORS: tuple[frozenset[int], ...] = (
    frozenset({CompositeCode.ERF}),
    frozenset({O.TANH}),
    frozenset({O.SQRT}),
    frozenset({O.RSQRT}),
    frozenset({O.POW}),
    frozenset({O.SOFTMAX, O.BATCH_MATMUL}),
    frozenset({O.CONCATENATION}),
    frozenset({O.LOG, O.EXP}),
    frozenset({O.FLOOR, O.SELECT}),
    frozenset({O.GREATER, O.SELECT}),
)
"""A graph without all operations of any of these sets has no pattern, and needs none of their modules."""


def recognize(graph: Graph, outputs: Sequence[Value]) -> None:
    """Replace what the patterns match by composites. ``outputs`` are the model's."""
    present = {step.code for step in graph.steps}
    if not any(anchors <= present for anchors in ANCHORS):
        return
    from nnapi.importers.recognition.patterns import REWRITES  # on demand: most networks of pictures have no pattern
    from nnapi.importers.recognition.rewriter import StepRewriter

    graph.steps[:] = StepRewriter(graph, outputs).run(REWRITES)
