"""Patterns: expressions that match nodes of a graph. Matches are found by backtracking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Kinds: TypeAlias = frozenset[Any]


class Match(NamedTuple):
    """The values and numbers that a pattern's names stand for, and the nodes that it matches.

    Subclasses adapt it to the nodes and values of a graph.
    """

    makers: Mapping[Any, Any]
    names: Mapping[str, Any] = {}
    nodes: tuple[Any, ...] = ()

    def find_maker(self, value: Any) -> Any:
        """Return the node that writes a value; None if a pattern may not match it."""
        return self.makers.get(value)

    @staticmethod
    def kind_of(node: Any) -> Any:
        return node.kind

    @staticmethod
    def is_same(a: Any, b: Any) -> bool:
        """Return whether a name may stand for both."""
        return bool(a == b)

    def through(self, node: Any) -> Match:
        return self._replace(nodes=(*self.nodes, node))

    def bind(self, name: str, found: Any) -> Match | None:
        """Return the match with a name bound, None if the name stands for something else."""
        known = self.names.get(name)
        if known is None:
            return self._replace(names={**self.names, name: found})
        return self if self.is_same(known, found) else None


class Pattern(ABC):
    """A part of an expression."""

    @abstractmethod
    def find(self, value: Any, match: Match) -> Iterator[Match]:
        """Yield the ways in which the pattern is the value."""

    def list_parts(self) -> Sequence[Pattern]:
        return ()

    @property
    def needs(self) -> frozenset[Kinds]:
        """Return sets of operations; nothing matches in a graph that has none of a set."""
        return frozenset().union(*(part.needs for part in self.list_parts()))

    @property
    def roots(self) -> Kinds:
        """Return the operations of which one is the last; none for patterns that are not applied alone."""
        return frozenset()


@dataclass(eq=False)
class Operand(Pattern):
    """Any value; the same name is the same value everywhere in a pattern."""

    name: str
    accepts: Callable[[Any], bool] = lambda value: True

    def find(self, value: Any, match: Match) -> Iterator[Match]:
        found = match.bind(self.name, value) if self.accepts(value) else None
        if found is not None:
            yield found


@dataclass(eq=False)
class Apply(Pattern):
    """The result of one of some operations on these first inputs; ``where`` tests the node, which may have further
    inputs; ``name`` stands for the node; ``output`` is the number of the result, by default any."""

    kinds: Kinds
    inputs: tuple[Pattern, ...]
    where: Callable[[Any], bool] = lambda node: True
    name: str = ""
    output: int | None = None

    def find(self, value: Any, match: Match) -> Iterator[Match]:
        node = match.find_maker(value)
        if node is not None and match.kind_of(node) in self.kinds and self._fits(node, value):
            within = match.bind(self.name, node) if self.name else match
            if within is not None:
                yield from _find_all(self.inputs, node.inputs, within.through(node))

    def _fits(self, node: Any, value: Any) -> bool:
        is_output = self.output is None or list(node.outputs).index(value) == self.output
        return is_output and len(node.inputs) >= len(self.inputs) and self.where(node)

    def list_parts(self) -> Sequence[Pattern]:
        return self.inputs

    @property
    def needs(self) -> frozenset[Kinds]:
        return super().needs | {self.kinds}

    @property
    def roots(self) -> Kinds:
        return self.kinds


def _find_all(patterns: Sequence[Pattern], values: Sequence[Any], match: Match) -> Iterator[Match]:
    if not patterns:
        yield match
        return
    for found in patterns[0].find(values[0], match):
        yield from _find_all(patterns[1:], values[1:], found)


@dataclass(eq=False)
class Either(Pattern):
    """One of several expressions of the same value."""

    forms: tuple[Pattern, ...]

    def find(self, value: Any, match: Match) -> Iterator[Match]:
        for form in self.forms:
            yield from form.find(value, match)

    def list_parts(self) -> Sequence[Pattern]:
        return self.forms

    @property
    def needs(self) -> frozenset[Kinds]:
        return frozenset.intersection(*(form.needs for form in self.forms))

    @property
    def roots(self) -> Kinds:
        return frozenset().union(*(form.roots for form in self.forms))
