"""The text of the project uses the field's terms: phrases to avoid, and the words to use instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.source_text import ROOT, read_source
from tools import size

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


def list_texts() -> Iterator[tuple[str, int, str]]:
    """Yield file, line and text of every string of the source, and of every line of the pages."""
    yield from read_source().strings
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    for path in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield path.relative_to(ROOT).as_posix(), number, line


def find(phrase: str, text: str) -> list[str]:
    """Return the matches of a phrase that are not plain English."""
    matches = re.finditer(phrase, text, re.IGNORECASE)
    return [match[0] for match in matches if not FINE.search(text[max(0, match.start() - 6) : match.end() + 6])]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_avoided(phrase: str) -> None:
    found = [(name, line, words) for name, line, text in list_texts() for words in find(phrase, text)]
    report = "\n".join(f"{name}:{line}: {words!r}" for name, line, words in found)
    assert not found, f"say {PHRASES[phrase]!r}:\n{report}"


def test_docstrings_begin_with_the_thing_or_a_verb() -> None:
    vague = re.compile(r'"""(What|Who|Whoever|Whatever|That which) .*')
    files = [path for path in size.sources() if path.suffix == ".py"]
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path in files for match in vague.finditer(path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text", ["a list is no tensor", "quantised values", "for who asks", "the colour", "signed codes"]
)
def test_a_phrase_is_found(text: str) -> None:
    assert any(find(phrase, text) for phrase in PHRASES)


def test_plain_english_is_not() -> None:
    assert not any(find(phrase, "there is no device; it is no longer raised") for phrase in PHRASES)
