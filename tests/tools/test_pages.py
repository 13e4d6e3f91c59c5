"""The list of generated files, and the program that writes them."""

import re
from pathlib import Path

import pytest

from tools import pages, size
from tools.pages import PAGES, Page, main, replace_section


def test_every_file_that_names_its_program_is_listed() -> None:
    listed = {page.path: page.command for page in PAGES}
    files = [size.REPOSITORY / "CONTRIBUTING.md", *(size.REPOSITORY / "docs").rglob("*.md")]
    found = {
        path.relative_to(size.REPOSITORY).as_posix(): match[1]
        for path in files
        if (match := re.search(r"<!-- Written by `python (-m [\w.]+|[\w/]+\.py)", path.read_text()))
    }
    assert len(found) >= 6
    assert [path for path, command in found.items() if not listed.get(path, "").startswith(command)] == []


def test_listed_files_exist() -> None:
    assert [page.path for page in PAGES if not (size.REPOSITORY / page.path).exists()] == []


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file of three sections; its programs print the new section, fail, or need a model."""
    monkeypatch.setattr(pages, "REPOSITORY", tmp_path)
    table = (
        Page("part.md", "print_section.py", "## Part"),
        Page("whole.md", "fail.py"),
        Page("models.md", "print_folder.py SHARED", needs="models"),
        Page("own.md", "write.py", needs="time", is_printed=False),
    )
    monkeypatch.setattr(pages, "PAGES", table)
    monkeypatch.setenv("NNAPI_SHARED", "/models")
    (tmp_path / "part.md").write_text("# All\n\n## First\n\n1\n\n## Part\n\nold\n\n## Last\n\n3\n")
    (tmp_path / "whole.md").write_text("old\n")
    (tmp_path / "print_section.py").write_text("print('## Part\\n\\nnew\\n')")
    (tmp_path / "fail.py").write_text("print('half'); raise SystemExit(3)")
    (tmp_path / "print_folder.py").write_text("import sys; print(sys.argv[1])")
    (tmp_path / "write.py").write_text("open('own.md', 'w').write('own')")
    return tmp_path


def test_writes_the_files_that_need_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 1
    assert (root / "part.md").read_text().count("old") == 1
    assert main([]) == 1, "a program fails"
    assert (root / "part.md").read_text() == "# All\n\n## First\n\n1\n\n## Part\n\nnew\n\n## Last\n\n3\n"
    assert (root / "whole.md").read_text() == "old\n"
    assert main(["part.md", "--check"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "part.md: up to date"
    assert not (root / "models.md").exists()


def test_files_that_need_more_are_named_with_their_programs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "fail.py").write_text("print('new')")
    assert main([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "part.md: written",
        "whole.md: written",
        "not written, because they need more than the repository:",
        "  models.md (models): python print_folder.py SHARED",
        "  own.md (time): python write.py",
    ]
    assert main(["models.md", "own.md"]) == 0
    assert (root / "models.md").read_text() == "/models\n"
    assert (root / "own.md").read_text() == "own"


def test_unknown_files_are_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["README.md"])
    assert "README.md: not generated; generated: part.md, whole.md, models.md, own.md" in capsys.readouterr().err


def test_the_last_section_is_replaced_too() -> None:
    assert replace_section("# A\n\n## B\n\nold\n", "## B", "## B\n\nnew\n") == "# A\n\n## B\n\nnew\n"
