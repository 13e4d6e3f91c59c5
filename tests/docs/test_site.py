"""The site: built strictly, its links lead somewhere, and nothing of it is fetched from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.code_blocks import DOCS, list_pages
from tools import size
from tools.site_hooks import on_page_content

REFERENCES = {"link": "href", "script": "src", "img": "src", "source": "src", "iframe": "src", "a": "href"}
"""Elements that refer to something, and by which attribute."""


class Page(HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.references: list[tuple[str, str]] = []
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places |= {str(values[name]) for name in ("id", "name") if values.get(name)}
        target = values.get(REFERENCES.get(tag, ""))
        if target and values.get("rel") != "canonical":
            self.references.append((tag, target))


def find_violations(site: Path) -> list[str]:
    """Links to pages or places that are not there, and whatever a browser would fetch from elsewhere."""
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    violations = []
    for path, page in pages.items():
        for tag, target in page.references:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if tag != "a":
                    violations.append(f"{path.name}: <{tag}> fetches {target}")
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not aim.exists():
                violations.append(f"{path.name}: {target} is not there")
            elif parts.fragment and aim in pages and unquote(parts.fragment) not in pages[aim].places:
                violations.append(f"{path.name}: {target} has no such place")
    return violations


def test_violations_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><script src="https://example.com/a.js"></script>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">fine</a><a href="b.html#there">no</a><a href="c.html">no</a><a href="https://x.org">fine</a>'
    )
    assert sorted(find_violations(tmp_path)) == [
        "a.html: b.html#there has no such place",
        "a.html: c.html is not there",
        "b.html: <script> fetches https://example.com/a.js",
    ]


def test_pages_are_there() -> None:
    assert [page for page in list_pages() if not (DOCS / page).exists()] == []


def test_roles_of_docstrings_are_left_out() -> None:
    page = SimpleNamespace(toc=[SimpleNamespace(children=["a section"])], meta={})
    html = "<p>see :meth:<code>finish</code> and the ratio 3:4</p>"
    assert on_page_content(html, page) == "<p>see <code>finish</code> and the ratio 3:4</p>"
    assert page.meta == {}


def test_names_in_tables_may_break() -> None:
    page = SimpleNamespace(toc=[], meta={})
    html = '<td><a href="a.html#A_B"><code>A_B</code></a></td><p>A_B</p>'
    assert on_page_content(html, page) == '<td><a href="a.html#A_B"><code>A_<wbr>B</code></a></td><p>A_B</p>'


def test_a_page_without_sections_has_no_list_of_them() -> None:
    page = SimpleNamespace(toc=[SimpleNamespace(children=[])], meta={})
    on_page_content("<p>text</p>", page)
    assert page.meta == {"hide": ["toc"]}


@pytest.mark.slow
def test_the_site_is_whole(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    pytest.importorskip("material", reason="needs the extra docs")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=size.REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert find_violations(tmp_path.resolve()) == []
    scripts = "".join(path.read_text() for path in tmp_path.rglob("*.html"))
    assert 'class="mermaid"' not in scripts  # which would be fetched when the page is read
