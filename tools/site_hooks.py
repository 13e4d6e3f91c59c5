"""Hooks of MkDocs that adapt docstrings and long names to web pages."""

import re
from typing import Any

ROLE = re.compile(r":(?:meth|class|func|attr|data|mod):(?=<code>)")
CELL = re.compile(r"<(t[dh])\b[^>]*>.*?</\1>", re.DOTALL)
INLINE = re.compile(r"(?<!<span></span>)<code[^>]*>[^<]*</code>")
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
HEADING = re.compile(r"<h[1-3][^>]*>.*?</h[1-3]>", re.DOTALL)
TEXT = re.compile(r"(?<=>)[^<]+")
WORD = re.compile(r"[\w./:-]+")
OPERATION = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+")
JOINT = re.compile(r"(?<=\w)(?:_|/|::)(?=\w)|(?<=[a-z])(?<!ANeural)(?=[A-Z])")
"""Positions where a path or the name of a function, a test or a class may break."""

LONG_OPERATION, LONG, VERY_LONG = 12, 16, 28
"""The least lengths of names that may break: of an operation on any screen, of others on narrow and on any screens."""

PROSE = 30
"""Cells with more characters get a column with a legible width."""

EVIDENCE, REFERENCE = "Evidence", "Reference"
BOOSTS = {EVIDENCE: 0.2, REFERENCE: 0.3}
"""The weight of a match in the search, by section: tables repeat words that guides explain."""


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Remove the roles before names in docstrings, let long names in tables and headings break, keep options in one
    line, and hide a table of contents that has less use than space."""
    sections = sum(len(title.children) for title in page.toc)
    if sections <= (1 if page.parent and page.parent.title == EVIDENCE else 0):  # evidence is wide tables
        page.meta.setdefault("hide", ["toc"])
    if page.parent and page.parent.title in BOOSTS:
        page.meta.setdefault("search", {"boost": BOOSTS[page.parent.title]})
    html = INLINE.sub(_keep_options_whole, ROLE.sub("", html))
    html = CELL.sub(_lay_out_cell, html)
    return HEADING.sub(lambda heading: TEXT.sub(_permit_breaks, heading[0]), html)


def _keep_options_whole(code: re.Match[str]) -> str:
    """Browsers would break `--option` after the second hyphen."""
    return TEXT.sub(lambda text: OPTION.sub(r'<span class="whole">\g<0></span>', text[0]), code[0])


def _lay_out_cell(cell: re.Match[str]) -> str:
    html = TEXT.sub(_permit_breaks, cell[0])
    length = sum(map(len, TEXT.findall(cell[0])))
    return html.replace("<td", '<td class="prose"', 1) if length > PROSE else html


def _permit_breaks(text: re.Match[str]) -> str:
    return WORD.sub(_permit_breaks_in_word, text[0])


def _permit_breaks_in_word(word: re.Match[str]) -> str:
    """Let names of operations break on any screen, because some tables have a dozen columns, and other names only on
    narrow screens, unless they are very long."""
    name = word[0]
    if OPERATION.fullmatch(name):
        return name.replace("_", "_<wbr>") if len(name) >= LONG_OPERATION else name
    if len(name) < LONG:
        return name
    return JOINT.sub(r"\g<0><wbr>" if len(name) >= VERY_LONG else r'\g<0><wbr class="narrow">', name)
