"""Rewrite the nodes of a graph: replace what a pattern matches by other nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from nnapi.rewriting.dataflow import Dataflow, Node
from nnapi.rewriting.pattern import Kinds, Match, Pattern

N = TypeVar("N", bound=Node)
NONE: Kinds = frozenset()
MOST_MATCHES = 64
"""The largest number of matches that are tried for one node."""


@dataclass(frozen=True)
class Rewrite:
    """A declaration: the expressions that a function replaces, and that function.

    Other nodes or results that read nodes of a match prevent the rewrite, unless these are of the kinds ``shared``.
    Nodes that are still read stay.
    """

    name: str
    forms: tuple[Pattern, ...]
    replace: Callable[..., Any]
    shared: Kinds = NONE


class Rewrites(list[Rewrite]):
    """Declarations, in the order in which they are tried."""

    def pattern(self, *forms: Pattern, shared: Kinds = NONE) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare expressions, the largest first, and the function below as their replacement."""

        def declare(replace: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Rewrite(replace.__name__, forms, replace, shared))
            return replace

        return declare


class Rewriter(Generic[N]):
    """The rewriting of one graph. Values that other nodes or the graph's results need are never lost.

    The function of a declaration takes the last node of the match, and the match by name. It returns the new nodes, or
    None if the match is something else after all.
    """

    def __init__(self, nodes: Sequence[N], results: Sequence[Any]) -> None:
        self.nodes, self.results = nodes, results
        self.flow = Dataflow(nodes, results)
        self.match = Match(self.flow.makers)

    def run(self, rewrites: Sequence[Rewrite]) -> list[N]:
        """Rewrite the nodes from the last to the first, so that the largest expression is replaced; return them all."""
        kind_of = self.match.kind_of
        present = {kind_of(node) for node in self.nodes}
        chosen = [
            (rewrite, form, form.roots)
            for rewrite in rewrites
            for form in rewrite.forms
            if not any(present.isdisjoint(kinds) for kinds in form.needs)
        ]
        replaced: dict[N, Sequence[N]] = {}
        gone: set[N] = set()
        for node in self.nodes[::-1] if chosen else ():
            for rewrite, form, roots in chosen if node not in gone else ():
                found = self._rewrite(node, rewrite, form) if kind_of(node) in roots else None
                if found is not None:
                    replaced[node] = found[0]
                    gone.update(found[1])
                    break
        kept = [new for node in self.nodes for new in replaced.get(node, [node])]
        return self._drop_unread(kept, gone.difference(replaced)) if gone else kept

    def _drop_unread(self, nodes: Sequence[N], matched: Collection[N]) -> list[N]:
        """Return the nodes without those of the matched ones that no other node and no result reads."""
        read, kept = set(self.results), []
        for node in reversed(nodes):
            if node not in matched or not read.isdisjoint(node.outputs):
                read.update(node.inputs)
                kept.append(node)
        return kept[::-1]

    def _rewrite(self, node: N, rewrite: Rewrite, form: Pattern) -> tuple[Sequence[N], Sequence[N]] | None:
        """Return the new nodes and those that they replace; None if the node is not the last of a match."""
        matches = form.find(node.outputs[0], self.match) if len(node.outputs) == 1 else iter(())
        for found in islice(matches, MOST_MATCHES):
            if self._is_closed(found.nodes, node, rewrite.shared):
                new = self.replace(rewrite, node, found)
                if new is not None:
                    return new, found.nodes
        return None

    def _is_closed(self, matched: Sequence[N], last: N, shared: Kinds) -> bool:
        """Return whether only the match reads what its nodes write, except the last and ``shared`` ones."""
        nodes = dict.fromkeys(matched)
        reads = Counter(value for node in nodes for value in node.inputs)
        private = (node for node in nodes if node is not last and self.match.kind_of(node) not in shared)
        return last in nodes and all(
            self.flow.reads[value] == reads[value] for node in private for value in node.outputs
        )

    def replace(self, rewrite: Rewrite, last: N, match: Match) -> Sequence[N] | None:
        return rewrite.replace(last, **match.names)  # type: ignore[no-any-return]
