"""The text of the project uses the field's terms: phrases to avoid, and the words to use instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools import size

ROOT = size.REPOSITORY
SOURCE = ROOT / "src" / "nnapi"

PHRASES = {
    r"\b(is|are|was|were) no [a-z]": "is not a …",
    r"\bfor who\b": "for callers that …",
    r"\b(who|whoever) (wants|asks|reads|calls|needs)\b": "callers that …",
    r"\bwritten out\b": "decomposed",
    r"\b(short|direct) way\b": "fast path",
    r"\bin the place of\b|\bstands? in for\b": "instead of; drop-in replacement",
    r"\bhand(s|ed) on\b": "passes through",
    r"\bopen dimensions?\b": "dynamic or unspecified dimension",
    r"\b(quantized|signed|unsigned|8-bit|16-bit) codes?\b|\bcodes of \d+ bits\b": "quantized values",
    r"\breal numbers?\b": "float values",
    r"\bthe house\b|\bits rooms?\b": "the layout; package",
    r"\b\w*(al|ant|im|ogn|ar)is(e|ed|es|ing|ation)\b": "-ize",
    r"\b(colour|neighbour|behaviour|honour|favour)\w*\b|\bcentr(e|es|ed)\b|\bgrey\b": "American spelling",
}
FINE = re.compile(
    r"there (is|are|was|were) no|no (longer|more)|(rais|pr[ao]mis|comparis|advis|surpris|aris|is no way|likewis)", re.I
)
"""Matches that are plain English all the same."""


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def list_texts() -> Iterator[tuple[str, int, str]]:
    """Yield name, line and text of every docstring and string of the source, and of every line of the pages."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield path.relative_to(SOURCE).as_posix(), node.lineno, " ".join(node.value.split())
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    for path in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield path.relative_to(ROOT).as_posix(), number, line


def list_docstrings() -> Iterator[tuple[str, int, str]]:
    """Yield name, line and text of every docstring of source, tests and tools, those of attributes included."""
    for path in (path for path in size.sources() if path.suffix == ".py"):
        for node in ast.walk(parse(path)):
            body = getattr(node, "body", None)
            for each in body if isinstance(body, list) else []:
                if (
                    isinstance(each, ast.Expr)
                    and isinstance(each.value, ast.Constant)
                    and isinstance(each.value.value, str)
                ):
                    yield path.relative_to(ROOT).as_posix(), each.lineno, each.value.value


@cache
def texts() -> list[tuple[str, int, str]]:
    return list(list_texts())


@cache
def docstrings() -> list[tuple[str, int, str]]:
    return list(list_docstrings())


def find(phrase: str, text: str) -> list[str]:
    """Return the matches of a phrase that are not plain English."""
    matches = re.finditer(phrase, text, re.IGNORECASE)
    return [match[0] for match in matches if not FINE.search(text[max(0, match.start() - 6) : match.end() + 6])]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_avoided(phrase: str) -> None:
    found = [(name, line, words) for name, line, text in texts() for words in find(phrase, text)]
    report = "\n".join(f"{name}:{line}: {words!r}" for name, line, words in found)
    assert not found, f"say {PHRASES[phrase]!r}:\n{report}"


def test_docstrings_begin_with_the_thing_or_a_verb() -> None:
    vague = re.compile(r"(What|Who|Whoever|Whatever|That which) ")
    found = [f"{name}:{line}: {text[:60]}" for name, line, text in docstrings() if vague.match(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text", ["a list is no tensor", "quantised values", "for who asks", "the colour", "signed codes"]
)
def test_a_phrase_is_found(text: str) -> None:
    assert any(find(phrase, text) for phrase in PHRASES)


def test_plain_english_is_not() -> None:
    assert not any(find(phrase, "there is no device; it is no longer raised") for phrase in PHRASES)
