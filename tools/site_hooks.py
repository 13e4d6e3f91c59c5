"""What the site's builder (MkDocs) calls: docstrings are written for Python's help, pages for the web."""

import re
from typing import Any

ROLE = re.compile(r":(?:meth|class|func|attr|data|mod):(?=<code>)")


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page without the roles that stand before names in docstrings; an empty list of contents gives its room up."""
    if not any(section.children for section in page.toc):
        page.meta.setdefault("hide", ["toc"])
    return ROLE.sub("", html)
