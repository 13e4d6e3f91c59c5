"""Recognize what files write as several operations, and engines compute whole.

Each pattern is declared once, beside the composite that replaces it. Only imported graphs are rewritten; models of
C clients and of the Builder never are.
"""

from collections.abc import Collection

from nnapi.importers.graph import Graph, Value
from nnapi.importers.recognition import activation, attention, normalization, unary
from nnapi.importers.recognition.rewriter import REWRITES, Rewriter

__all__ = ["activation", "attention", "normalization", "recognize", "unary"]


def recognize(graph: Graph, outputs: Collection[Value]) -> None:
    """Replace what the patterns match by composites. ``outputs`` are the model's."""
    Rewriter(graph, outputs).run(REWRITES)
