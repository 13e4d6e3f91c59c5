"""Rows of one test: all are run, and all that fail are named."""

import inspect

import pytest

from tests.rows import each_row, join


def test_all_rows_that_fail_are_named() -> None:
    ran = []

    def test(a: int, b: str, fixture: int) -> None:
        ran.append((a, b, fixture))
        if a == 2:
            pytest.fail("never two")
        assert a != 3, "never three"

    joined = join(test, "a, b", [(1, "x"), (2, "y"), (3, "z"), (4, "w")])
    assert list(inspect.signature(joined).parameters) == ["fixture"]
    with pytest.raises(pytest.fail.Exception) as caught:
        joined(fixture=7)
    assert ran == [(1, "x", 7), (2, "y", 7), (3, "z", 7), (4, "w", 7)]
    told = str(caught.value)
    assert told.startswith("2 of 4 rows failed\n")
    for expected in ("row 1: {'a': 2, 'b': 'y'}\n", "never two", "row 2: {'a': 3, 'b': 'z'}\n", "never three"):
        assert expected in told


def test_rows_of_rows_and_names_of_rows() -> None:
    def test(a: int, b: int) -> None:
        assert a * b != 6

    joined = join(join(test, "a", [1, 2]), ["b"], [(2,), (3,)], ids=["two", "three"])
    with pytest.raises(pytest.fail.Exception) as caught:
        joined()
    assert "row 1: three" in str(caught.value)
    assert "row 1: {'a': 2}" in str(caught.value)


def test_rows_after_one_that_is_skipped_are_run() -> None:
    ran = []

    def test(a: int) -> None:
        ran.append(a)
        if a == 1:
            pytest.skip("no engine")

    with pytest.raises(pytest.skip.Exception, match="no engine"):
        join(test, "a", [1, 2])()
    assert ran == [1, 2]


def test_each_row_is_a_test_unless_xdist_runs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def test(a: int) -> None:
        assert a == 1

    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert [mark.args for mark in each_row("a", [1])(test).pytestmark] == [("a", [1])]  # type: ignore[attr-defined]
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    each_row("a", iter([1, pytest.param(1, id="one")]))(test)()
    assert each_row("a", [pytest.param(1, marks=pytest.mark.slow)])(test) is test
    with pytest.raises(pytest.fail.Exception, match="1 of 2"):
        each_row("a", [1, 2])(test)()
