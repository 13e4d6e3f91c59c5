"""Rewrite the steps of a graph: replace what a pattern matches by one composite operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from nnapi.errors import NnapiError
from nnapi.importers.emitter import Emitter
from nnapi.importers.graph import Graph, Step, Value
from nnapi.importers.recognition.match import Makers, Match
from nnapi.importers.recognition.pattern import Pattern
from nnapi.importers.refusals import Refused
from nnapi.operation_codes import Code


class Replacement(NamedTuple):
    """The operation whose result is that of the matched steps."""

    code: Code
    inputs: Sequence[Value]


Replace = Callable[..., Replacement | None]
"""Takes a :class:`Rewriter` and the match by name. It returns None if the match is something else after all."""


@dataclass(frozen=True)
class Rewrite:
    """A declaration: the expressions that one operation replaces, and the function that returns that operation."""

    name: str
    forms: tuple[Pattern, ...]
    replace: Replace


REWRITES: list[Rewrite] = []
MOST_MATCHES = 64
"""The largest number of matches that are tried for one step."""


def pattern(*forms: Pattern) -> Callable[[Replace], Replace]:
    """Declare expressions, the largest first, and the function below as their replacement."""

    def declare(replace: Replace) -> Replace:
        REWRITES.append(Rewrite(replace.__name__, forms, replace))
        return replace

    return declare


class Rewriter(Emitter):
    """The rewriting of one graph. Values that other steps or the model's outputs need are never lost."""

    def __init__(self, graph: Graph, outputs: Collection[Value]) -> None:
        super().__init__(graph, "")
        self.makers = Makers(graph.steps)
        self.counts = Counter(value for step in graph.steps for value in step.inputs)
        self.counts.update(outputs)

    def run(self, rewrites: Sequence[Rewrite]) -> None:
        """Apply rewrites to the steps from the last to the first, so that the largest expression is replaced."""
        present = {step.code for step in self.graph.steps}
        chosen = [
            (rewrite, form, form.roots)
            for rewrite in rewrites
            for form in rewrite.forms
            if not any(present.isdisjoint(codes) for codes in form.needs)
        ]
        if not chosen:
            return
        replaced: dict[Step, list[Step]] = {}
        gone: set[Step] = set()
        for step in self.graph.steps[::-1]:
            for rewrite, form, roots in chosen if step not in gone else ():
                found = self._rewrite(step, rewrite, form) if step.code in roots else None
                if found is not None:
                    replaced[step] = found[0]
                    gone.update(found[1])
                    break
        self.graph.steps[:] = [new for step in self.graph.steps for new in replaced.get(step, [step])]

    def _rewrite(self, step: Step, rewrite: Rewrite, form: Pattern) -> tuple[list[Step], Sequence[Step]] | None:
        """Return the new steps and the steps that they replace; None if the step is not the last of a match."""
        (out,) = step.outputs if len(step.outputs) == 1 else (None,)
        matches = () if out is None else islice(form.find(out, Match(self.makers)), MOST_MATCHES)
        for match in matches:
            if self._is_closed(match, step):
                self.name = step.outputs[0].name
                steps, self.graph.steps = self.graph.steps, []
                try:
                    wanted = rewrite.replace(self, **match.names)
                    if wanted is not None and self._emit_replacement(wanted, step.outputs[0]):
                        return self.graph.steps, match.steps
                except (Refused, NnapiError):
                    pass
                finally:
                    self.graph.steps = steps
        return None

    def _is_closed(self, match: Match, last: Step) -> bool:
        """Return whether only the match reads what its steps write, except the last."""
        steps = dict.fromkeys(match.steps)
        reads = Counter(value for step in steps for value in step.inputs)
        return last in steps and all(
            self.counts[value] == reads[value] for step in steps if step is not last for value in step.outputs
        )

    def _emit_replacement(self, wanted: Replacement, out: Value) -> bool:
        """Append the operation; return whether its result has the type of ``out``, which it then writes."""
        fresh = Value(out.type, out.name)
        self.graph.emit(wanted.code, wanted.inputs, [fresh])
        if fresh.type != out.type or fresh.array is not None:
            return False
        self.graph.steps[-1].outputs = [out]
        return True

    # Methods for replacements

    def reads(self, value: Value) -> int:
        """Return the number of steps and model outputs that read a value."""
        return self.counts[value]
