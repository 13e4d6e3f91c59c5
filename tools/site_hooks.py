"""What the site's builder (MkDocs) calls: docstrings are written for Python's help, pages for the web."""

import re
from typing import Any

ROLE = re.compile(r":(?:meth|class|func|attr|data|mod):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """The page without the roles that stand before names in docstrings."""
    return ROLE.sub("", html)
