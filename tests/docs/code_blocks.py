"""The code blocks of the documentation's pages: what runs, what is a file, and what is only shown.

A block of ``python``, ``c``, ``sh`` or ``console`` runs; with ``title="Needs LiteRT"`` it runs where that is installed,
in processes of its own. With ``title="Not tested: REASON"`` it does not, and with any other title it is a file of the
page's folder. Blocks of other languages are what people read.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import size

DOCS = size.REPOSITORY / "docs"
FENCE = re.compile(r'^(?P<indent> *)```(?P<language>[\w-]+)(?: +title="(?P<title>[^"]+)")?(?P<rest>.*)$')
RUN = frozenset({"python", "c", "sh", "console"})
SHOWN = frozenset({"text", "diff", "toml", "json", "svg"})
UNTESTED = "Not tested: "
NEEDS = {"Needs LiteRT": "ai_edge_litert"}
"""Titles of blocks that need more, and the module that is there with it."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, title, first line within the page, and text."""

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def is_untested(self) -> bool:
        return self.title.startswith(UNTESTED)

    @property
    def is_file(self) -> bool:
        return bool(self.title) and not self.is_untested and self.needs is None

    @property
    def needs(self) -> str | None:
        """The module without which it cannot run."""
        return NEEDS.get(self.title)

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.title

    @property
    def place(self) -> str:
        return f"docs/{self.page}:{self.line}"


def list_pages() -> list[str]:
    """The pages of the site, in its order, below docs/."""
    return re.findall(r"[\w./-]+\.md$", (size.REPOSITORY / "mkdocs.yml").read_text(), re.MULTILINE)


def read_blocks(page: str, folder: Path = DOCS) -> list[Block]:
    """The blocks of a page; ValueError for a fence that says something else than a language and a title."""
    return list(find_blocks(page, (folder / page).read_text()))


def find_blocks(page: str, text: str) -> Iterator[Block]:
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.lstrip().startswith("```"):
            continue
        fence = FENCE.match(line)
        if fence is None or fence["rest"] or fence["language"] not in RUN | SHOWN:
            raise ValueError(f"docs/{page}:{number}: not a language that is known, and a title at most: {line.strip()}")
        body = []
        for _, each in lines:
            if each.strip() == "```":
                break
            body.append(each)
        else:
            raise ValueError(f"docs/{page}:{number}: the block has no end")
        yield Block(page, number + 1, fence["language"], fence["title"] or "", textwrap.dedent("\n".join(body)) + "\n")
