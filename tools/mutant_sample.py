"""Draw a sample of the changes of one token (mutants) that Cosmic Ray can make in the source."""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = Path("src") / "nnapi"

Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column of the first character, and of the one after the last."""


@dataclass(frozen=True)
class Mutant:
    """One change: the ``occurrence``-th location where the operator applies in the file."""

    path: Path
    line: int
    operator: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.path.as_posix()}:{self.line} {self.operator.removeprefix('core/')}"


def sample(folders: Sequence[str], number: int, seed: int) -> list[Mutant]:
    """Return random mutants of different spans; files are drawn in proportion to their length.

    The same tree and seed give the same mutants.
    """
    root = REPOSITORY / SOURCE
    files = sorted(path.relative_to(REPOSITORY) for folder in folders for path in (root / folder).rglob("*.py"))
    lengths = [len((REPOSITORY / path).read_text().splitlines()) for path in files]
    if sum(lengths) < 10 * number:
        sys.exit(f"{', '.join(folders)}: too little source for {number} mutants")
    draw, drawn = random.Random(seed), dict[tuple[Path, Span], Mutant]()
    while len(drawn) < number:
        (path,) = draw.choices(files, lengths)
        if found := mutants_by_span(path):
            span = draw.choice(sorted(found))
            drawn.setdefault((path, span), draw.choice(found[span]))
    return list(drawn.values())


@cache
def mutants_by_span(path: Path) -> dict[Span, list[Mutant]]:
    """Return the mutants of a file by the span that they change, so that spans are drawn equally often, whatever their
    number of mutants."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    without_effect = WithoutEffect((REPOSITORY / path).read_text())
    nodes = list(ast_nodes(get_ast_from_path(REPOSITORY / path)))
    found: dict[Span, list[Mutant]] = {}
    for name in sorted(operator_names()):
        if (kind := get_operator(name)).arguments():
            continue  # such an operator needs the name of a variable
        operator = kind()
        spans = (span for node in nodes for span in operator.mutation_positions(node))
        for occurrence, (begin, end) in enumerate(spans):
            if begin not in without_effect:
                found.setdefault((begin, end), []).append(Mutant(path, begin[0], name, occurrence))
    return found


class WithoutEffect:
    """The positions of a source where no test can notice a change.

    These are type hints, the -1 of ``reshape`` (NumPy accepts any negative number) and ``strict=True`` (the sequences
    have the same length).
    """

    def __init__(self, source: str) -> None:
        found = [
            each for node in ast.walk(ast.parse(source)) for each in self._find(node) if isinstance(each, ast.expr)
        ]
        self.spans = [((e.lineno, e.col_offset), (e.end_lineno or e.lineno, e.end_col_offset or 0)) for e in found]

    @staticmethod
    def _find(node: ast.AST) -> list[ast.expr | None]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
            return [size for size in node.args if ast.unparse(size) == "-1"]
        if isinstance(node, ast.keyword) and node.arg == "strict" and ast.unparse(node.value) == "True":
            return [node.value]
        return [getattr(node, "annotation", None), getattr(node, "returns", None)]

    def __contains__(self, position: tuple[int, int]) -> bool:
        return any(begin <= position < end for begin, end in self.spans)
