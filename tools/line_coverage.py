"""Find the tests that run a line, in a record of pytest-cov: `pytest --cov=src/nnapi --cov-context=test tests`."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tools.mutant_sample import REPOSITORY

RECORD = "pytest --cov=src/nnapi --cov-context=test tests"


class LineCoverage:
    """The tests by the lines of the source that they run; child processes of tests are not recorded."""

    def __init__(self, database: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(database))
        self._data.read()
        if not any("::" in context for context in self._data.measured_contexts()):
            sys.exit(f"{database} has no contexts of tests: record it by {RECORD}")
        self._measured = {name.rpartition("/src/")[2]: name for name in self._data.measured_files()}

    def tests_of(self, path: Path, line: int) -> list[str]:
        """Return the tests that run the statement of a line.

        For the first line of a function, these are the tests that run its body. Lines that run at import have none.
        """
        if (measured := self._measured.get(str(path.relative_to("src")))) is None:
            return []
        ran = self._data.contexts_by_lineno(measured)
        begin, end = find_statement((REPOSITORY / path).read_text(), line)
        contexts = {context for each in range(begin, end + 1) for context in ran.get(each, ())}
        return sorted({context.rpartition("|")[0] for context in contexts if "::" in context})


def find_statement(source: str, line: int) -> tuple[int, int]:
    """Return the first and the last line of the innermost statement at a line; decorators belong to their function."""
    spans = [
        (min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]), node.end_lineno or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt | ast.excepthandler)
    ]
    return min((span for span in spans if span[0] <= line <= span[1]), key=lambda span: span[1] - span[0])
