"""The tests that run a line, from a record of pytest-cov."""

from pathlib import Path

import pytest

from tools.line_coverage import LineCoverage, find_statement

SOURCE = """def first(number: int,
          other: int = 2) -> int:
    if number:
        return (number +
                other)
    return 0


limit = 3


@first
def second(): ...
"""


@pytest.mark.parametrize(
    ("line", "span"), [(1, (1, 6)), (2, (1, 6)), (3, (3, 5)), (5, (4, 5)), (6, (6, 6)), (9, (9, 9))]
)
def test_the_innermost_statement_of_a_line(line: int, span: tuple[int, int]) -> None:
    assert find_statement(SOURCE, line) == span


def test_the_tests_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = pytest.importorskip("coverage")
    monkeypatch.setattr("tools.line_coverage.REPOSITORY", tmp_path)
    changed = tmp_path / "src" / "nnapi" / "first.py"
    changed.parent.mkdir(parents=True)
    changed.write_text(SOURCE)
    data = coverage.CoverageData(str(tmp_path / "lines"))
    for context, lines in (("", [1, 9]), ("tests/a.py::one[x|y]|run", [3, 4]), ("tests/b.py::two|setup", [3, 6])):
        data.set_context(context)
        data.add_lines({f"/elsewhere/src/{changed.relative_to(tmp_path / 'src')}": lines})
    data.write()
    found = LineCoverage(tmp_path / "lines")
    path = changed.relative_to(tmp_path)
    one, two = "tests/a.py::one[x|y]", "tests/b.py::two"
    assert found.tests_of(path, 5) == [one]
    assert found.tests_of(path, 6) == [two]
    assert found.tests_of(path, 2) == [one, two]
    assert found.tests_of(path, 9) == []
    assert found.tests_of(Path("src/nnapi/unknown.py"), 9) == []


def test_a_record_without_tests_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    with pytest.raises(SystemExit, match="missing has no contexts of tests: record it by pytest"):
        LineCoverage(tmp_path / "missing")
