"""Hooks of MkDocs: docstrings are written for Python's help, pages for the web."""

import re
from typing import Any

ROLE = re.compile(r":(?:meth|class|func|attr|data|mod):(?=<code>)")
LONG_NAME = re.compile(r"(?<=>)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?=<)")
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page without the roles that stand before names in docstrings, with names in tables that may break at `_`; an
    empty list of contents gives its room up."""
    if not any(section.children for section in page.toc):
        page.meta.setdefault("hide", ["toc"])
    return CELL.sub(_permit_breaks, ROLE.sub("", html))


def _permit_breaks(cell: re.Match[str]) -> str:
    return LONG_NAME.sub(lambda name: name[0].replace("_", "_<wbr>"), cell[0])
