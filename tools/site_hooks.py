"""Hooks of MkDocs: docstrings are written for Python's help, pages for the web."""

import re
from typing import Any

ROLE = re.compile(r":(?:meth|class|func|attr|data|mod):(?=<code>)")
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
HEADING = re.compile(r"<h[1-3][^>]*>.*?</h[1-3]>", re.DOTALL)
TEXT = re.compile(r"(?<=>)[^<]+")
WORD = re.compile(r"[\w./:-]+")
OPERATION = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+")
JOINT = re.compile(r"(?<=\w)(?:_|/|::)(?=\w)|(?<=[a-z])(?<!ANeural)(?=[A-Z])")
"""Where a path or the name of a function, a test or a class may break."""

LONG_OPERATION, LONG, VERY_LONG = 12, 16, 28
"""Characters of a name that may break: of an operation on any screen, of others on narrow ones, and on any."""

PROSE = 30
"""Characters of a cell whose column keeps a legible width."""

EVIDENCE, REFERENCE = "Evidence", "Reference"
BOOSTS = {EVIDENCE: 0.2, REFERENCE: 0.3}
"""How much a match counts in the search, by section: tables repeat the words that guides explain."""


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page without the roles that stand before names in docstrings, with names in tables and headings that may
    break; an empty list of contents gives its room up."""
    if not any(section.children for section in page.toc):
        page.meta.setdefault("hide", ["toc"])
    if page.parent and page.parent.title in BOOSTS:
        page.meta.setdefault("search", {"boost": BOOSTS[page.parent.title]})
    html = CELL.sub(_lay_out_cell, ROLE.sub("", html))
    return HEADING.sub(lambda heading: TEXT.sub(_permit_breaks, heading[0]), html)


def _lay_out_cell(cell: re.Match[str]) -> str:
    html = TEXT.sub(_permit_breaks, cell[0])
    length = sum(map(len, TEXT.findall(cell[0])))
    return html.replace("<td", '<td class="prose"', 1) if length > PROSE else html


def _permit_breaks(text: re.Match[str]) -> str:
    return WORD.sub(_permit_breaks_in_word, text[0])


def _permit_breaks_in_word(word: re.Match[str]) -> str:
    """Operations may break on any screen, because some tables have a dozen columns; other names only on narrow ones,
    unless they are so long that they squeeze the sentences beside them."""
    name = word[0]
    if OPERATION.fullmatch(name):
        return name.replace("_", "_<wbr>") if len(name) >= LONG_OPERATION else name
    if len(name) < LONG:
        return name
    return JOINT.sub(r"\g<0><wbr>" if len(name) >= VERY_LONG else r'\g<0><wbr class="narrow">', name)
