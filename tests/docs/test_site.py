"""The site: built strictly, its links lead somewhere, and nothing of it is fetched from elsewhere."""

from __future__ import annotations

import re
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


def test_pages_install_nnapi_from_no_index() -> None:
    """No index has the package. Once it is installed, pip finds nnapi[EXTRA] in the environment."""
    pages = ["README.md", "conformance/README.md", *(f"docs/{page}" for page in list_pages())]
    texts = {page: (size.REPOSITORY / page).read_text() for page in pages}
    by_name = re.compile(r"pip install [^\n`#]*(?<![./'\w-])nnapi(?![\w[]|-\*)")
    assert by_name.search("pip install --quiet nnapi")
    assert not by_name.search("pip install . 'nnapi[onnx]' nnapi-*.whl dist/nnapi-*.whl")
    assert [(page, found[0]) for page, text in texts.items() for found in by_name.finditer(text)] == []
    assert '--8<-- "README.md:install"' in texts["docs/installation.md"]


def test_pages_refer_to_nothing_that_the_site_excludes() -> None:
    """MkDocs mentions such a link and builds the site without its target, even if it is strict."""
    lines = (size.REPOSITORY / "mkdocs.yml").read_text().partition("exclude_docs: |\n")[2].partition("\n\n")[0]
    excluded = lines.split()
    assert excluded
    pages = {page: (DOCS / page).read_text() for page in list_pages()}
    assert [(page, name) for page, text in pages.items() for name in excluded if f"{name})" in text] == []


def make_page(*sections: object, parent: str = "Tutorials") -> SimpleNamespace:
    """A page of MkDocs as the hook uses it."""
    children = [SimpleNamespace(children=list(sections))]
    return SimpleNamespace(toc=children, meta={}, parent=SimpleNamespace(title=parent))


def test_roles_of_docstrings_are_left_out() -> None:
    page = make_page("a section")
    html = "<p>see :meth:<code>finish</code> and the ratio 3:4</p>"
    assert on_page_content(html, page) == "<p>see <code>finish</code> and the ratio 3:4</p>"
    assert page.meta == {}


def test_long_operations_in_tables_may_break() -> None:
    html = '<td><a href="a.html#LOGICAL_NOT_IT"><code>LOGICAL_NOT_IT</code></a></td><td>IN_A_B, short_name</td>'
    expected = html.replace(">LOGICAL_NOT_IT", ">LOGICAL_<wbr>NOT_<wbr>IT")
    assert on_page_content(f"{html}<p>LOGICAL_NOT_IT</p>", make_page()) == f"{expected}<p>LOGICAL_NOT_IT</p>"


@pytest.mark.parametrize(
    ("name", "parts", "joint"),
    [
        ("ANeuralNetworksExecution_startCompute", "ANeuralNetworks Execution_ start Compute", "<wbr>"),
        ("test_service.py::test_each_application", "test_ service.py:: test_ each_ application", "<wbr>"),
        ("/proc/sys/kernel/random/boot_id", "/proc/ sys/ kernel/ random/ boot_ id", "<wbr>"),
        ("OutputInsufficientSizeError", "Output Insufficient Size Error", '<wbr class="narrow">'),
    ],
)
def test_long_names_may_break(name: str, parts: str, joint: str) -> None:
    joined = parts.replace(" ", joint)
    html = on_page_content(f'<h2 id="{name}"><code>{name}</code></h2>', make_page())
    assert html == f'<h2 id="{name}"><code>{joined}</code></h2>'


def test_names_in_heads_of_tables_may_break() -> None:
    html = "<table><thead><tr><th>QUANT8_ASYMM_SIGNED</th></tr></thead></table>"
    assert on_page_content(html, make_page()) == html.replace("_", "_<wbr>")


def test_options_in_a_sentence_stay_in_one_line() -> None:
    blocks = "<pre><span></span><code>nnapi run --std 1\n</code></pre><p>--std, <code>nnapi-reference</code></p>"
    html = on_page_content(f"<p><code>bench -o F --int16-as-float</code></p>{blocks}", make_page())
    options = '<span class="whole">-o</span> F <span class="whole">--int16-as-float</span>'
    assert html == f"<p><code>bench {options}</code></p>{blocks}"


def test_cells_of_prose_are_marked() -> None:
    prose = "a sentence that is longer than thirty characters"
    html = on_page_content(f'<td>short</td><td style="text-align: right">{prose}</td>', make_page())
    assert html == f'<td>short</td><td class="prose" style="text-align: right">{prose}</td>'


def test_guides_come_before_tables_in_the_search() -> None:
    boosts = []
    for parent in ("How-to guides", "Reference", "Evidence"):
        page = make_page("a section", parent=parent)
        on_page_content("<p>text</p>", page)
        boosts.append(page.meta.get("search", {"boost": 1})["boost"])
    assert boosts == sorted(boosts, reverse=True)
    assert len(set(boosts)) == 3


def test_a_page_without_sections_has_no_list_of_them() -> None:
    page = make_page()
    on_page_content("<p>text</p>", page)
    assert page.meta == {"hide": ["toc"]}


def test_a_single_section_leaves_its_place_to_tables_of_evidence() -> None:
    hidden = []
    for parent, sections in (("Evidence", "a"), ("Evidence", "ab"), ("Tutorials", "a")):
        page = make_page(*sections, parent=parent)
        on_page_content("<p>text</p>", page)
        hidden.append("hide" in page.meta)
    assert hidden == [True, False, False]


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
